#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "programs.hpp"

/// `linkgain doctor --prove` with a worker that is a script: what each rung comes to is this
/// test's.
namespace linkgain::test {
namespace {

using testing::HasSubstr;

/// What the script does in a rung, by its name; in every other one all data arrive.
using Rungs = std::map<std::string, std::string>;

constexpr const char* kBegun = "echo '{\"begun\":true}'; ";
constexpr const char* kArrived = "echo '{\"delivery\":{\"outcome\":\"arrived\",\"seen\":\"\"}}'";

std::string line(const std::string& outcome, const std::string& seen) {
  return "echo '{\"delivery\":{\"outcome\":\"" + outcome + "\",\"seen\":\"" + seen + "\"}}'";
}

/// Imitates NCCL's log.
std::string log(const std::string& transport) {
  return "echo 'vm:7:7 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via " + transport +
         "' > \"${NCCL_DEBUG_FILE%%%*}x\"";
}

class DoctorProve : public testing::Test {
 protected:
  /// Writes what this build says of itself, as if it had been built with NCCL.
  void describe_worker(bool with_nccl = true) {
    Json description =
        Json::parse(run_program({.arguments = {LINKGAIN_BENCH, "--describe"}}).output);
    description["machine"]["software"]["nccl_library"] = with_nccl ? Json("2.28.9") : Json(nullptr);
    std::ofstream(path("describe.json")) << description.dump() << "\n";
  }

  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  void write_script(const std::string& name, const std::string& text) const {
    write_executable(path(name), "#!/bin/sh\n" + text);
  }

  /// Makes a worker that speaks for both ranks.
  ProgramRequest request(Rungs rungs, const std::string& scenario = "h200x2") {
    if (!std::filesystem::exists(path("describe.json"))) describe_worker();
    std::filesystem::copy_file(LINKGAIN, path("linkgain"),
                               std::filesystem::copy_options::skip_existing);
    rungs.emplace("all-reduce", log("P2P/CUMEM") + "; " + kArrived);
    rungs.emplace("control", log("SHM/direct/direct") + "; " + kArrived);
    std::string worker = "[ \"$1\" != --describe ] || exec cat '" + path("describe.json").string() +
                         "'\nshift 2\necho 'Welcome to this node'\necho \"$2 $4 $NCCL_P2P_DISABLE "
                         "$NCCL_NVLS_ENABLE\" >> '" +
                         path("climbed").string() + "'\ncase $2 in\n";
    for (const auto& [rung, script] : rungs) worker += rung + ") " + script + ";;\n";
    write_script("linkgain-bench", worker + std::string("*) ") + kArrived + ";;\nesac\n");
    ProgramRequest request =
        linkgain(folder_, {"doctor", "--prove", "--json", "--only", "p2p-delivery"});
    request.arguments[0] = path("linkgain").string();
    request.environment = {{"HOME", folder_.path().string()},
                           {"PATH", folder_.path().string() + ":/usr/bin:/bin"},
                           {"CUDA_VISIBLE_DEVICES", std::nullopt}};
    return on_machine(scenario, request);
  }

  /// Says what a user reads who asked for the proof alone.
  ProgramRequest asked_for_in_words() {
    ProgramRequest prove = request({});
    std::erase(prove.arguments, "--json");
    prove.arguments.resize(prove.arguments.size() - 2);  // --only p2p-delivery
    return prove;
  }

  static Json finding(const Outcome& outcome) {
    const Json findings = Json::parse(outcome.output)["findings"];
    EXPECT_EQ(findings.size(), 1U) << outcome.output;
    return findings.at(0);
  }

  static void expect(const Outcome& outcome, int status, const std::string& verdict,
                     const std::string& value) {
    EXPECT_EQ(outcome.status, status) << outcome.error;
    EXPECT_EQ(finding(outcome)["verdict"], verdict);
    EXPECT_THAT(std::string(finding(outcome)["value"]), HasSubstr(value));
  }

  /// Returns the folder of this host's notes.
  std::filesystem::path notes() const {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    return path(".local/state/linkgain/" + std::string(host.data()));
  }

