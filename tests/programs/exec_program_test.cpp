#include "exec_program.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdint>
#include <fstream>

#include "support/pseudo_terminal.hpp"
#include "support/situations.hpp"

/// `linkgain exec` as its users run it, with programs that are written here.
namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Not;
using testing::SizeIs;

TEST_F(ExecProgram, RunsEachVariantWithItsVariables) {
  with_status(0, run({"--args", "host:--flag 'two words'"},
                     {"sh", "-c",
                      "echo \"p2p=$NCCL_P2P_DISABLE unbuffered=$PYTHONUNBUFFERED\"; for a; do echo "
                      "\"<$a>\"; done; [ -t 0 ] || cat",
                      "sh", "{variant}", "{round}", "{other}"}));
  EXPECT_EQ(log("p2p-1"), "p2p= unbuffered=1\n<p2p>\n<1>\n<{other}>\n");
  EXPECT_EQ(log("host-2"), "p2p=1 unbuffered=1\n<host>\n<2>\n<{other}>\n<--flag>\n<two words>\n");
  EXPECT_EQ(record().at("settings").at("backend"), "exec");
  EXPECT_EQ(record().at("settings").at("variants")[1].at("arguments"),
            Json({"--flag", "two words"}));
  EXPECT_THAT(result("report.md"), HasSubstr("## Variants"));
}

TEST_F(ExecProgram, MeasuresNumbersStepsAndTime) {
  write_script("train",
               "#!/bin/sh\n"
               "for i in 1 2 3; do echo \"step $i\"; sleep 0.05; done\n"
               "[ \"$NCCL_P2P_DISABLE\" = 1 ] && speed=1,000 || speed=1,250.5\n"
               "echo \"speed: $speed tok/s, loss 0.5 loss 0.25\" >&2\n");
  const Outcome outcome =
      with_status(0, run({"--metric", "speed: ([0-9.,]+)", "--higher-is-better", "--step", "^step",
                          "--rounds", "3", "--ci-width", "50%"},
                         {"./train"}));
  const Json speed = case_named("exec/speed/higher");
  EXPECT_NEAR(speed.at("ratios")[0].at("ratio"), 1.2505, 1e-9);
  EXPECT_NEAR(speed.at("variants")[0].at("time_s"), 1 / 1250.5, 1e-12);
  EXPECT_THAT(outcome.output, HasSubstr(" 25 % higher"));
  EXPECT_GE(case_named("exec/step").at("variants")[0].at("time_s"), 0.05);
  EXPECT_GE(case_named("exec/time").at("variants")[0].at("time_s"), 0.15);
  EXPECT_GT(case_named("exec/start-up").at("variants")[1].at("time_s"), 0.0);
}

/// Takes a time that differs by far from run to run, and prints a rate that differs by 0.1 %.
TEST_F(ExecProgram, RunsNoRoundMoreForATimeThatNobodyAskedFor) {
  write_script("work", "#!/bin/sh\nsleep 0.$(($1 % 3))\necho \"rate=100.$1\"\n");
  const Outcome outcome =
      with_status(0, run({"--metric", "rate=([0-9.]+)", "--higher-is-better", "--unit", "tok/s",
                          "--rounds", "3", "--ci-width", "2%"},
                         {"./work", "{round}"}));
  EXPECT_THAT(record().at("runs"), SizeIs(6)) << outcome.error;
  EXPECT_THAT(outcome.error + outcome.output, Not(HasSubstr("wider")));
  EXPECT_THAT(outcome.output, HasSubstr("100.2 tok/s"));
  EXPECT_THAT(result("report.html"), HasSubstr("rate (tok/s)"));
  EXPECT_EQ(record().at("settings").at("program").at("units"), Json({{"rate", "tok/s"}}));
}

TEST_F(ExecProgram, ALineThatLiesInThePipeAtTheEndCameBeforeIt) {
  write_script("work", "#!/bin/sh\necho step 1; sleep 0.1; echo step 2; echo cost 7\n");
  with_status(
      0, run({"--rounds", "1", "--variant", "p2p", "--step", "^step", "--metric", "cost ([0-9]+)"},
             {"./work"}));
  const auto time_of = [&](const char* name) -> double {
    return case_named(name).at("variants")[0].at("time_s");
  };
  EXPECT_LE(time_of("exec/start-up") + time_of("exec/step"), time_of("exec/time") + 1e-3);
  EXPECT_EQ(time_of("exec/cost"), 7.0);
}

