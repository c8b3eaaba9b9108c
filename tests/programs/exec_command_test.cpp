#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <memory>
#include <set>

#include "exec_program.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// Commands that are not what `linkgain exec` can measure.

class ExecCommand : public ExecProgram {};

TEST_F(ExecCommand, SaysThatTheCommandDoesNotGetItsInput) {
  std::ofstream(folder_ / "list") << "one\n";
  ProgramRequest made = request(kOnce, {"wc", "-l"});
  made.arguments = joined({"sh", "-c", "\"$0\" \"$@\" < list"}, made.arguments);
  with_status(0, run_program(made));
  EXPECT_EQ(log("p2p-1"), "0\n");
  EXPECT_THAT(warning_codes(), Contains("exec-input"));
  run(kOnce, {"true"});
  EXPECT_THAT(warning_codes(), Not(Contains("exec-input")));
}

TEST_F(ExecCommand, NamesTheInterpreterThatAScriptLacks) {
  const auto said_of = [&](const std::string& first_line) {
    write_script("train.py", first_line + "\n");
    const Outcome outcome = run({}, {"./train.py"});
    EXPECT_EQ(outcome.status, 2);
    return outcome.error;
  };
  EXPECT_THAT(said_of("#! /usr/bin/pythonX -u"), HasSubstr("'/usr/bin/pythonX'"));
  EXPECT_THAT(said_of("#!/bin/sh\r"), HasSubstr("Windows"));
  EXPECT_FALSE(exists(folder_ / "out"));
}

/// Names programs that may be in a container alone.
TEST_F(ExecCommand, ShowsItsLinesWhereAProgramIsMissing) {
  for (const Words& command :
       {Words{"--", "./no-such-program"}, Words{"--", "nice", "no-such-program"},
        Words{"--server", "no-such-program", "--ready", "up", "--", "true"},
        Words{"--preset", "llama.cpp", "m.gguf"}}) {
    const Outcome outcome = run_linkgain(folder_, joined({"exec", "--dry-run"}, command));
    EXPECT_EQ(outcome.status, 0) << command[1];
    EXPECT_THAT(outcome.output, HasSubstr("# round 6: ")) << command[1];
    EXPECT_THAT(outcome.error, HasSubstr("warning: ")) << command[1];
    EXPECT_THAT(outcome.error, testing::ContainsRegex("not on PATH|no file")) << command[1];
  }
}

TEST_F(ExecCommand, SaysBeforeItRunsThatNcclTakesNoP2p) {
  const auto said_of = [&](const std::string& scenario, const Words& options) {
    ProgramRequest made = request(joined({"--rounds", "1"}, options), {"sh", "-c", "echo it runs"});
    made.environment["LINKGAIN_NVML_LIBRARY"] = NVML_DOUBLE;
    made.environment["LINKGAIN_NVML_SCENARIO"] = scenario;
    made.environment["NCCL_P2P_LEVEL"] = "PIX";  // the default depends on this machine's CPU
    return run_program(made).error;
  };
  constexpr const char* kSaid = "NCCL takes host memory with every variant (";
  for (const Words& options : {Words{"--dry-run"}, Words{"--show-output"},
                               Words{"--variant", "p2p", "--variant", "no-p2p"}}) {
    const std::string said = said_of("rtx4090-p2p", options);
    EXPECT_THAT(said, HasSubstr(kSaid)) << options.front();
    EXPECT_THAT(said, HasSubstr("--variant p2p-sys")) << options.front();
    EXPECT_LT(said.find(kSaid), said.find("it runs"));
  }
  EXPECT_THAT(said_of("rtx4090-p2p", {"--variant", "host", "--variant", "p2p-sys"}),
              Not(HasSubstr(kSaid)));
  EXPECT_THAT(said_of("rtx4090-p2p", {"--variant", "a:NCCL_ALGO=Ring", "--variant", "p2p"}),
              Not(HasSubstr(kSaid)));
  EXPECT_THAT(said_of("rtx4090", {}), Not(HasSubstr(kSaid))) << "the driver refuses it";
  EXPECT_THAT(said_of("h200x2", {}), Not(HasSubstr(kSaid)));
  for (const char* scenario : {"rtx4090", "h200x1"}) {
    EXPECT_THAT(said_of(scenario, {"--dry-run"}), HasSubstr("in no variant: "));
    said_of(scenario, {});
    EXPECT_EQ(std::ranges::count(warning_codes(), "same-path"), 1) << scenario;
  }
}