  ScratchFolder folder_;
};

TEST_F(DoctorProve, ShowsTheVerdictThatIsOk) {
  const Outcome outcome = run_program(asked_for_in_words());
  EXPECT_THAT(outcome.output, testing::ContainsRegex("p2p-delivery +GPU0-GPU1 +works: stores"));
}

TEST_F(DoctorProve, ClimbsAllRungsEachAJobOfItsOwn) {
  const Outcome outcome = run_program(request({}));
  expect(outcome, 0, "ok", "works");
  EXPECT_THAT(lines_of(read_text(path("climbed"))),
              testing::ElementsAre("stores 0,1 0 0", "copy-engine 0,1 0 0", "loads 0,1 0 0",
                                   "flags 0,1 0 0", "kernels 0,1 0 0", "all-reduce 0,1 0 0",
                                   "control 0,1 1 0"));
  EXPECT_TRUE(std::filesystem::is_empty(notes())) << "it has ended";
}

TEST_F(DoctorProve, ForSoLongUnderLoadWhenAsked) {
  ProgramRequest prove = request({});
  prove.arguments.insert(prove.arguments.end(), {"--for", "1s"});
  const Outcome outcome = run_program(prove);
  expect(outcome, 0, "ok", "works");
  EXPECT_THAT(read_text(path("climbed")), HasSubstr("all-reduce 0,1 0 0\nload 0,1 0 0\ncontrol"));
}

TEST_F(DoctorProve, TheVerdictOfEachPairIsJsonKeyedByWhatDecidesIt) {
  const Outcome outcome = run_program(
      request({{"stores",
                "echo '{\"delivery\":{\"outcome\":\"arrived\",\"seen\":\"\",\"seconds\":0.002}}'"},
               {"kernels", line("gave up", "rank 0 waited")}}));
  const Json delivery = Json::parse(outcome.output)["delivery"];
  EXPECT_EQ(delivery["driver"], "580.159.04");
  EXPECT_EQ(delivery["gpus"], Json({"NVIDIA H200"}));
  EXPECT_EQ(delivery["nccl"], "2.28.9");
  EXPECT_TRUE(delivery.contains("board") && delivery.contains("bios"));
  const Json pair = delivery["pairs"].at(0);
  EXPECT_EQ(pair["gpus"], Json({"GPU0", "GPU1"}));
  EXPECT_EQ(pair["verdict"], "hangs");
  EXPECT_EQ(pair["steps"].at(0)["seconds"], 0.002);
  EXPECT_EQ(pair["steps"].at(4)["step"], "kernels");
  EXPECT_EQ(pair["steps"].at(4)["state"], "hung");
}

TEST_F(DoctorProve, AStepThatEndsTheMachineIsNamedByTheNextStart) {
  std::filesystem::create_directories(notes());
  std::ofstream(notes() / "proving-0123abcd-7-1")
      << "step loads between GPU0 and GPU1 at 2026-11-30T10:00:00Z\n";
  const Json findings = Json::parse(run_program(request({})).output)["findings"];
  EXPECT_THAT(std::string(findings.at(0)["value"]), HasSubstr("step loads"));
  EXPECT_EQ(findings.at(1)["verdict"], "ok");
}

TEST_F(DoctorProve, AStepInWhichItIsKilledIsNamedByTheNextStart) {
  Program killed(request({{"loads", "touch '" + path("begun").string() + "'; sleep 60"}}));
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(path("begun")); }, 60.0));
  killed.signal(SIGKILL);
  killed.finish(30.0);
  ProgramRequest without = request({});
  without.arguments.back() = "p2p";
  with_status(2, run_program(without));
  const Json findings = Json::parse(run_program(request({})).output)["findings"];
  EXPECT_THAT(std::string(findings.at(0)["value"]), HasSubstr("step loads"));
  const Json again = Json::parse(run_program(request({})).output)["findings"];
  EXPECT_EQ(again.at(0)["verdict"], "ok") << "one has ended since";
}

TEST_F(DoctorProve, AStepThatCannotBeNotedIsToldBeforeItStarts) {
  std::ofstream(path(".local")) << "is no folder";
  const std::string errors = path("errors").string();
  ProgramRequest prove = request(
      {{"loads", "grep -q 'step loads between GPU0 and GPU1' " + errors + " && " + kArrived}});
  prove.arguments = joined({"sh", "-c", "exec \"$@\" 2> \"$0\"", errors}, prove.arguments);
  expect(run_program(prove), 0, "ok", "works");
  const std::string told = read_text(errors);
  EXPECT_THAT(told, HasSubstr(notes().string()));
  EXPECT_THAT(lines_of(told), testing::SizeIs(7 + 2)) << "a line for each step";
}