TEST_F(ExecProgram, UsesMetricsAsAskedFor) {
  for (const auto& [use, value] : std::vector<std::pair<std::string, double>>{
           {"last", 7.0}, {"median", 4.0}, {"sum", 13.0}, {"all", 4.0}}) {
    const Outcome outcome =
        run({"--metric", "x=x ([0-9]+)", "--metric-use", use, "--skip", "1", "--variant", "p2p"},
            {"printf", "x 90\\nx 2\\nx 4\\nx 7\\n"});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_NEAR(case_named("exec/x").at("variants")[0].at("time_s"), value, 1e-9) << use;
  }
  EXPECT_THAT(record().at("samples").at("case"), SizeIs(2 + 2 * 3 + 2)) << "all";
}

TEST_F(ExecProgram, TakesTheDirectionOfEachMetric) {
  with_status(0, run({"--metric", "runtime=([0-9.]+)", "--metric", "rate=([0-9.]+)",
                      "--higher-is-better=rate", "--variant", "p2p"},
                     {"printf", "runtime=4 rate=8\\nelapsed 5\\n"}));
  EXPECT_NEAR(case_named("exec/runtime").at("variants")[0].at("time_s"), 4.0, 1e-9);
  EXPECT_NEAR(case_named("exec/rate/higher").at("variants")[0].at("time_s"), 0.125, 1e-9);
}

TEST_F(ExecProgram, SurroundsEachRun) {
  with_status(0, run({"--prepare", "echo '({variant}{round}' >> order", "--cleanup",
                      "echo '){round}' >> order", "--warm-up", "1", "--variant", "p2p"},
                     {"sh", "-c", "echo run >> order"}));
  EXPECT_EQ(read_text(folder_ / "order"), "(p2p0\nrun\n)0\n(p2p1\nrun\n)1\n(p2p2\nrun\n)2\n");
  EXPECT_THAT(case_named("exec/time").at("variants"), SizeIs(1));
  EXPECT_THAT(record().at("samples").at("case"), SizeIs(2));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "runs" / "p2p.warm-up-1.log"));
}

TEST_F(ExecProgram, KeepsTheRestWhereARunFails) {
  const Outcome outcome =
      with_status(6, run({"--rounds", "3"},
                         {"sh", "-c",
                          "echo begun; [ {variant}{round} = host2 ] && { echo boom >&2; exit 3; }; "
                          "exit 0"}));
  EXPECT_THAT(outcome.error, HasSubstr("exit status 3"));
  EXPECT_THAT(outcome.error, HasSubstr("boom"));
  EXPECT_THAT(log("host-2"), HasSubstr("boom"));
  EXPECT_THAT(warning_codes(), Contains("run-failed"));
  EXPECT_EQ(record().at("exit_code"), 6);
  const Json samples = record().at("samples");
  for (std::size_t i = 0; i < samples.at("case").size(); ++i) {
    EXPECT_FALSE(samples.at("variant")[i] == 1 && samples.at("launch")[i] == 1) << "it failed";
  }
  EXPECT_THAT(outcome.output, HasSubstr("warning: host-2 failed"));
}

TEST_F(ExecProgram, KeepsTheRestWhereLogsCannotBeWritten) {
  const Outcome outcome = with_status(6, run({"--rounds", "6", "--variant", "p2p", "--cleanup",
                                              "[ {round} -lt 3 ] || rm -rf out/runs"},
                                             {"true"}));
  EXPECT_THAT(record().at("samples").at("case"), SizeIs(3)) << outcome.error;
  EXPECT_THAT(warning_codes(), Contains("run-failed"));
}

TEST_F(ExecProgram, ShowsNothingThatATerminalObeys) {
  const Outcome failed = with_status(
      6, run({"--variant", "p2p"},
             {"sh", "-c", "printf '\\033[2J\\033]0;title\\007\\377 %0500d' 7; exit 3"}));
  EXPECT_THAT(failed.error + failed.output, Not(HasSubstr("\033")));
  EXPECT_THAT(failed.error, HasSubstr("\xef\xbf\xbd 000"));
  EXPECT_THAT(log("p2p-1"), HasSubstr("\033[2J")) << "as it was written";
  for (const std::string& line : lines_of(failed.output)) EXPECT_LE(line.size(), 500U);
}

