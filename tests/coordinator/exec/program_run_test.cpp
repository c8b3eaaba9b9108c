#include "linkgain/exec/program_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "support/process_support.hpp"
#include "support/scoped_environment.hpp"
#include "support/situations.hpp"

/// Real runs of shell scripts, one for each call.
namespace linkgain::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class ProgramRun : public ::testing::Test {
 protected:
  /// Runs the script once, as a variant p2p.
  RunReport run(const std::string& script) { return run_words({"/bin/sh", "-c", script}); }

  RunReport run_words(const std::vector<std::string>& command) {
    options_.command = command;
    options_.variants = {"p2p"};
    const ExecPlan plan = make_exec_plan(options_, current_environment());
    const SignalWatch watch;
    const RunSurroundings surroundings{
        [this](const std::string& name) { return folder_.path() / name; },
        [this](const std::string& name) {
          return NcclLogFiles{.folder = folder_.path(),
                              .prefix = "nccl-" + name + ".",
                              .pattern = (folder_.path() / ("nccl-" + name + ".log")).string()};
        },
        current_environment(), options_.show_output};
    ProgramRunner runner(plan, surroundings, watch);
    return runner.run({}, [this] { tick(); });
  }

  /// Runs the script with a server, which is ready once it says so.
  RunReport run_with_server(const std::string& server, const std::string& script) {
    options_.server = "/bin/sh -c '" + server + "'";
    options_.ready = "ready";
    return run(script);
  }

  void tick() {
    ++ticks_;
    if (signal_ != 0) kill(getpid(), signal_);
  }

  /// Says why a run does not count, and where its end is shown.
  static std::string said_of(const RunReport& report) {
    std::string said = report.failure.value_or("it counts") + "\n";
    for (const std::string& line : report.last_lines) said += "| " + line + "\n";
    return said + "in " + report.log.filename().string();
  }

  std::string trace() const { return read_text(folder_.path() / "trace"); }

  /// Returns a command that leaves its mark.
  std::string mark(const std::string& text) const {
    return "echo " + text + " >> " + (folder_.path() / "trace").string();
  }

  ScratchFolder folder_;
  ExecOptions options_;
  int ticks_ = 0;
  int signal_ = 0;  ///< sent to this process at each tick
};

TEST_F(ProgramRun, HasItsTimeAndWhatItPrinted) {
  options_.metrics = {"loss=([0-9.]+)"};
  options_.step = "step";
  const RunReport report = run("echo step loss=0.5; sleep 0.1; echo step loss=0.25 >&2");
  EXPECT_EQ(report.failure, std::nullopt);
  EXPECT_THAT(report.values,
              UnorderedElementsAre(Key("time"), Key("loss"), Key("step"), Key("start-up")));
  EXPECT_THAT(report.values.at("loss").samples, ElementsAre(0.25));
  EXPECT_GE(report.values.at("time").samples.at(0), 0.1);
  EXPECT_THAT(report.last_lines, ElementsAre("step loss=0.5", "step loss=0.25"));
  EXPECT_EQ(read_text(report.log), "step loss=0.5\nstep loss=0.25\n");
  EXPECT_EQ(report.log.filename(), "p2p-1.log");
  EXPECT_FALSE(report.lines_shown);
  EXPECT_THAT(report.hang, IsEmpty());
  EXPECT_THAT(report.notes, IsEmpty());
}

/// Writes 20 MB, a server before it is ready.
TEST_F(ProgramRun, KeepsBothEndsOfALongLog) {
  const std::string line = std::string(999, 'y') + "\n";
  const std::string flood = "yes " + line.substr(0, 999) + " | head -n 20000; ";
  const auto expect_ends = [&](const std::string& name, const std::string& last) {
    const std::string log = read_text(folder_.path() / name);
    EXPECT_LE(log.size(), std::size_t{16} << 20) << name;
    EXPECT_TRUE(log.starts_with("begin\n" + line)) << name;
    EXPECT_THAT(log.substr(log.size() - 20), testing::EndsWith(last)) << name;
    EXPECT_THAT(log.substr(log.find("\nlinkgain: ") + 1, 50),
                testing::ContainsRegex("^linkgain: [0-9]+ MiB of output"))
        << name;
  };
  const RunReport report = run("echo begin; " + flood + "echo end");
  EXPECT_EQ(report.failure, std::nullopt);
  expect_ends("p2p-1.log", "yyyy\nend\n");
  const std::string ended = (folder_.path() / "ended").string();
  const RunReport served =
      run_with_server("echo begin; " + flood + "echo ready; sleep 1.2; echo end; touch " + ended +
                          "; exec sleep 60",
                      "until [ -e " + ended + " ]; do sleep 0.1; done; sleep 1; echo asked");
  EXPECT_EQ(served.failure, std::nullopt);
  expect_ends("p2p-1.server.log", "yyyy\nready\nend\n");
}