TEST_F(ExecCommand, SeesWhichVariablesItsProcessesHave) {
  write_script("unset.sh", "#!/bin/sh\nunset NCCL_P2P_DISABLE\nsleep 0.7\n");
  write_script("fixed.sh", "#!/bin/sh\nNCCL_P2P_DISABLE=0 sleep 0.7\n");
  std::filesystem::create_symlink("/usr/bin/python3", folder_ / "docker");
  std::ofstream(folder_ / "run") << "import time; time.sleep(0.7)\n";
  write_script("in_docker.sh", "#!/bin/sh\n./docker run image train\n");
  for (const Words& command : {Words{"./unset.sh"}, Words{"./fixed.sh"}, Words{"./in_docker.sh"},
                               Words{"env", "-u", "NCCL_P2P_DISABLE", "sleep", "0.7"},
                               Words{"env", "-i", "/bin/sleep", "0.7"}}) {
    const Outcome outcome = with_status(0, run({"--rounds", "1"}, command));
    ASSERT_THAT(warning_codes(), Contains("exec-container")) << command[0];
    EXPECT_THAT(warning("exec-container").at("text").get<std::string>(),
                testing::EndsWith("P2P is not switched"))
        << command[0];
    EXPECT_THAT(outcome.output, HasSubstr("Variant")) << command[0];
  }
}

// Spares helpers that are short, or run beside the program.
TEST_F(ExecCommand, SeesNoFaultInHelpersWithoutVariables) {
  write_script("work.py",
               "#!/usr/bin/env python3\nimport os, subprocess, time\n"
               "helper = subprocess.Popen(['/bin/sleep', '0.7'], env={'A': '1'})\n"
               "end = time.monotonic() + 0.7\n"
               "while time.monotonic() < end: pass\nhelper.wait()\n");
  write_script("helper.sh", "#!/bin/sh\nenv -i /bin/true\nenv -i /bin/true\nsleep 0.7\n");
  write_script("paths.sh", "#!/bin/sh\nexport MY_PATH=/a:$MY_PATH\nsleep 0.7\n");
  for (const Words& command : {Words{"./work.py"}, Words{"./helper.sh"}, Words{"./paths.sh"}}) {
    with_status(0, run({"--rounds", "1", "--variant", "p2p", "--variant",
                        "x:NCCL_P2P_DISABLE=1,MY_PATH=/b"},
                       command));
    EXPECT_THAT(warning_codes(), Not(Contains("exec-container"))) << command[0];
  }
}

TEST_F(ExecCommand, EndsWhatAProgramLeavesBehind) {
  write_script("daemon",
               "#!/bin/sh\n(setsid sleep 1000 &)\n"
               "setsid env -i sleep 1000 &\necho $! > unmarked\nsleep 0.3\n");
  Program program(request(kOnce, {"./daemon"}));
  const Outcome outcome = with_status(6, program.finish(60.0));
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
  EXPECT_NE(::kill(std::stoi(read_text(folder_ / "unmarked")), SIGKILL), 0) << "left behind";
  EXPECT_THAT(outcome.output, HasSubstr("2 processes"));
}

// Refuses what would look three times as fast as its work.
TEST_F(ExecCommand, ComparesNoVariantThatPutsItsWorkIntoTheBackground) {
  const Outcome outcome = with_status(
      6, run({"--rounds", "3", "--variant", "a:IN=fore", "--variant", "b:IN=back"},
             {"sh", "-c", "[ $IN = back ] && sleep 0.3 & [ $IN = back ] || sleep 0.1"}));
  EXPECT_THAT(outcome.output, HasSubstr("left 1 process"));
  EXPECT_TRUE(case_named("exec/time").at("variants")[1].at("time_s").is_null());
  EXPECT_THAT(outcome.output, Not(HasSubstr("slower")));
  EXPECT_THAT(outcome.output, Not(HasSubstr("as fast")));
}