TEST_F(ExecProgram, SaysOnceThatARunFailedAndRepeatsNoOutputThatWasShown) {
  const auto count_in = [](const std::string& text, const std::string& part) {
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  };
  const Words boom{"sh", "-c", "echo boom; exit 3"};
  const Outcome hidden = run({"--variant", "p2p", "--rounds", "2"}, boom);
  EXPECT_EQ(count_in(hidden.error, "exit status 3"), 1) << hidden.error;
  EXPECT_EQ(count_in(hidden.error, "boom"), 1) << hidden.error;
  EXPECT_THAT(hidden.error, HasSubstr("not run again"));
  const Outcome shown = run(kOnce, boom);
  EXPECT_EQ(count_in(shown.error, "boom"), 1) << shown.error;
  EXPECT_THAT(run_linkgain(folder_, {"list", ".", "--format", "csv"}).output,
              HasSubstr(",failed,"));
}

TEST_F(ExecProgram, HasAnEmptyInput) {
  ProgramRequest made = request(kOnce, {"cat"});
  made.has_input = true;
  Program program(made);
  program.send("not for the command");
  EXPECT_EQ(program.finish(60.0).status, 0);
  EXPECT_EQ(log("p2p-1"), "");
}

TEST_F(ExecProgram, EndsTheWholeTreeOfARunThatIsTooLong) {
  // One goes its own way: in a session of its own, an orphan that ignores SIGTERM.
  write_script("hang",
               "#!/bin/sh\n"
               "(trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 1000 & wait' &)\n"
               "echo here; exec sleep 1000\n");
  for (const std::string option : {"--timeout", "--silence"}) {
    Program program(request({option, "0.5", "--variant", "p2p", "--rounds", "1"}, {"./hang"}));
    const Outcome outcome = program.finish(60.0);
    EXPECT_EQ(outcome.status, 6);
    EXPECT_THAT(outcome.error, HasSubstr(option));
    EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
    EXPECT_THAT(warning_codes(), Contains("run-failed"));
  }
}

// Acts as Ctrl-Z: the program has a session of its own and goes on.
TEST_F(ExecProgram, DoesNotCountARunDuringWhichItWasStopped) {
  Program program(request({"--silence", "2", "--variant", "p2p", "--rounds", "1"},
                          {"sh", "-c", "touch begun; sleep 0.5"}));
  const Outcome outcome = with_status(6, finish_stopped(program, 4.0));
  EXPECT_THAT(outcome.error, HasSubstr("linkgain itself"));
  EXPECT_THAT(warning_codes(), Contains("run-failed"));
}

TEST_F(ExecProgram, HasTheTimeOfAProgramThatEndedWhileItWasStopped) {
  Program program(request(kOnce, {"sh", "-c", "touch begun; sleep 0.2"}));
  EXPECT_EQ(finish_stopped(program, 1.0).status, 0);
  EXPECT_LT(case_named("exec/time").at("variants")[0].at("time_s"), 0.8);
}

TEST_F(ExecProgram, SilenceCountsFromTheLastOutput) {
  with_status(0, run({"--silence", "20", "--variant", "p2p", "--rounds", "1"},
                     {"sh", "-c", "for i in 1 2 3; do echo .; sleep 0.1; done"}));
}

/// Allows for failed runs that were the slow ones.
TEST_F(ExecProgram, IsNotCheckedByTheRunsThatAreLeft) {
  const Words options{"--rounds",  "4",     "--ci-width", "50%",
                      "--variant", "a:V=1", "--variant",  "b:V=2"};
  ASSERT_EQ(run(options, {"sh", "-c", "sleep 0.05; [ {variant}{round} != b9 ]"}).status, 0);
  const auto judge = [&](const Words& words) { return run_linkgain(folder_, words); };
  ASSERT_EQ(judge({"baseline", "out", "-o", "base.json"}).status, 0);
  EXPECT_EQ(run(options, {"sh", "-c", "sleep 0.05; [ {variant}{round} != b2 ]"}).status, 6);
  const Outcome checked =
      with_status(1, judge({"check", "out", "--baseline", "base.json", "--tolerance", "90%"}));
  EXPECT_THAT(checked.output, HasSubstr("1 of 4 failed"));
}