TEST_F(ProgramRun, TicksAboutOnceASecond) {
  const RunReport report = run("sleep 1.2");
  EXPECT_GE(ticks_, 1);
  EXPECT_LE(ticks_, report.values.at("time").samples.at(0));
  ticks_ = 0;
  const RunReport served = run_with_server("sleep 1.2; echo ready; sleep 60", "true");
  EXPECT_GE(ticks_, 1) << "while its server starts";
  EXPECT_LE(ticks_, served.values.at("start-up").samples.at(0));
}

TEST_F(ProgramRun, IsSurroundedByItsShellCommands) {
  options_.prepare = mark("before {variant} {round}");
  options_.cleanup = mark("after");
  EXPECT_EQ(run(mark("amid")).failure, std::nullopt);
  EXPECT_EQ(trace(), "before p2p 1\namid\nafter\n");
  std::filesystem::remove(folder_.path() / "trace");
  run(mark("amid") + "; exit 3");
  EXPECT_EQ(trace(), "before p2p 1\namid\nafter\n") << "after a failure";
}

TEST_F(ProgramRun, StartsNothingWhereWhatComesBeforeFails) {
  options_.prepare = "exit 4";
  options_.cleanup = mark("after");
  const RunReport report = run(mark("amid"));
  EXPECT_THAT(report.failure.value_or(""), HasSubstr("exit status 4"));
  EXPECT_EQ(trace(), "after\n");
  EXPECT_THAT(report.values, IsEmpty());
}

TEST_F(ProgramRun, ThatFailedSaysWhy) {
  Situations said;
  const auto add = [&](const std::string& situation, const RunReport& report) {
    said.add(situation, said_of(report));
    EXPECT_THAT(report.values, IsEmpty()) << situation;
    options_ = {};
    for (const char* log : {"p2p-1.log", "p2p-1.server.log"}) {
      std::filesystem::remove(folder_.path() / log);
    }
  };
  add("it exits with 3", run("echo out; exit 3"));
  add("a signal ends it", run("kill -KILL $$"));
  add("it leaves work behind", run("echo out; sleep 60 & sleep 60 & sleep 0.1"));
  options_.prepare = "echo no; exit 4";
  add("what comes before fails", run("true"));
  options_.cleanup = "exit 5";
  add("what comes after fails", run("true"));
  options_.cleanup = "exit 5";
  add("it fails, and what comes after, too", run("exit 3"));
  options_.timeout = Seconds{1.0};
  add("it takes too long", run("echo begun; sleep 60"));
  options_.timeout = Seconds{1.0};
  options_.prepare = "sleep 60";
  add("what comes before takes too long", run("true"));
  options_.timeout = Seconds{1.0};
  options_.cleanup = "sleep 60";
  add("what comes after takes too long", run("true"));
  options_.silence = Seconds{1.0};
  add("it falls silent", run("echo begun; sleep 60"));
  add("its server ends before it is ready", run_with_server("echo no port; exit 2", "true"));
  options_.ready_timeout = Seconds{1.0};
  add("its server is never ready", run_with_server("echo wait; sleep 60", "true"));
  add("its server ends under it", run_with_server("echo ready; sleep 0.3; exit 6", "sleep 60"));
  said.expect_golden("runs_that_failed.txt");
}

TEST_F(ProgramRun, IsToldWhoHangsWhereItPassedALimit) {
  options_.timeout = Seconds{0.3};
  const RunReport report = run("sleep 60");
  EXPECT_THAT(report.hang, Not(IsEmpty()));
  EXPECT_THAT(read_text(report.log), HasSubstr("linkgain: " + report.hang.front()));
  options_.prepare = "exec sleep 50";
  EXPECT_THAT(run("true").hang, Contains(HasSubstr("sleep 50")));
}

TEST_F(ProgramRun, LeavesNothingBehind) {
  const RunReport report = run("sleep 60 & echo $!");
  EXPECT_THAT(report.failure.value_or(""), HasSubstr(": sleep"));
  EXPECT_THAT(report.advice, HasSubstr("--server"));
  EXPECT_THAT(report.values, IsEmpty());
  EXPECT_FALSE(is_alive(std::stoi(report.last_lines.at(0))));
  run_with_server("echo $$ > " + (folder_.path() / "trace").string() + "; echo ready; sleep 60",
                  "true");
  EXPECT_FALSE(is_alive(std::stoi(trace())));
  EXPECT_THAT(own_children(), IsEmpty());
}