// Says it of a container, too, that gets no variable: with them its arms would not differ either.
TEST_F(ExecProgram, SaysBeforeTheFirstRunThatTheDriverRefusesP2p) {
  const std::string said = "P2P is on in no variant";
  write_script("docker", "#!/bin/sh\nexec env -i /bin/true\n");
  const auto asked = [&](const std::string& scenario, const Words& options, const Words& command) {
    std::filesystem::remove_all(folder_ / "out");
    return with_status(0, run_program(on_machine(scenario, request(options, command))));
  };
  for (const char* const scenario : {"rtx3090-no-bridge", "no-nvlink", "phb", "p2p-refused"}) {
    for (const Words& command : {Words{"true"}, Words{"./docker", "run", "image", "train"}}) {
      EXPECT_THAT(asked(scenario, {"--dry-run"}, command).error, HasSubstr(said)) << scenario;
      const std::string progress = asked(scenario, {"--rounds", "2"}, command).error;
      EXPECT_LT(progress.find(said), progress.find("round 1")) << scenario;
      EXPECT_THAT(result("report.md"), AllOf(HasSubstr(said), Not(HasSubstr("P2P is allowed"))))
          << scenario;
    }
    const Words alone{"--rounds", "2", "--variant", "p2p"};
    EXPECT_THAT(asked(scenario, alone, {"true"}).error, Not(HasSubstr(said))) << scenario;
    EXPECT_THAT(result("report.md"), Not(HasSubstr("P2P is allowed"))) << scenario;
  }
  EXPECT_THAT(asked("h200x2", {"--dry-run"}, {"true"}).error, Not(HasSubstr(said)));
}

// What `linkgain exec` says of errors on links and of GPUs that fail, on those of the NVML double.

class ExecWithErrors : public ExecProgram {
 protected:
  Outcome run_on(const std::string& scenario, const std::string& script) {
    ProgramRequest made = request({"--variant", "p2p"}, {"sh", "-c", script});
    made = on_machine(scenario, made);
    made.environment["LINKGAIN_NVML_ERRORS"] = (folder_ / "errors").string();
    return run_program(made);
  }
  std::string report() const { return result("report.md"); }
};

TEST_F(ExecWithErrors, NamesLinkAndCounter) {
  const Outcome outcome =
      with_status(0, run_on("h200x2", "[ {round} = 1 ] || echo 0 3 crc_errors 12 > errors; true"));
  EXPECT_THAT(outcome.error, HasSubstr("12 CRC errors"));
  EXPECT_THAT(warning_codes(), Contains("link-errors"));
  const Json errors = record().at("link_errors");
  EXPECT_EQ(errors.at("readings"), 3);
  ASSERT_THAT(errors.at("grown"), SizeIs(1));
  EXPECT_EQ(errors.at("grown")[0].at("gpu"), 0);
  EXPECT_EQ(errors.at("grown")[0].at("link"), 3);
  EXPECT_EQ(errors.at("grown")[0].at("growth"), 12);
  EXPECT_THAT(report(), HasSubstr("Link errors: 12 CRC"));
}

TEST_F(ExecWithErrors, OfLinksWithoutAnyAreNone) {
  with_status(0, run_on("h200x2", "true"));
  EXPECT_THAT(record().at("link_errors").at("counters"), Not(IsEmpty()));
  EXPECT_THAT(record().at("link_errors").at("grown"), IsEmpty());
  EXPECT_THAT(warning_codes(), Not(Contains("link-errors")));
  EXPECT_THAT(report(), HasSubstr("Link errors: none"));
}

TEST_F(ExecWithErrors, SaysOfAFailureWhatTheDriverSays) {
  with_status(6, run_on("lost-gpu", "echo 'CUDA error: unknown error'; exit 3"));
  const Json failed = warning("run-failed");
  ASSERT_TRUE(failed.is_object());
  EXPECT_THAT(failed.at("text"), HasSubstr("\nGPU 1 does"));
  EXPECT_THAT(failed.at("advice"), HasSubstr("999"));
  EXPECT_THAT(report(), HasSubstr("GPU 1 does"));
}

// The folders that `linkgain exec` writes to.

TEST_F(ExecProgram, SetsAnEarlierRunAside) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run(kOnce, {"true"}).status, 0);
  }
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "runs.old" / "p2p-1.log"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "runs" / "p2p-1.log"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "results")) << "another one was named";
}

TEST_F(ExecProgram, HasAFolderOfItsOwnBesideOthersThatBeginInTheSameSecond) {
  std::vector<std::unique_ptr<Program>> programs;
  for (int i = 0; i < 4; ++i) {
    ProgramRequest made =
        linkgain(folder_, {"exec", "--variant", "p2p", "--rounds", "1", "--", "true"});
    made.environment["LINKGAIN_NVML_LIBRARY"] = "/nonexistent";
    programs.push_back(std::make_unique<Program>(made));
  }
  for (const auto& program : programs) {
    const Outcome outcome = program->finish(60.0);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
  }
  std::set<std::filesystem::path> records;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "results")) {
    EXPECT_TRUE(std::filesystem::exists(entry.path() / "record.json")) << entry.path();
    EXPECT_FALSE(std::filesystem::exists(entry.path() / "record.json.old")) << entry.path();
    records.insert(entry.path());
  }
  EXPECT_THAT(records, SizeIs(programs.size()));
}