class InterruptedExec : public ExecProgram, public testing::WithParamInterface<int> {};

TEST_P(InterruptedExec, KeepsWhatWasMeasured) {
  Program program(request({"--rounds", "50", "--cleanup", "echo cleaned >> cleaned"},
                          {"sh", "-c", "[ {round} -lt 3 ] || exec sleep 1000"}));
  ASSERT_TRUE(comes_true([&] { return !program.processes_named("sleep").empty(); }, 60.0));
  program.signal(GetParam());
  const Outcome outcome = with_status(128 + GetParam(), program.finish(30.0));
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
  EXPECT_EQ(record().at("status"), "interrupted");
  EXPECT_EQ(record().at("exit_code"), 128 + GetParam());
  // Two of the variant that comes to its third run first; of the other one none to two.
  const std::size_t kept = record().at("samples").at("case").size();
  EXPECT_THAT(kept, AllOf(Ge(2U), Le(4U)));
  EXPECT_EQ(lines_of(read_text(folder_ / "cleaned")).size(), kept + 1);
  EXPECT_THAT(outcome.output, HasSubstr("interrupted"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "report.md"));
}

INSTANTIATE_TEST_SUITE_P(Signals, InterruptedExec, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST_F(ExecProgram, KeepsARunWhoseCleanupIsInterruptedAndLetsThatEnd) {
  Program program(
      request({"--rounds", "50", "--cleanup", "touch cleaning; sleep 1.5; echo cleaned >> cleaned"},
              {"true"}));
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(folder_ / "cleaning"); }, 60.0));
  program.signal(SIGINT);
  with_status(128 + SIGINT, program.finish(30.0));
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
  EXPECT_THAT(record().at("samples").at("case"), SizeIs(1));
  EXPECT_EQ(read_text(folder_ / "cleaned"), "cleaned\n");
}

TEST_F(ExecProgram, ThatIsKilledLeavesAJournalAndNothingElse) {
  write_script("train",
               "#!/bin/sh\n[ $1 -lt 3 ] && exit\ntrap 'echo ended >ended; exit' TERM\n"
               "setsid sh -c 'trap : TERM; while :; do sleep 1; done' &\n"
               "echo >begun; wait\n");
  Program program(request({"--rounds", "50"}, {"./train", "{round}"}));
  ASSERT_TRUE(comes_true([&] { return exists(folder_ / "begun"); }, 60.0));
  program.signal(SIGKILL);
  program.finish(30.0);
  EXPECT_TRUE(comes_true([&] { return program.processes().empty(); }, 30.0)) << "left behind";
  EXPECT_EQ(read_text(folder_ / "ended"), "ended\n");
  const Outcome report = with_status(0, run_linkgain(folder_, {"report", "out"}));
  EXPECT_THAT(report.output, HasSubstr("| p2p "));
  EXPECT_THAT(report.output, HasSubstr("unfinished"));
}

TEST_F(ExecProgram, WhatCannotStartIsRefusedBeforeAnything) {
  Situations said;
  const auto refuse = [&](const Words& arguments) {
    const std::string line = line_of("linkgain exec", arguments);
    const Outcome outcome = run_linkgain(folder_, joined({"exec"}, arguments));
    EXPECT_EQ(outcome.status, 2) << line;
    EXPECT_EQ(outcome.output, "");
    said.add(line, outcome.error);
  };
  refuse({});
  refuse({"--"});
  refuse({"sleep", "1"});
  refuse({"sleep 1"});
  refuse({"sh", "-c", "true"});
  refuse({"--rounds", "3", "sh", "-c", "true"});
  refuse({"--rouns", "3", "sh", "-c", "true"});
  refuse({"--", "no-such-program"});
  refuse({"--", "./no-such-program"});
  refuse({"--", "env", "A=1", "nice", "no-such-program"});
  refuse({"--server", "no-such-server", "--ready", "up", "--", "true"});
  refuse({"--preset", "llama.cpp", "m.gguf"});
  refuse({"--rounds", "0", "--", "true"});
  refuse({"--rounds", "x", "--", "true"});
  refuse({"--warm-up", "-1", "--", "true"});
  refuse({"--timeout", "0", "--", "true"});
  refuse({"--metric-use", "mean", "--", "true"});
  refuse({"--metrics", "x", "--", "true"});
  refuse({"--gpus", "0,1", "--", "true"});
  refuse({"--metric", "a (.)", "--higher-is-better=b", "--", "true"});
  refuse({"--metric", "a (.)", "--unit", "b=s", "--", "true"});
  refuse({"--metric", "a (.)", "--unit", "", "--", "true"});
  refuse({"--unit", "tok/s", "--", "true"});
  refuse({"--metric", "a (.)", "--higher-is-better", "a", "--", "true", "-x"});
  refuse({"-o", "x", "--", "sh", "-c", "true"});
  refuse({"--launches", "3", "--", "ls", "-l"});
  refuse({"--rounds", "3", "x", "--rouns", "2", "--", "ls", "--launches", "3"});
  said.expect_golden("exec_refusals.txt");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "results")) << "nothing was made";
}