// Allows what cleans up after Python's processes: it ends by itself, once its program has.
TEST_F(ProgramRun, MayHaveAHelperThatEndsWithIt) {
  const RunReport report = run("(while kill -0 $$; do sleep 0.005; done) 2> /dev/null & sleep 0.5");
  EXPECT_EQ(report.failure, std::nullopt);
}

// Prints a thousand lines at once, each of which takes half a millisecond to search.
TEST_F(ProgramRun, DoesNotWaitForTheSearchOfItsOutput) {
  options_.metrics = {"loss (?:(?:a+)+)$|loss ([0-9.]+)"};
  const auto start = std::chrono::steady_clock::now();
  const RunReport report = run("yes 'loss aaaaaaaaaaaaaaaab' | head -n 1000; echo loss 7");
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  EXPECT_THAT(report.values.at("loss").samples, ElementsAre(7.0));
  EXPECT_LT(report.values.at("time").samples.at(0), 0.5 * all.count());
  EXPECT_GT(report.evidence.cost_s, report.values.at("time").samples.at(0)) << "it is told";
}

// Hides the token of a variable, and of a word in the command.
TEST_F(ProgramRun, SaysNoSecretThatItsCommandWasGiven) {
  options_.metrics = {"cost=(.*)"};
  const test::ScopedEnvironment token("MY_TOKEN", "s3cr3t-of-variable");
  const RunReport report =
      run(": --token 's3cr3t-of-word'; echo got $MY_TOKEN s3cr3t-of-word; "
          "echo cost=$MY_TOKEN; exit 3");
  EXPECT_THAT(report.last_lines, ElementsAre("got *** ***", "cost=***"));
  EXPECT_THAT(read_text(report.log), HasSubstr("got s3cr3t")) << "the log is the program's own";
}

TEST_F(ProgramRun, HasTheTimeUntilItsServerWasReady) {
  const RunReport report = run_with_server("sleep 0.2; printf \"ready> \"; sleep 60", "true");
  EXPECT_EQ(report.failure, std::nullopt) << "a prompt has no end of line";
  EXPECT_GE(report.values.at("start-up").samples.at(0), 0.2);
  EXPECT_EQ(read_text(folder_.path() / "p2p-1.server.log"), "ready> ");
}

TEST_F(ProgramRun, IsShownWhereThatIsAskedFor) {
  options_.show_output = true;
  ::testing::internal::CaptureStderr();
  const RunReport report = run("printf first; sleep 0.1; printf ' last'");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "first last\n") << "the line is ended";
  EXPECT_TRUE(report.lines_shown);
}

TEST_F(ProgramRun, WithoutALogFails) {
  std::filesystem::create_directory(folder_.path() / "p2p-1.log");
  const RunReport report = run(mark("amid"));
  EXPECT_THAT(report.failure.value_or(""), HasSubstr("p2p-1.log"));
  EXPECT_EQ(trace(), "") << "it was not started";
  options_.prepare = "true";
  EXPECT_THAT(run("true").failure.value_or(""), HasSubstr("p2p-1.log"));
}

TEST_F(ProgramRun, InterruptedEndsAfterTheCleanup) {
  signal_ = SIGTERM;
  options_.cleanup = mark("after");
  EXPECT_THROW(run("sleep 60"), Interrupted);
  EXPECT_EQ(trace(), "after\n");
  EXPECT_THROW(run_with_server("sleep 60", "true"), Interrupted);
  EXPECT_EQ(trace(), "after\nafter\n");
  EXPECT_THAT(own_children(), IsEmpty());
}

TEST_F(ProgramRun, InterruptedInTheCleanupCounts) {
  options_.cleanup = "kill -TERM " + std::to_string(getpid()) + "; sleep 0.3; " + mark("after");
  const RunReport report = run("true");
  EXPECT_EQ(report.failure, std::nullopt);
  EXPECT_THAT(report.values, Contains(Key("time")));
  EXPECT_EQ(trace(), "after\n");
  options_.prepare = options_.cleanup;
  options_.cleanup = mark("last");
  EXPECT_THROW(run(mark("amid")), Interrupted) << "nothing was measured that could be lost";
  EXPECT_THAT(trace(), Not(HasSubstr("amid")));
}

