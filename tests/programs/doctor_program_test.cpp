#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "redirection.hpp"
#include "support/other_readers.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Requests `linkgain doctor` on one of the NVML double's machines.
ProgramRequest doctor(const ScratchFolder& folder, const std::string& scenario,
                      const Words& arguments = {}) {
  ProgramRequest request = linkgain(folder, joined({"doctor"}, arguments));
  request.environment = {{"HOME", folder.path().string()}, {"CUDA_VISIBLE_DEVICES", std::nullopt}};
  return on_machine(scenario, request);
}

Json findings_of(const Outcome& outcome) { return Json::parse(outcome.output)["findings"]; }

/// Returns the verdict of a check; empty where there is no such finding.
std::string verdict_of(const Outcome& outcome, const std::string& id, const std::string& subject) {
  for (const Json& finding : findings_of(outcome)) {
    if (finding["id"] == id && finding["subject"] == subject) return finding["verdict"];
  }
  return {};
}

TEST(DoctorProgram, SpeaksToPeople) {
  const ScratchFolder folder;
  const Outcome outcome = run_program(doctor(folder, "h200x2", {"--verbose"}));
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("\nWhat is ok\n"), HasSubstr("\nSummary\n"),
                    HasSubstr("700 W of 700 W default"), HasSubstr("18 of 18 links active"),
                    HasSubstr("(NV18)"), Not(HasSubstr("\033["))));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("warning"), HasSubstr(" ok, ")));
  EXPECT_EQ(outcome.error, "");
  EXPECT_LT(outcome.seconds, 3.0 * slowdown());
}

/// Covers machines of the double, for what a sample may not have.
TEST(DoctorProgram, WritesFilesForOtherPrograms) {
  const ScratchFolder folder;
  for (const std::string scenario : {"h200x2", "rtx3090-nv4", "p2p-refused", "no-driver"}) {
    const Outcome outcome = run_program(
        doctor(folder, scenario, {"--json", "--junit", "d.xml", "--prometheus", "d.prom"}));
    const Json json = Json::parse(outcome.output);
    const std::string metrics = read_text(folder / "d.prom");
    EXPECT_THAT(metrics,
                HasSubstr("linkgain_doctor_exit_status " + std::to_string(outcome.status) + "\n"));
    EXPECT_THAT(metrics, HasSubstr("findings{verdict=\"problem\"} " +
                                   std::to_string(json["counts"]["problem"].get<int>()) + "\n"));
    EXPECT_THAT(series_twice(metrics), testing::IsEmpty()) << scenario;
    if (has_promtool()) {
      EXPECT_EQ(promtool_complaints(metrics), "");
    }
    EXPECT_THAT(read_text(folder / "d.xml"), HasSubstr("name=\"linkgain doctor\" tests=\"" +
                                                       std::to_string(json["findings"].size())));
  }
  EXPECT_EQ(run_program(doctor(folder, "h200x2", {"--junit", "no/such/d.xml"})).status, 2);
}

/// Suits node_exporter, another user who reads .prom only and takes no series twice.
TEST(DoctorProgram, WritesATextfileThatNodeExporterTakes) {
  const ScratchFolder folder;
  const auto written = [&](const std::string& file) {
    ProgramRequest request = doctor(folder, "h200x2", {"--only", "gpu-driver", "--prometheus"});
    request.arguments.push_back(file);
    return in_shell(folder, "umask 077; exec \"$@\"", request);
  };
  const auto mode_of = [&](const std::string& file) {
    return std::filesystem::status(folder / file).permissions();
  };
  EXPECT_EQ(written("a.prom").status, 0);
  EXPECT_EQ(mode_of("a.prom"), std::filesystem::perms{0644});
  EXPECT_EQ(written("a.prom").status, 0) << "over itself";
  const Outcome other = with_status(2, written("b.prom"));
  EXPECT_THAT(other.error,
              AllOf(HasSubstr("--prometheus b.prom"), HasSubstr("a.prom has the same")));
  std::filesystem::create_directory(folder / "other");
  EXPECT_EQ(written("other/b.prom").status, 0);
  for (const char* name : {"a", "a.txt", "a.prom.old"}) {
    const Outcome unread = written(name);
    EXPECT_EQ(unread.status, 2) << name;
    EXPECT_THAT(unread.error, HasSubstr("end in .prom"));
    EXPECT_FALSE(std::filesystem::exists(folder / name));
  }
}