TEST_F(ExecProgram, TakesTheCommandAsItStands) {
  const Outcome outcome = with_status(
      0, run(kOnce, {"printf", "<%s>", "run", "--out", "[a,b]", "--", "-x", "a=b", ""}));
  EXPECT_EQ(log("p2p-1"), "<run><--out><[a,b]><--><-x><a=b><>");
  EXPECT_THAT(outcome.error, HasSubstr("<run>")) << "of a single run the output is shown";
}

TEST_F(ExecProgram, ShowsOutputWhereAskedTo) {
  EXPECT_THAT(run({}, {"echo", "hello"}).error, Not(HasSubstr("hello")));
  EXPECT_THAT(run({"--show-output"}, {"echo", "hello"}).error, HasSubstr("hello"));
  EXPECT_THAT(run({"--show-output"}, {"printf", "no end"}).error, HasSubstr("no end\n["));
}

TEST_F(ExecProgram, DryRunWarnsOfVariablesAsTheRunDoes) {
  const std::vector<std::string> command{"env", "-i", "true"};
  const std::string warning = "so P2P is not switched";
  const Outcome planned = with_status(0, run({"--dry-run"}, command));
  EXPECT_THAT(planned.error, HasSubstr(warning));
  EXPECT_THAT(planned.output, Not(HasSubstr(warning))) << "it can be pasted";
  EXPECT_THAT(run({"--rounds", "1"}, command).error, HasSubstr(warning));
}

TEST_F(ExecProgram, DryRunStartsNothing) {
  const Outcome outcome =
      with_status(0, run({"--dry-run", "--seed", "1", "--prepare", "touch made"},
                         {"sh", "-c", "touch made {round}"}));
  EXPECT_THAT(outcome.output, HasSubstr("NCCL_NVLS_ENABLE=0 NCCL_P2P_DISABLE=1 NCCL_WIN_ENABLE=0 "
                                        "PYTHONUNBUFFERED=1 sh -c 'touch made 2'"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "made"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  // What it prints can be pasted.
  with_status(0, run_program({.arguments = {"sh", "-c", outcome.output},
                              .environment = {},
                              .directory = folder_.path()}));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "made"));
}