TEST_F(DoctorProve, WhatDoesNotArriveIsAProblemWithItsCauses) {
  const Outcome outcome =
      run_program(request({{"copy-engine", line("not arrived", "second to first GPU: 7 words")}}));
  expect(outcome, 1, "problem", "does not deliver: writes of a copy engine: second to first GPU");
  for (const char* cause : {"IOMMU", "ACS", "BAR", "Driver"}) {
    EXPECT_THAT(std::string(finding(outcome)["advice"]), HasSubstr(cause));
  }
  EXPECT_EQ(read_text(path("climbed")), "stores 0,1 0 0\ncopy-engine 0,1 0 0\ncontrol 0,1 1 0\n");
}

TEST_F(DoctorProve, AKernelThatGaveUpHangs) {
  expect(run_program(request({{"flags", line("gave up", "the last flag was 0")}})), 1, "problem",
         "hangs: flags between kernels: the last flag was 0");
}

TEST_F(DoctorProve, AJobThatSaysNothingIsEndedAndHangs) {
  Program running(request({{"stores", std::string(kBegun) + "exec sleep 600"}}));
  expect(running.finish(60.0), 1, "problem", "hangs: stores of a kernel: no answer within 10 s");
  EXPECT_TRUE(running.processes().empty());
}

TEST_F(DoctorProve, AJobWhoseGpusAreNotReadyInTimeProvesNothing) {
  Program running(request({{"stores", "exec sleep 600"}}));
  expect(running.finish(60.0), 3, "warning", "not proved: stores of a kernel: the GPUs were not");
  EXPECT_TRUE(running.processes().empty());
}

/// How a job may end, and what it says of the machine.
struct JobEnd {
  std::string script;
  std::string verdict;
  std::string words;
};

TEST_F(DoctorProve, HoweverAJobEndsOnlyWhatItSawOfTheDataIsAVerdict) {
  const auto says = [](const std::string& words, const std::string& end) {
    return "echo 'linkgain-bench: " + words + "' >&2; " + end;
  };
  const std::string nothing = "not proved";
  const std::vector<JobEnd> ends{
      {says("rank 0: CUDA: no kernel image", "exit 3"), nothing, "rank 0: CUDA: no kernel image"},
      {says("rank 1: CUDA: out of memory", "exit 3"), nothing, "out of memory"},
      {says("unknown option", "exit 2"), nothing, "unknown option"},
      {says("rank 1 was ended by SIGKILL", "exit 137"), nothing, "rank 1 was ended by SIGKILL"},
      {"echo 'libcudart.so: cannot open' >&2; exit 127", nothing, "libcudart.so: cannot open"},
      {"exec /no/program", nothing, "/no/program"},
      {"exit 9", nothing, "exit status 9"},
      {"exit 0", nothing, "exit status 0"},
      {"echo 'the last word' >&2; kill -KILL $$", nothing, "SIGKILL"},
      {"kill -SEGV $$", nothing, "SIGSEGV"},
      {"kill -TERM $$", nothing, "SIGTERM"},
      {std::string(kArrived) + "; exit 6", nothing, "exit status 6"},
      {line("not arrived", "7 words") + "; exit 3", "granted but does not deliver", "7 words"},
      {line("not arrived", "7 words") + "; kill -KILL $$", "granted but does not deliver",
       "7 words"},
      {line("gave up", "the flag was 0") + "; exit 6", "hangs", "the flag was 0"}};
  for (const JobEnd& end : ends) {
    for (const char* begun : {"", kBegun}) {
      const Outcome outcome = run_program(request({{"loads", begun + end.script}}));
      const Json pair = Json::parse(outcome.output)["delivery"]["pairs"].at(0);
      EXPECT_EQ(pair["verdict"], end.verdict) << begun << end.script;
      EXPECT_THAT(std::string(pair["steps"].at(2)["seen"]), HasSubstr(end.words));
      EXPECT_EQ(pair["steps"].size(), 4U) << "the control is the last";
      EXPECT_EQ(outcome.status, end.verdict == nothing ? 3 : 1) << outcome.error;
    }
  }
}