TEST(DoctorProgram, ShowsWhatIsOkOnlyWhenAsked) {
  const ScratchFolder folder;
  const auto shown = [&](const Words& arguments) {
    const Outcome outcome = run_program(doctor(folder, "rtx3090-nv4", arguments));
    const std::size_t begin = outcome.output.find("\nWhat is ok\n");
    return begin == std::string::npos ? Words{} : lines_of(outcome.output.substr(begin));
  };
  EXPECT_THAT(shown({}), testing::IsEmpty());
  EXPECT_THAT(shown({"--verbose"}), testing::SizeIs(testing::Gt(10U)));
}

TEST(DoctorProgram, SaysWhyNothingWasLoaded) {
  const ScratchFolder folder;
  const Outcome outcome = run_program(doctor(folder, "no-driver", {"--load"}));
  EXPECT_THAT(outcome.output, HasSubstr("nothing was loaded"));
  EXPECT_THAT(run_program(doctor(folder, "no-driver")).output,
              Not(HasSubstr("nothing was loaded")));
}

TEST(DoctorProgram, LooksAtTheChecksAskedForAlone) {
  const ScratchFolder folder;
  const Outcome some =
      with_status(1, run_program(doctor(folder, "p2p-refused", {"--only", "p2p", "--json"})));
  EXPECT_THAT(findings_of(some), testing::SizeIs(1));
  EXPECT_EQ(verdict_of(some, "p2p", "GPU0-GPU1"), "problem");
  const Outcome others =
      run_program(doctor(folder, "p2p-refused", {"--only", "nvlink-links", "--json"}));
  EXPECT_EQ(others.status, 0) << "the problem was not asked for";
  EXPECT_THAT(findings_of(others), testing::SizeIs(2));
  EXPECT_EQ(run_program(doctor(folder, "p2p-refused", {"--only", "p2"})).status, 2);
}

/// Leaves out what is about a run from here, over which a health check of a node must not stumble.
TEST(DoctorProgram, JudgesTheNodeAlone) {
  const ScratchFolder folder;
  ProgramRequest request = doctor(folder, "h200x2", {"--json"});
  request.environment["CUDA_VISIBLE_DEVICES"] = "";
  request.environment["NCCL_P2P_DISABLE"] = "1";
  request.environment["PATH"] = "/nowhere";
  const Outcome all = with_status(1, run_program(request));
  EXPECT_EQ(verdict_of(all, "cuda-visible", "host"), "problem");
  EXPECT_NE(verdict_of(all, "mpirun", "host"), "") << "a problem only of a worker without NCCL";
  EXPECT_EQ(verdict_of(all, "nccl-variable", "NCCL_P2P_DISABLE"), "problem");
  request.arguments.push_back("--node");
  const Outcome node = with_status(0, run_program(request));
  for (const char* id : {"cuda-visible", "mpirun", "cores"}) {
    EXPECT_EQ(verdict_of(node, id, "host"), "") << id;
  }
  EXPECT_EQ(verdict_of(node, "p2p", "GPU0-GPU1"), "ok");
}

TEST(DoctorProgram, ExplainsACheckWithoutLookingAtTheMachine) {
  const ScratchFolder folder;
  const Outcome outcome =
      with_status(0, run_program(doctor(folder, "p2p-refused", {"--explain", "p2p"})));
  EXPECT_THAT(lines_of(outcome.output).front(), testing::StartsWith("p2p (connectivity): "));
}

TEST(DoctorProgram, RepeatsProblemsLast) {
  const ScratchFolder folder;
  const Outcome outcome = with_status(1, run_program(doctor(folder, "p2p-refused")));
  EXPECT_THAT(lines_of(outcome.output).back(), AllOf(testing::StartsWith("  - problem: "),
                                                     HasSubstr("p2p"), HasSubstr("GPU0-GPU1")));
}