TEST_F(ExecProgram, ThatIsRefusedLeavesNoFolder) {
  for (const Words& command :
       std::vector<Words>{{"--dry-run", "--", "true"}, {"--", "no-such-program"}}) {
    run_linkgain(folder_, joined({"exec"}, command));
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << command.front();
  }
}

/// Covers names that a folder of others may have.
TEST_F(ExecProgram, ShowsTheNameOfItsFolderAsAWordToCopy) {
  for (const std::string name : {"sp ace", "-x", "a\033[2J\n\u202eb"}) {
    ProgramRequest made = linkgain(
        folder_, {"exec", "--out=" + name, "--variant", "p2p", "--rounds", "1", "--", "false"});
    made.environment["LINKGAIN_NVML_LIBRARY"] = "/nonexistent";
    const Outcome outcome = run_program(made);
    EXPECT_EQ(outcome.status, 6) << name;
    EXPECT_THAT(outcome.output + outcome.error,
                AllOf(Not(HasSubstr("\033")), Not(HasSubstr("\u202e"))));
    const Words lines = lines_of(outcome.output);
    const std::string start = "Details: ";
    const auto line = std::ranges::find_if(
        lines, [&](const std::string& each) { return each.starts_with(start); });
    ASSERT_NE(line, lines.end()) << outcome.output;
    const std::string script = "linkgain() { \"$0\" \"$@\"; }\n" + line->substr(start.size());
    const Outcome pasted = run_program({.arguments = {"bash", "-c", script, LINKGAIN},
                                        .environment = {},
                                        .directory = folder_.path()});
    EXPECT_EQ(pasted.status, 0) << *line << pasted.error;
  }
}

// `linkgain exec --server`.

class ExecServer : public ExecProgram {};

TEST_F(ExecServer, StartsAServerForEachRun) {
  write_script("server",
               "#!/bin/sh\n"
               "trap 'echo ended >> ended; exit 0' TERM\n"
               "echo ...; sleep 0.1; echo \"$1\" > port; printf 'ready at %s' \"$1\"\n"
               "while :; do sleep 0.05; done\n");
  write_script("client", "#!/bin/sh\necho \"answer: $(cat port)\"; rm port\n");
  Program program(request({"--server", "./server '1{round} {variant}'", "--ready", "ready at",
                           "--metric", "answer: ([0-9]+)"},
                          {"./client"}));
  with_status(0, program.finish());
  EXPECT_EQ(log("host-2"), "answer: 12 host\n");
  EXPECT_EQ(log("host-2.server"), "...\nready at 12 host");
  const Json runs = record().at("samples").at("case");
  EXPECT_EQ(static_cast<std::ptrdiff_t>(lines_of(read_text(folder_ / "ended")).size()),
            std::ranges::count(runs, Json(0)));
  EXPECT_GE(case_named("exec/start-up").at("variants")[0].at("time_s"), 0.1);
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
}

TEST_F(ExecServer, SaysWhatIsWrongWithAServer) {
  const auto fails = [&](const Words& options, const std::string& why) {
    Words all{"--ready", "up", "--variant", "p2p", "--rounds", "1"};
    all.insert(all.end(), options.begin(), options.end());
    Program program(request(all, {"sleep", "0.5"}));
    const Outcome outcome = program.finish(60.0);
    EXPECT_EQ(outcome.status, 6) << why;
    EXPECT_THAT(outcome.error, HasSubstr(why));
    EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
  };
  fails({"--server", "false"}, "exit status 1 before it was ready");
  fails({"--server", "sleep 1000", "--ready-timeout", "0.2"}, "not ready within 0.2 s");
  fails({"--server", "sh -c 'echo up; exit 4'"}, "exit status 4");
}