TEST_F(DoctorProve, AJobThatEndsByItsOwnLimitHangsIfDataWereToGo) {
  for (const char* end : {"kill -ALRM $$", "exit 142"}) {
    expect(run_program(request({{"loads", end}})), 3, "warning", "not proved");
    expect(run_program(request({{"loads", std::string(kBegun) + end}})), 1, "problem", "hangs");
  }
}

TEST_F(DoctorProve, AJobThatFailsSaysWhy) {
  const std::string fails = "echo 'linkgain-bench: invalid device context' >&2; exit 3";
  expect(run_program(request({{"stores", fails}})), 3, "warning",
         "not proved: stores of a kernel: invalid device context");
}

TEST_F(DoctorProve, AWorkerThatCannotBeStartedProvesNothing) {
  for (const std::string breaks : {"printf '#!/no/shell\\n' > \"$0\"; ", "rm \"$0\"; "}) {
    const Outcome outcome = run_program(request({{"loads", breaks + kArrived}}));
    expect(outcome, 3, "warning", "inconclusive: flags between kernels: ");
    const Json pair = Json::parse(outcome.output)["delivery"]["pairs"].at(0);
    EXPECT_EQ(pair["verdict"], "not proved");
    EXPECT_EQ(pair["steps"].size(), 5U) << "those before count";
  }
}

TEST_F(DoctorProve, WhatFailsWithoutP2pTooIsInconclusive) {
  const std::string fails = "echo 'linkgain-bench: no device' >&2; exit 3";
  expect(run_program(request({{"stores", fails}, {"control", fails}})), 3, "warning",
         "inconclusive: stores of a kernel: no device; NCCL without P2P: no device");
}

TEST_F(DoctorProve, WhatTookTheGpuFromTheControlStaysTheVerdict) {
  const std::string wedged = "echo 'linkgain-bench: launch failure' >&2; exit 3";
  expect(run_program(request({{"loads", line("gave up", "no word came")}, {"control", wedged}})), 1,
         "problem", "no word came; NCCL without P2P failed after it, too: launch failure");
}

TEST_F(DoctorProve, NcclsOwnDiagnosisThatIsNotOkIsAWarning) {
  const std::string says = "echo 'vm:4101 NCCL DIAG [INFO] p2p: only 1/2 passed'; ";
  const Outcome outcome =
      run_program(request({{"all-reduce", log("P2P/CUMEM") + "; " + says + kArrived}}));
  expect(outcome, 0, "warning", "diagnosis: [INFO] only 1/2 passed");
  const Json pair = Json::parse(outcome.output)["delivery"]["pairs"].at(0);
  EXPECT_EQ(pair["steps"].at(5)["nccl"], "[INFO] only 1/2 passed");
}

TEST_F(DoctorProve, NcclThatWentThroughTheHostProvesNothing) {
  expect(run_program(request({{"all-reduce", log("SHM/direct/direct") + "; " + kArrived}})), 3,
         "warning", "not used by NCCL: NCCL's all-reduce: went by SHM/direct/direct");
}

TEST_F(DoctorProve, AControlThatUsedP2pIsNone) {
  expect(run_program(request({{"all-reduce", line("gave up", "x")},
                              {"control", log("P2P/CUMEM") + "; " + kArrived}})),
         3, "warning", "inconclusive");
}