TEST(DoctorProgram, AsksTheWorkerForItsVersions) {
  const ScratchFolder folder;
  ProgramRequest request = doctor(folder, "h200x2", {"--json"});
  request.environment["TMPDIR"] = "";  // as unset
  const Outcome outcome = run_program(request);
  EXPECT_THAT(verdict_of(outcome, "worker", "host"), testing::AnyOf("ok", "warning"));
  EXPECT_EQ(verdict_of(outcome, "mpirun", "host"), "ok");
  EXPECT_EQ(Json::parse(outcome.output)["schema"], "linkgain.diagnosis/1");
  EXPECT_EQ(Json::parse(outcome.output)["exit_code"], outcome.status);
}

/// A machine and the finding that its fault must show up as.
struct Fault {
  std::string scenario;
  std::string id;
  std::string subject;
  std::string verdict;
};

TEST(DoctorProgram, FindsTheFaultOfEachMachine) {
  const ScratchFolder folder;
  for (const Fault& fault :
       std::vector<Fault>{{"one-link-down", "nvlink-links", "GPU0", "problem"},
                          {"one-link-slow", "nvlink-rate", "GPU1", "warning"},
                          {"p2p-refused", "p2p", "GPU0-GPU1", "problem"},
                          {"throttling", "power-limit", "GPU0", "ok"},
                          {"throttling", "power-cap", "GPU1", "ok"},
                          {"draws-too-much", "power-cap", "GPU0", "ok"},
                          {"draws-too-much", "power-cap", "GPU1", "warning"},
                          {"lost-gpu", "gpu-responds", "GPU1", "problem"},
                          {"prohibited", "compute-mode", "GPU0", "problem"},
                          {"persistence-off", "persistence", "GPU1", "warning"},
                          {"exclusive", "compute-mode", "GPU1", "warning"},
                          {"titan-rtx-nv2", "nvlink-links", "GPU1", "ok"},
                          {"rtx3090-nv4", "nvlink-links", "GPU1", "ok"},
                          {"h100-nvl", "nvlink-links", "GPU1", "ok"},
                          {"no-nvlink", "nvlink-links", "GPU0", "ok"},
                          {"pcie-trained-down", "pcie-link", "GPU0", "ok"},
                          {"pcie-trained-down", "pcie-link", "GPU1", "warning"}}) {
    const Outcome outcome = run_program(doctor(folder, fault.scenario, {"--json"}));
    EXPECT_EQ(verdict_of(outcome, fault.id, fault.subject), fault.verdict) << fault.scenario;
    if (fault.verdict != "problem") continue;
    EXPECT_EQ(outcome.status, 1) << fault.scenario;
  }
}

TEST(DoctorProgram, NamesNeighbours) {
  const ScratchFolder folder;
  std::ofstream(folder / "use") << "1 97 4711:10240:/usr/bin/python3\n";
  ProgramRequest request = doctor(folder, "h200x2", {"--json"});
  request.environment["LINKGAIN_NVML_USE"] = (folder / "use").string();
  const Outcome outcome = run_program(request);
  EXPECT_EQ(verdict_of(outcome, "neighbours", "GPU0"), "ok");
  EXPECT_EQ(verdict_of(outcome, "neighbours", "GPU1"), "warning");
  EXPECT_THAT(outcome.output, HasSubstr("97 % busy (pid 4711 python3)"));
}

TEST(DoctorProgram, SeesThrottling) {
  const ScratchFolder folder;
  const Outcome outcome = with_status(1, run_program(doctor(folder, "throttling")));
  EXPECT_THAT(outcome.output, HasSubstr("problem"));
}

TEST(DoctorProgram, AnOldDriverThatDoesNotCountLinksIsNotTakenForPcie) {
  const ScratchFolder folder;
  ProgramRequest request = doctor(folder, "h200x2", {"--verbose"});
  request.environment["LINKGAIN_NVML_LIBRARY"] = NVML_DOUBLE_OLD;
  const Outcome outcome = run_program(request);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("(NV?)"), Not(HasSubstr("over PCIe"))));
}