TEST_F(ExecServer, ThatFailsIsToldByItsLastLineAndItsLog) {
  for (const std::string said : {"loading", "ready"}) {
    const std::string server = "sh -c 'echo " + said + "; echo out of memory >&2; exit 1'";
    for (const std::string rounds : {"1", "2"}) {
      const Outcome outcome =
          run({"--variant", "p2p", "--rounds", rounds, "--server", server, "--ready", "ready"},
              {"sh", "-c", "echo answer; sleep 0.5"});
      EXPECT_EQ(outcome.status, 6);
      EXPECT_THAT(outcome.error, AllOf(HasSubstr("p2p-1.server.log"), HasSubstr("out of memory")));
      const Json failed = warning("run-failed");
      ASSERT_TRUE(failed.is_object());
      EXPECT_THAT(failed.at("text"), HasSubstr("out of memory"));
      EXPECT_THAT(failed.at("advice"), HasSubstr("runs/p2p-1.server.log"));
      EXPECT_EQ(log("p2p-1.server"), said + "\nout of memory\n");
    }
  }
}

TEST_F(ExecServer, ThatEndsUnderItsClientEndsTheRun) {
  const double start = now();
  Program program(request({"--variant", "p2p", "--rounds", "1", "--server",
                           "sh -c 'echo ready; sleep 0.2; exit 4'", "--ready", "ready"},
                          {"sleep", "1000"}));
  const Outcome outcome = program.finish(60.0);
  EXPECT_LT(now() - start, 10.0 * slowdown());
  EXPECT_EQ(outcome.status, 6);
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("exit status 4"), HasSubstr("before the client")));
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
}

TEST_F(ExecServer, ThatEndedIsToldOfWhereItsClientFailsAtOnce) {
  const Outcome outcome = with_status(
      6, run({"--server", "sh -c 'echo ready; echo no memory; touch gone; exit 4'", "--ready",
              "ready", "--variant", "p2p", "--rounds", "1"},
             {"sh", "-c", "while [ ! -e gone ]; do sleep 0.02; done; sleep 0.3; exit 7"}));
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("exit status 4"), HasSubstr("exit status 7"),
                                   HasSubstr("no memory")));
  EXPECT_THAT(outcome.error, HasSubstr("p2p-1.server.log"));
}

TEST_F(ExecServer, HasNoStartUpThatIsKnownWhereLinkgainWasStopped) {
  write_script("serve", "#!/bin/sh\ntouch begun; sleep 0.5; echo ready; sleep 1000\n");
  Program program(request(
      {"--server", "./serve", "--ready", "ready", "--variant", "p2p", "--rounds", "1"}, {"true"}));
  const Outcome outcome = with_status(6, finish_stopped(program, 2.5));
  EXPECT_THAT(outcome.error, HasSubstr("linkgain itself"));
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
}

TEST_F(ExecServer, TellsOfAServerThatHangsAsOfItsClient) {
  const std::string server = "sh -c 'echo ready; sleep 1001; :'";
  const auto both = AllOf(HasSubstr("(sleep 1000)"), HasSubstr("(sleep 1001)"));
  const Outcome outcome = with_status(6, run({"--timeout", "0.5", "--variant", "p2p", "--rounds",
                                              "1", "--server", server, "--ready", "ready"},
                                             {"sleep", "1000"}));
  EXPECT_THAT(outcome.error, both);
  EXPECT_THAT(log("p2p-1"), both);
}

TEST_F(ExecServer, TellsWhatAServerDoesThatIsNotReadyInTime) {
  const Outcome outcome =
      with_status(6, run({"--ready-timeout", "0.5", "--variant", "p2p", "--rounds", "1", "--server",
                          "sleep 1001", "--ready", "up"},
                         {"true"}));
  EXPECT_THAT(outcome.error, HasSubstr("(sleep 1001)"));
  EXPECT_THAT(log("p2p-1.server"), HasSubstr("(sleep 1001)"));
}

// `linkgain exec --prepare` and `--cleanup`.

class ExecShell : public ExecProgram, public testing::WithParamInterface<std::string> {};

TEST_P(ExecShell, IsEndedWithAllItStartedWhereItTakesTooLong) {
  Program program(request({GetParam(), "echo begun >> begun; setsid sleep 1000 & sleep 1000",
                           "--timeout", "1", "--variant", "p2p", "--rounds", "1"},
                          {"true"}));
  const Outcome outcome = with_status(6, program.finish(120.0));
  EXPECT_THAT(outcome.error, HasSubstr(GetParam() + " had not"));
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
  EXPECT_EQ(read_text(folder_ / "begun"), "begun\n");
  EXPECT_THAT(warning_codes(), Contains("run-failed"));
}

INSTANTIATE_TEST_SUITE_P(Options, ExecShell, testing::Values("--prepare", "--cleanup"));

}  // namespace
}  // namespace linkgain::test