TEST_F(ExecProgram, RecordsAreReadByTheOtherCommands) {
  write_script("work",
               "#!/bin/sh\n[ \"$NCCL_P2P_DISABLE\" = 1 ] && n=8 || n=4\nsleep 0.1\n"
               "echo \"cost $n.$1{round}\"\n");
  for (const std::string name : {"before", "after"}) {
    ProgramRequest made =
        linkgain(folder_, {"exec", "--rounds", "4", "--ci-width", "50%", "--out", name, "--label",
                           name, "--metric", "cost ([0-9.]+)", "--quiet", "--", "sh", "./work",
                           name == "before" ? "1{round}" : "2{round}"});
    ASSERT_EQ(run_program(made).status, 0);
  }
  const auto said = [&](Words arguments) {
    ProgramRequest made = linkgain(folder_, std::move(arguments));
    made.environment["LC_ALL"] = "C.UTF-8";
    return run_program(made);
  };
  const Outcome compare = with_status(0, said({"compare", "before", "after"}));
  EXPECT_THAT(compare.output, HasSubstr("command: sh ./work '1{round}' → sh ./work '2{round}'"));
  EXPECT_THAT(compare.output, HasSubstr("cost"));
  EXPECT_THAT(compare.output, Not(HasSubstr("cost        p2p      4.1 s")));
  EXPECT_EQ(said({"baseline", "before", "--output", "baseline.json"}).status, 0);
  const Outcome check = said({"check", "after", "--baseline", "baseline.json"});
  EXPECT_THAT(check.status, testing::AnyOf(0, 1, 7)) << check.error;
  EXPECT_THAT(check.output, HasSubstr("of 4 cases"));
  const Outcome weak = said({"baseline", "before", "--output", "weak.json"});
  EXPECT_THAT(weak.output + weak.error, HasSubstr("linkgain exec --rounds 8,"));
  EXPECT_THAT(said({"list", "."}).output, HasSubstr("exec"));
  const Outcome report = with_status(0, said({"report", "before"}));
  EXPECT_THAT(report.output, HasSubstr("cost"));
  EXPECT_THAT(said({"report", "before", "--format", "csv"}).output, HasSubstr("exec/cost,exec"));
  EXPECT_EQ(said({"fleet", "before", "after"}).status, 7) << "one machine has no peers";
}

/// Variants with libraries of their own: each a library that the loader takes, with NCCL's name and
/// a text that only NCCL has.
class ExecWithLibraries : public ExecProgram {
 protected:
  void SetUp() override {
    if (!is_on_path("python3")) GTEST_SKIP() << "python3 is not installed";
  }

  std::string put_nccl(const std::string& folder, const std::string& version) const {
    Dl_info libm{};
    EXPECT_NE(dladdr(dlsym(RTLD_DEFAULT, "cbrt"), &libm), 0);
    const std::filesystem::path path = folder_ / folder;
    std::filesystem::create_directories(path);
    std::filesystem::copy_file(libm.dli_fname, path / "libnccl.so.2");
    std::ofstream(path / "libnccl.so.2", std::ios::app) << "NCCL version " << version;
    return std::filesystem::canonical(path / "libnccl.so.2").string();
  }

  static Words command(const std::string& library = "libnccl.so.2") {
    return {"python3", "-c", "import ctypes, time; ctypes.CDLL('" + library + "'); time.sleep(1)"};
  }

  Outcome run_two(const std::string& first, const std::string& second, const Words& command) {
    return run(
        {"--rounds", "1", "--variant", "one:nccl=" + first, "--variant", "two:host,nccl=" + second},
        command);
  }
};

TEST_F(ExecWithLibraries, EachVariantLoadsItsOwn) {
  const std::string old = put_nccl("old", "2.27.5+cuda12.9");
  const std::string wheel = put_nccl("wheel/nvidia/nccl/lib", "2.28.9+cuda13.0");
  with_status(0, run_two("old", "wheel", command()));
  const Json settings = record().at("settings");
  EXPECT_EQ(settings.at("variants")[0].at("nccl"), old);
  EXPECT_EQ(settings.at("variants")[1].at("environment").at("NCCL_P2P_DISABLE"), "1");
  const Json software = settings.at("software_in_force");
  EXPECT_EQ(software[0].at("nccl_path"), old);
  EXPECT_EQ(software[0].at("nccl_library"), "2.27.5");
  EXPECT_EQ(software[1].at("nccl_build"), "2.28.9+cuda13.0");
  EXPECT_EQ(record().at("machine").at("software").at("nccl_library"), nullptr) << "not of all";
  EXPECT_THAT(warning_codes(), Not(Contains(testing::StartsWith("exec-nccl"))));
  EXPECT_THAT(result("report.md"), HasSubstr("NCCL: 2.28.9+cuda13.0, " + wheel));

  std::filesystem::rename(folder_ / "out", folder_ / "before");
  EXPECT_EQ(run_two("wheel", "old", command()).status, 0);
  const Outcome compare =
      with_status(0, run_linkgain(folder_, {"compare", "before", "out", "--json"}));
  EXPECT_THAT(compare.output, HasSubstr("\"NCCL with one\""));
  EXPECT_THAT(compare.output, HasSubstr("\"NCCL's file with two\""));
}