TEST_F(DoctorProve, OfEightGpusFourPairsAreProvedAtATime) {
  const Outcome outcome = with_status(0, run_program(request({}, "h200x8")));
  EXPECT_EQ(Json::parse(outcome.output)["findings"].size(), 28U);
  const Words climbed = lines_of(read_text(path("climbed")));
  EXPECT_EQ(climbed.size(), 28U * 7U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_THAT(climbed.at(i), testing::StartsWith("stores "));
}

TEST_F(DoctorProve, APairThatHangsTakesNothingFromThoseBesideIt) {
  const std::string hangs = std::string(kBegun) + "[ \"$4\" != 0,7 ] || exec sleep 600; ";
  const Outcome outcome =
      with_status(1, run_program(request({{"stores", hangs + kArrived}}, "h200x8")));
  for (const Json& pair : Json::parse(outcome.output)["delivery"]["pairs"]) {
    const bool hung = pair["gpus"] == Json({"GPU0", "GPU7"});
    EXPECT_EQ(pair["verdict"], hung ? "hangs" : "works") << pair.dump();
  }
}

TEST_F(DoctorProve, SaysThatThereIsNoWorkerWithNccl) {
  describe_worker(false);
  expect(run_program(request({})), 3, "not checkable", "built without CUDA and NCCL");
  EXPECT_FALSE(std::filesystem::exists(path("climbed")));
}

TEST_F(DoctorProve, SaysThatThereIsNoWorker) {
  const ProgramRequest prove = request({});
  std::filesystem::remove(path("linkgain-bench"));
  expect(run_program(prove), 3, "not checkable", "no proof: 'linkgain-bench' is neither");
}

TEST_F(DoctorProve, SaysThatThereIsNoPair) {
  expect(run_program(request({}, "h200x1")), 3, "not checkable",
         "there is one GPU, and so no pair to send data between");
  EXPECT_FALSE(std::filesystem::exists(path("climbed")));
}

TEST_F(DoctorProve, SaysThatThereIsNoGpu) {
  expect(run_program(request({}, "no-driver")), 3, "not checkable", "there is no GPU");
}

TEST_F(DoctorProve, ARefusedPairIsNotClimbed) {
  const Outcome outcome = run_program(request({}, "p2p-refused"));
  expect(outcome, 3, "not checkable", "the driver refuses");
  const Json pair = Json::parse(outcome.output)["delivery"]["pairs"].at(0);
  EXPECT_EQ(pair["verdict"], "not proved");
  EXPECT_TRUE(pair["steps"].empty());
}

TEST_F(DoctorProve, NothingProvedIsNoSuccessBesideChecksThatAreOk) {
  for (const std::string scenario : {"p2p-refused", "h200x1"}) {
    ProgramRequest prove = request({}, scenario);
    prove.arguments.resize(prove.arguments.size() - 2);  // --only p2p-delivery
    EXPECT_NE(run_program(prove).status, 0) << scenario;
  }
}

/// The worker's own rung, by MPI in CPU memory.
class ProveRung : public MpiTest {
 protected:
  static Outcome climb(const std::string& rung, const std::string& fault, int ranks = 2) {
    ProgramRequest request = bench(ranks, {"--prove", rung});
    request.environment["LINKGAIN_TEST_FAULT"] = fault;
    return run_program(request);
  }
  static std::string outcome_of(const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    const Words lines = lines_of(outcome.output);
    EXPECT_THAT(lines, testing::SizeIs(2));
    EXPECT_EQ(lines.front(), "{\"begun\":true}");
    return Json::parse(lines.back())["delivery"]["outcome"];
  }
};

TEST_F(ProveRung, LooksAtEverySum) {
  EXPECT_EQ(outcome_of(climb("all-reduce", "")), "arrived");
  const Outcome corrupt = climb("control", "corrupt@1");
  EXPECT_EQ(outcome_of(corrupt), "not arrived");
  EXPECT_THAT(corrupt.output, HasSubstr("rank 1, element 0"));
  EXPECT_EQ(outcome_of(climb("all-reduce", "stale@0")), "not arrived");
  EXPECT_EQ(outcome_of(climb("all-reduce", "stale@0/control")), "arrived") << "the other rung's";
}

TEST_F(ProveRung, IsBetweenTwoRanksThatDoNotDie) {
  EXPECT_NE(climb("all-reduce", "die@1").status, 0);
  const Outcome three = climb("all-reduce", "", 3);
  EXPECT_NE(three.status, 0);
  EXPECT_THAT(own_lines(three.error), testing::SizeIs(1));
  EXPECT_EQ(climb("flag", "").status, 2);
}

TEST_F(ProveRung, EndsByItselfWhereItHangs) {
  const Outcome outcome = climb("all-reduce", "hang@1");
  EXPECT_NE(outcome.status, 0);
  EXPECT_GE(outcome.seconds, 10.0) << "longer than whoever started it waits";
}

}  // namespace
}  // namespace linkgain::test