TEST(DoctorProgram, OfADriverThatTellsNothingFindsNothingOk) {
  const ScratchFolder folder;
  ProgramRequest request = doctor(folder, "", {"--json"});
  request.environment["LINKGAIN_NVML_LIBRARY"] = NVML_DOUBLE_MINIMAL;
  const Outcome outcome = run_program(request);
  EXPECT_EQ(verdict_of(outcome, "gpu-responds", "GPU0"), "not checkable");
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("has no nvmlDeviceGetTemperature"), Not(HasSubstr("not answer"))));
}

TEST(DoctorProgram, WorksWithoutAnyGpu) {
  const ScratchFolder folder;
  ProgramRequest request = doctor(folder, "h200x2", {"--json"});
  request.environment["LINKGAIN_NVML_LIBRARY"] = "/nonexistent/libnvidia-ml.so.1";
  const Outcome outcome = run_program(request);
  EXPECT_NE(outcome.status, 0) << "no GPU was checked";
  EXPECT_NE(verdict_of(outcome, "gpu-driver", "host"), "ok");
  EXPECT_EQ(verdict_of(outcome, "power-limit", "GPU0"), "");
  EXPECT_NE(verdict_of(outcome, "cores", "host"), "");
}

TEST(DoctorProgram, FindsVariablesOfTheEnvironmentAndOfFiles) {
  const ScratchFolder folder;
  ProgramRequest request = doctor(folder, "h200x2", {"--json"});
  request.environment["NCCL_P2P_DISABLE"] = "1";
  request.environment["NCCL_ALGO"] = "Ring";
  const Outcome outcome = with_status(1, run_program(request));
  EXPECT_EQ(verdict_of(outcome, "nccl-variable", "NCCL_P2P_DISABLE"), "problem");
  EXPECT_EQ(verdict_of(outcome, "nccl-variable", "NCCL_ALGO"), "warning");
}

TEST(DoctorProgram, SeesHiddenGpus) {
  const ScratchFolder folder;
  ProgramRequest request = doctor(folder, "h200x8", {"--json"});
  request.environment["CUDA_VISIBLE_DEVICES"] = "0,1";
  EXPECT_EQ(verdict_of(run_program(request), "cuda-visible", "host"), "warning");
}

TEST(DoctorProgram, SaysWhyThereWasNoLoad) {
  const ScratchFolder folder;
  // There is no GPU that the worker could put to work, whatever the double says.
  ProgramRequest request = doctor(folder, "rtx3090-nv4", {"--load", "--json"});
  request.environment["CUDA_VISIBLE_DEVICES"] = "";
  const Outcome outcome = run_program(request);
  EXPECT_EQ(verdict_of(outcome, "load", "host"), "not checkable");
}

/// Puts a folder first on PATH whose mpirun is this script.
ProgramRequest doctor_with_mpirun(const ScratchFolder& folder, const std::string& script) {
  write_executable(folder / "mpirun", "#!/bin/sh\n" + script + "\n");
  ProgramRequest request = doctor(folder, "h200x2", {"--json"});
  request.environment["PATH"] = folder.path().string() + ":/usr/bin:/bin";
  return request;
}

TEST(DoctorProgram, AsksMpirunWhichMpiItIsOf) {
  const ScratchFolder folder;
  for (const char* words :
       {"HYDRA build details:\\n    Version:    4.0.2\\n", "mpirun (Open MPI) 99.0.3\\n"}) {
    const Outcome outcome =
        run_program(doctor_with_mpirun(folder, std::string("printf '") + words + "'"));
    EXPECT_EQ(outcome.status, 1) << words;
    EXPECT_EQ(verdict_of(outcome, "mpirun", "host"), "problem") << words;
  }
}

TEST(DoctorProgram, FindsAnMpirunThatCannotWork) {
  const ScratchFolder folder;
  for (const char* script : {"exit 127", "echo mpirun Open MPI 4.1.4; exit 1", "kill -SEGV $$"}) {
    const Outcome outcome = run_program(doctor_with_mpirun(folder, script));
    EXPECT_EQ(outcome.status, 1) << script;
    EXPECT_EQ(verdict_of(outcome, "mpirun", "host"), "problem") << script;
  }
}