TEST_F(ExecWithLibraries, ThatAProgramDoesNotTakeAreToldOfEachVariant) {
  put_nccl("old", "2.27.5+cuda12.9");
  put_nccl("new", "2.28.9+cuda13.0");
  const std::string other = put_nccl("bundled", "2.21.5+cuda12.4");
  with_status(0, run_two("old", "new", command(other)));
  EXPECT_EQ(std::ranges::count(warning_codes(), "exec-nccl-not-replaced"), 2);
}

TEST_F(ExecProgram, SecretsStayOutOfTheRecord) {
  ProgramRequest made = request({"--variant", "p2p", "--variant", "x:MY_TOKEN=hf_secret", "--args",
                                 "x:--token=args_secret", "--prepare", "true --key prepare_secret"},
                                {"sh", "-c", "[ {variant} = p2p ] || [ \"$MY_TOKEN\" = hf_secret ]",
                                 "sh", "--api-key", "sk_secret"});
  made.environment["NCCL_SECRET"] = "nccl_secret";
  with_status(0, run_program(made));
  for (const char* file : {"record.json", "report.md", "report.html", "run.log"}) {
    EXPECT_THAT(read_text(folder_ / "out" / file), Not(HasSubstr("_secret\""))) << file;
  }
  const std::string text = record().dump();
  for (const char* secret : {"sk_secret", "nccl_secret", "args_secret", "prepare_secret"}) {
    EXPECT_THAT(text, Not(HasSubstr(secret)));
  }
}

/// On two H200 of the NVML double; what moves over NVLink is what `traffic` says: "GPU BYTES"
/// lines.
class ExecBesideGpus : public ExecProgram {
 protected:
  Outcome run_moving(const std::string& condition, const Words& options = {}) {
    ProgramRequest made =
        request(options, {"sh", "-c",
                          "[ " + condition +
                              " ] && printf '0 2000000000\\n1 2000000000\\n' >> traffic"
                              "; true"});
    made = on_machine("h200x2", made);
    made.environment["LINKGAIN_NVML_TRAFFIC"] = (folder_ / "traffic").string();
    return run_program(made);
  }
};

TEST_F(ExecBesideGpus, CountersShowWhatTheVariantChanged) {
  const Outcome outcome = with_status(0, run_moving("{variant} = p2p"));
  EXPECT_THAT(outcome.output, HasSubstr("2 x NVIDIA H200"));
  EXPECT_THAT(outcome.output, HasSubstr("4 GB"));
  EXPECT_THAT(outcome.output, HasSubstr("\n  NVLink "));
  const Json runs = record().at("runs");
  ASSERT_EQ(runs.size(), record().at("samples").at("case").size());
  for (const Json& each : runs) {
    const bool p2p = each.at("variant") == "p2p";
    for (const Json& gpu : each.at("evidence").at("gpus")) {
      EXPECT_EQ(gpu.at("traffic").at("nvlink_sent"), p2p ? 2000000000 : 0) << each;
    }
  }
  EXPECT_EQ(case_named("exec/time").at("variants")[0].at("path"), "nvlink");
  EXPECT_EQ(case_named("exec/time").at("variants")[1].at("path"), "unknown");
}

TEST_F(ExecBesideGpus, AVariantWithoutP2pThatUsedNvlinkIsAWrongPath) {
  const Outcome outcome = with_status(5, run_moving("1 = 1"));
  EXPECT_THAT(warning_codes(), testing::IsSupersetOf({"exec-path", "exec-no-change"}));
  EXPECT_THAT(outcome.output, HasSubstr("WRONG PATH"));
  EXPECT_EQ(record().at("exit_code"), 5);
  const auto said = [&](const Words& words) {
    return with_status(0, run_linkgain(folder_, words)).output;
  };
  EXPECT_THAT(said({"list", "."}), HasSubstr("wrong path"));
  EXPECT_THAT(said({"compare", "out", "out"}), HasSubstr("exec-path"));
}

TEST_F(ExecBesideGpus, OneRunOfSeveralOverNvlinkIsAWrongPath) {
  const Outcome outcome = with_status(5, run_moving("{variant} = p2p -o {variant}-{round} = host-2",
                                                    {"--rounds", "3", "--ci-width", "50%"}));
  EXPECT_THAT(warning_codes(), Contains("exec-path"));
  EXPECT_THAT(outcome.output, HasSubstr("up to 4 GB"));
  EXPECT_THAT(outcome.output, HasSubstr("\n  Variant "));
}