TEST_F(ProgramRun, WhoseCleanupIsCutShortByAnInterruptCounts) {
  options_.cleanup = "kill -TERM " + std::to_string(getpid()) + "; sleep 60";
  const RunReport report = run("true");
  EXPECT_EQ(report.failure, std::nullopt);
  EXPECT_THAT(report.values, Contains(Key("time")));
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("after SIGTERM")));
  EXPECT_THAT(own_children(), IsEmpty());
}

constexpr const char* kConnections =
    "echo 'a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM' >> ";

TEST_F(ProgramRun, ReadsNcclsLog) {
  const RunReport report = run(kConnections + std::string("\"$NCCL_DEBUG_FILE\""));
  EXPECT_THAT(report.evidence.connections, ElementsAre(NcclConnection{"P2P/CUMEM", 0, 1}));
  EXPECT_EQ(report.evidence.connections_reason, "");
  EXPECT_EQ(run("true").evidence.connections, report.evidence.connections) << "of the same name";
}

TEST_F(ProgramRun, SaysWhatLetsNcclsLogOutOfAContainer) {
  const std::filesystem::path docker = folder_.path() / "docker";
  std::ofstream(docker) << "#!/bin/sh\ntrue\n";
  std::filesystem::permissions(docker, std::filesystem::perms::owner_all);
  const RunReport report = run_words({docker.string(), "run", "image", "train"});
  EXPECT_NE(report.evidence.connections_reason, "");
  for (const std::string& part : {std::string("NCCL_DEBUG_FILE"), folder_.path().string()}) {
    EXPECT_THAT(report.missing_logs, ElementsAre(HasSubstr(part)));
  }
  const RunReport other = run("true");
  EXPECT_EQ(other.evidence.connections_reason, "") << "it uses no NCCL";
  EXPECT_THAT(other.missing_logs, IsEmpty());
}

TEST_F(ProgramRun, TakesNoPartInALogThatIsTheUsers) {
  const std::string log = (folder_.path() / "own.log").string();
  {
    const ScopedEnvironment own("NCCL_DEBUG_FILE", log);
    const RunReport report = run(kConnections + std::string("\"$NCCL_DEBUG_FILE\""));
    EXPECT_THAT(report.evidence.connections, IsEmpty());
    EXPECT_EQ(report.evidence.connections_reason, "NCCL_DEBUG_FILE is yours");
    EXPECT_TRUE(std::filesystem::exists(log));
  }
  const RunReport report = run("NCCL_DEBUG=INFO test -z \"$NCCL_DEBUG_FILE\"");
  EXPECT_FALSE(report.failure) << "the command's own";
  EXPECT_EQ(report.evidence.connections_reason, "NCCL_DEBUG is yours");
}

TEST_F(ProgramRun, TakesNoPartInALogThatAFileOfNcclsChooses) {
  const std::string conf = (folder_.path() / "nccl.conf").string();
  std::ofstream(conf) << "# ours\nNCCL_DEBUG=WARN\n";
  const ScopedEnvironment named("NCCL_CONF_FILE", conf);
  const RunReport report = run("test -z \"$NCCL_DEBUG_FILE\"");
  EXPECT_FALSE(report.failure);
  EXPECT_EQ(report.evidence.connections_reason, "NCCL_DEBUG in " + conf + " is yours");
}

/// Keeps NCCL's log as NCCL writes it: not by appending.
TEST_F(ProgramRun, BoundsTheLogThatNcclWrites) {
  const RunReport report = run(
      "exec 3>\"$NCCL_DEBUG_FILE\"; head -c 41943040 /dev/zero | tr '\\0' x >&3; echo >&3\n"
      "for i in 1 2 3; do sleep 1; done; test $(du -m \"$NCCL_DEBUG_FILE\" | cut -f1) -lt 16 || "
      "exit 1\n"
      "echo 'vm:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM' >&3\n"
      "echo 'vm:7:7 [0] NCCL INFO Connected all rings' >&3");
  EXPECT_FALSE(report.failure) << "more than 16 MiB while it ran";
  EXPECT_LE(std::filesystem::file_size(folder_.path() / "nccl-p2p-1.log"), 9U << 20);
  EXPECT_THAT(report.evidence.connections, ElementsAre(NcclConnection{"P2P/CUMEM", 0, 1}));
  EXPECT_THAT(report.evidence.algorithms, ElementsAre("rings"));
}

}  // namespace
}  // namespace linkgain::test