TEST(DoctorProgram, AnMpirunThatSaysNothingDoesNotHoldItUp) {
  const ScratchFolder folder;
  Program running(doctor_with_mpirun(folder, "exec sleep 60"));
  const Outcome outcome = running.finish(20.0);
  EXPECT_EQ(verdict_of(outcome, "mpirun", "host"), "not checkable");
  EXPECT_LT(outcome.seconds, 3.0 * slowdown());
  EXPECT_TRUE(running.processes().empty());
}

/// Puts `linkgain` beside a worker that is this script.
ProgramRequest doctor_with_worker(const ScratchFolder& folder, const std::string& script,
                                  const std::string& scenario, const Words& arguments) {
  std::filesystem::copy_file(LINKGAIN, folder / "linkgain");
  write_executable(folder / "linkgain-bench", "#!/bin/sh\n" + script + "\n");
  ProgramRequest request = doctor(folder, scenario, arguments);
  request.arguments[0] = (folder / "linkgain").string();
  return request;
}

TEST(DoctorProgram, ALinkThatStaysDownUnderLoadIsAProblem) {
  const ScratchFolder folder;
  const Outcome outcome =
      with_status(1, run_program(doctor_with_worker(folder, "test \"$1\" != --load || sleep 0.5",
                                                    "pcie-trained-down", {"--load", "--json"})));
  EXPECT_EQ(verdict_of(outcome, "pcie-link", "GPU0"), "ok");
  EXPECT_EQ(verdict_of(outcome, "pcie-link", "GPU1"), "problem");
  EXPECT_EQ(verdict_of(outcome, "load", "host"), "");
}

TEST(DoctorProgram, MeasuresByCopiesWhatIsNotPublic) {
  const ScratchFolder folder;
  const std::string copies =
      "echo '{\"peer_copies\":[{\"from\":\"00000000:06:00.0\",\"to\":\"00000000:07:00.0\","
      "\"gb_per_s\":51.5}]}'";
  const Outcome outcome = run_program(doctor_with_worker(
      folder, "test \"$1\" != --load || " + copies, "rtx3090-nv4", {"--load", "--json"}));
  EXPECT_EQ(verdict_of(outcome, "nvlink-bandwidth", "GPU0-GPU1"), "ok");
  EXPECT_THAT(outcome.output, HasSubstr("51.5 GB/s"));
}

TEST(DoctorProgram, OnlyThePcieLinkIsSaidToBeUnderLoad) {
  const ScratchFolder folder;
  const Outcome outcome = run_program(doctor_with_worker(
      folder, "test \"$1\" != --load || sleep 0.5", "h200x2", {"--load", "--json"}));
  for (const Json& finding : findings_of(outcome)) {
    const std::string value = finding["value"];
    if (value.find("under load") == std::string::npos) continue;
    EXPECT_EQ(finding["id"], "pcie-link") << value;
  }
  EXPECT_THAT(outcome.output, HasSubstr("host copies"));
}

TEST(DoctorProgram, AWorkerThatSaysNothingDoesNotHoldItUp) {
  const ScratchFolder folder;
  Program running(doctor_with_worker(folder, "exec sleep 60", "h200x2", {"--json"}));
  const Outcome outcome = running.finish(20.0);
  EXPECT_EQ(verdict_of(outcome, "worker", "host"), "not checkable");
  EXPECT_LT(outcome.seconds, 3.0 * slowdown());
  EXPECT_TRUE(running.processes().empty());
}

TEST(DoctorProgram, AWorkerThatFailsSaysWhy) {
  const ScratchFolder folder;
  const Outcome outcome = run_program(
      doctor_with_worker(folder, "echo 'libnccl.so.2: cannot open' >&2; exit 127", "h200x2", {}));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("libnccl.so.2"), HasSubstr("127")));
}

}  // namespace
}  // namespace linkgain::test