TEST_F(ExecBesideGpus, ALevelThatForbidsP2pIsJudgedAsTheSwitchIs) {
  const Words variants{"--variant", "p2p", "--variant", "loc:NCCL_P2P_LEVEL=LOC"};
  const Outcome works = with_status(0, run_moving("-z \"$NCCL_P2P_LEVEL\"", variants));
  EXPECT_THAT(warning_codes(), Not(Contains("exec-no-nvlink")));
  EXPECT_THAT(works.output, HasSubstr("\n  NVLink "));
  with_status(5, run_moving("1 = 1", variants));
  EXPECT_THAT(warning_codes(), testing::IsSupersetOf({"exec-path", "exec-no-change"}));
}

TEST_F(ExecBesideGpus, CountersAreThoseOfTheGpusThatVariantsSee) {
  ProgramRequest made =
      request({"--gpus-of", "p2p:2,3", "--gpus-of", "host:2,3"},
              {"sh", "-c",
               "[ {variant} = p2p ] && printf '2 2000000000\\n3 2000000000\\n' >> traffic; true"});
  made = on_machine("h200x4", made);
  made.environment["LINKGAIN_NVML_TRAFFIC"] = (folder_ / "traffic").string();
  made.environment["CUDA_VISIBLE_DEVICES"] = "0,1";
  const Outcome outcome = with_status(0, run_program(made));
  EXPECT_THAT(warning_codes(), Not(Contains("exec-no-nvlink")));
  EXPECT_THAT(outcome.output, HasSubstr("4 GB"));
}

TEST_F(ExecBesideGpus, WhatANeighbourMovesIsNoWrongPath) {
  std::ofstream(folder_ / "use") << "2 90 4000000:64:python3\n3 90 4000000:64:python3\n";
  ProgramRequest made = request(
      {}, {"sh", "-c",
           "printf '2 2000000000\\n3 2000000000\\n' >> traffic; "
           "[ {variant} = p2p ] && printf '0 2000000000\\n1 2000000000\\n' >> traffic; true"});
  made = on_machine("h200x4", made);
  made.environment["LINKGAIN_NVML_TRAFFIC"] = (folder_ / "traffic").string();
  made.environment["LINKGAIN_NVML_USE"] = (folder_ / "use").string();
  with_status(0, run_program(made));
  EXPECT_THAT(warning_codes(), Contains("exec-neighbours"));
  EXPECT_THAT(warning_codes(), Not(Contains("exec-path")));
}

TEST_F(ExecBesideGpus, SaysThatAProgramUsesNoNvlink) {
  with_status(0, run_moving("1 = 2"));
  EXPECT_THAT(warning_codes(), Contains("exec-no-nvlink"));
}

TEST_F(ExecBesideGpus, TellsWhoHangsBeforeItEndsThem) {
  ProgramRequest made = request({"--silence", "0.5", "--variant", "p2p", "--rounds", "1"},
                                {"sh", "-c", "echo begun; sleep 1000"});
  made = on_machine("h200x2", made);
  const Outcome outcome = with_status(6, run_program(made));
  EXPECT_THAT(outcome.error, HasSubstr("sleep 1000"));
  EXPECT_THAT(log("p2p-1"), HasSubstr("sleep 1000"));
}

TEST_F(ExecProgram, StaysWithinATerminal) {
  for (const unsigned short columns : {std::uint16_t{60}, std::uint16_t{80}}) {
    ProgramRequest made =
        request({}, {"sh", "-c", "echo a; sleep 0.1", "a rather long argument that no line holds"});
    made.environment["LC_ALL"] = "C";
    const auto [written, outcome] =
        run_on_terminal(columns, "exec \"$@\" >\"$tty\" 2>\"$tty\"", made);
    EXPECT_EQ(outcome.status, 0);
    const Screen screen = screen_of(written);
    EXPECT_LE(screen.widest, columns) << written;
    EXPECT_LE(screen.lines.size(), 26U) << written;
    EXPECT_GT(screen.erased, 0) << "a line that is written anew";
    EXPECT_THAT(written, Each(testing::Lt('\x7f')));
  }
}

}  // namespace
}  // namespace linkgain::test
