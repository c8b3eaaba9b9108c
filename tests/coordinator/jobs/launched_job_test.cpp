#include <gmock/gmock.h>
#include <sys/mman.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <regex>
#include <thread>

#include "linkgain/base/descriptor.hpp"
#include "linkgain/jobs/job.hpp"
#include "linkgain/jobs/launcher.hpp"
#include "linkgain/telemetry/host.hpp"
#include "support/golden.hpp"
#include "support/process_support.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kBanner = "--------------------------------------------------------------\n";

class LaunchedJobTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(own_children(), IsEmpty()); }

  std::filesystem::path log() const { return folder_ / "error.log"; }

  /// Returns the loss that `work` ends in.
  JobLost lost(const std::function<void()>& work) const {
    try {
      work();
    } catch (const JobLost& loss) {
      return loss;
    }
    throw std::runtime_error("the job was not lost");
  }

  ScratchFolder folder_;
  SignalWatch watch_;
  const std::string done_ = protocol::encode(protocol::Reply(protocol::DoneReply{}));
};

TEST_F(LaunchedJobTest, AnswersUntilItIsToldToGo) {
  const std::string worker = R"(while read -r line; do printf '%s\n' "$1"; done; echo end >&2)";
  LaunchedJob job("p2p", script(worker, folder_, {done_}), &watch_);
  for (int handle = 0; handle < 3; ++handle) EXPECT_NO_THROW(job.close(handle, kPlenty));
  job.shut_down(kPlenty);
  EXPECT_EQ(read_text(log()), "end\n");
}

TEST_F(LaunchedJobTest, AJobThatStaysAfterShutdownIsEnded) {
  const std::string worker = R"(trap '' TERM; read -r line; printf '%s\n' "$1"; sleep 1000; :)";
  LaunchedJob job("p2p", script(worker, folder_, {done_}), &watch_);
  EXPECT_LT(seconds_of([&] { lost([&] { job.shut_down(Seconds{0.3}); }); }), 8.0);
  EXPECT_THAT(own_children(), IsEmpty());
}

/// Tells ranks apart by the number that their launcher gave them.
TEST_F(LaunchedJobTest, AJobThatDoesNotEndWellSaysHow) {
  const std::string answers = R"(read -r line; printf '%s\n' "$1"; )";
  const std::string end_of_input = "while read -r line; do :; done; ";
  const auto said = [&](const std::string& end) {
    std::filesystem::remove(log());
    LaunchedJob job("p2p", script(answers + end, folder_, {done_}), &watch_);
    job.ask_to_end(kPlenty);
    const std::string text = lost([&] { job.wait_for_end(Seconds{0.5}); }).what();
    return std::regex_replace(text, std::regex(R"(\d+\.\d s)"), "0.5 s") + "\n";
  };
  expect_golden(said(end_of_input + "exit 9") +
                    said(end_of_input + "echo over >&2; kill -SEGV $$") + said("sleep 1000; :") +
                    said("PMIX_RANK=1 sleep 1000; :") +
                    said("for i in 3 0; do PMIX_RANK=$i sleep 1000 & done; wait"),
                "jobs_that_end_badly.txt");
}

TEST_F(LaunchedJobTest, TicksEachSecondWhileAnAnswerIsAwaited) {
  const std::string worker = R"(read line; while ! [ -e "$2" ]; do sleep 0.05; done; echo "$1")";
  const std::string second = folder_ / "second";
  int ticks = 0;
  LaunchedJob job("p2p", script(worker, folder_, {done_, second}), &watch_, nullptr, [&] {
    if (++ticks == 2) std::ofstream(second).flush();
  });
  job.close(0, Seconds{30.0});
  EXPECT_EQ(ticks, 2);
}

TEST_F(LaunchedJobTest, ASilentJobIsLostAtItsDeadlineAndGone) {
  std::ofstream(log()) << "of an earlier launch\n";
  LaunchedJob job("host", script("echo stuck >&2; sleep 1000", folder_), &watch_);
  const JobLost loss = lost([&] { job.run({1, 10}, Seconds{0.5}); });
  EXPECT_THAT(loss.what(), AllOf(HasSubstr("'host'"), HasSubstr("'run'"), HasSubstr("0.5 s")));
  EXPECT_THAT(loss.what(), HasSubstr("\n  stuck"));
  EXPECT_THAT(loss.what(), testing::Not(HasSubstr("earlier")));
  EXPECT_EQ(loss.advice(), "see " + log().string());
  EXPECT_THAT(own_children(), IsEmpty());
}

TEST_F(LaunchedJobTest, AJobThatNeverAnsweredWasAwaitedSinceItsStart) {
  LaunchedJob job("host", script("sleep 1000", folder_), &watch_);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const std::string said = lost([&] { job.hello(Seconds{0.5}); }).what();
  const std::string before = "'hello' for ";
  ASSERT_THAT(said, HasSubstr(before));
  EXPECT_GE(std::stod(said.substr(said.find(before) + before.size())), 1.5) << said;
}

/// Covers a site's own mpirun with a banner, or one that goes on to tell how its node is.
TEST_F(LaunchedJobTest, LinesThatAreNoRepliesArePassedOver) {
  const std::string worker = R"(while seq 150; read -r line; do printf 'Welcome: %s\n' "$1"; done)";
  LaunchedJob job("p2p", script(worker, folder_, {done_}), &watch_);
  for (int handle = 0; handle < 3; ++handle) EXPECT_NO_THROW(job.close(handle, kPlenty));
  job.shut_down(kPlenty);
  LaunchedJob talks("p2p", script(worker, folder_, {done_ + "."}), &watch_);
  EXPECT_THAT(lost([&] { talks.close(1, kPlenty); }).what(), HasSubstr("is not understood"));
}

TEST_F(LaunchedJobTest, LinesThatAreNoRepliesHaveThoseThatWaitReadAfterTheDeadline) {
  const std::string ready = folder_ / "ready";
  const std::string worker = R"(seq 150; echo "$1"; : >"$2"; while read -r line; do :; done)";
  LaunchedJob job("p2p", script(worker, folder_, {done_, ready}), &watch_);
  while (!std::filesystem::exists(ready)) std::this_thread::yield();
  EXPECT_NO_THROW(job.close(1, Seconds{0.0}));
}

/// Prints lines as fast as they are read, or so often that nothing is ever awaited for a second.
TEST_F(LaunchedJobTest, LinesThatAreNoRepliesExtendNoWait) {
  for (const char* worker : {"exec yes", "while echo warn; do sleep 0.03; done"}) {
    int ticks = 0;
    LaunchedJob job("p2p", script(worker, folder_), &watch_, nullptr, [&] { ++ticks; });
    std::string said;
    EXPECT_LT(seconds_of([&] { said = lost([&] { job.verify(1, Seconds{1.5}); }).what(); }), 10.0);
    EXPECT_THAT(said, AllOf(HasSubstr("'verify' for 1.5 s"), HasSubstr("the first: '")));
    EXPECT_GE(ticks, 1);
  }
}

TEST_F(LaunchedJobTest, LinesThatAreNoRepliesAreQuotedWhereNoneComes) {
  LaunchedJob job("p2p",
                  script(R"(printf 'tag: {}\n\033[31mmore\n'; read -r line; sleep 1000)", folder_),
                  &watch_);
  EXPECT_THAT(lost([&] { job.hello(Seconds{0.5}); }).what(),
              AllOf(HasSubstr("2 lines"), HasSubstr("'tag: {}'")));
}

TEST_F(LaunchedJobTest, ALineWithoutEndIsNotKeptForEver) {
  LaunchedJob job("p2p", script("tr '\\0' a </dev/zero", folder_), &watch_);
  EXPECT_THAT(lost([&] { job.hello(Seconds{300.0}); }).what(), HasSubstr("a line without end"));
}

TEST_F(LaunchedJobTest, FolderOfSharedMemoryGoesWithTheJob) {
  auto segments = std::make_unique<TemporaryFolder>(folder_.path());
  const std::filesystem::path path = segments->path();
  std::ofstream(path / "vader_segment") << "x";
  {
    LaunchedJob job("p2p", script("kill -KILL $$", folder_), &watch_, std::move(segments));
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_THAT(lost([&] { job.hello(kPlenty); }).what(), HasSubstr("SIGKILL"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(LaunchedJobTest, ADyingJobTellsItsStatus) {
  LaunchedJob exits("host", script("read -r line; echo no memory >&2; exit 9", folder_), &watch_);
  EXPECT_THAT(lost([&] { exits.hello(kPlenty); }).what(),
              AllOf(HasSubstr("'host'"), HasSubstr("'hello'"), HasSubstr("exit status 9"),
                    HasSubstr("\n  no memory")));
  LaunchedJob killed("host", script("read -r line; kill -SEGV $$", folder_), &watch_);
  EXPECT_THAT(lost([&] { killed.verify(1, kPlenty); }).what(),
              AllOf(HasSubstr("'verify'"), HasSubstr("SIGSEGV")));
}

TEST_F(LaunchedJobTest, ALostJobSaysHow) {
  LaunchedJob silent("host", script("echo stuck >&2; sleep 1000", folder_), &watch_);
  std::string text = lost([&] { silent.run({1, 10}, Seconds{0.5}); }).what();
  LaunchedJob exits("host", script("read -r line; echo no memory >&2; exit 9", folder_), &watch_);
  text += std::string("\n") + lost([&] { exits.hello(kPlenty); }).what() + "\n";
  expect_golden(text, "lost_jobs.txt");
}

/// Starts ranks in turn: one that has begun, by a script too, one that has not, and one that is
/// stopped.
TEST_F(LaunchedJobTest, AJobThatDoesNotStartSaysWhoHasNotCome) {
  const Descriptor memory(::memfd_create("linkgain-rank-1-1", MFD_CLOEXEC));
  const std::string file =
      "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(memory.get());
  const std::string begun =
      R"(PMIX_RANK=0 sh -c 'sleep 1000 9<"$0"; :' "$1" & PMIX_RANK=3 sleep 1000 9<"$1" & )";
  const auto said = [&](const std::string& ranks) {
    LaunchedJob job("host", script(ranks + "wait", folder_, {file}), &watch_);
    const std::string text = lost([&] { job.hello(Seconds{3.0}); }).what();
    return std::regex_replace(text, std::regex(R"(\d+\.\d s)"), "3.0 s") + "\n";
  };
  expect_golden(said("sleep 1000 & ") + said(begun) + said(begun + "PMIX_RANK=1 sleep 1000 & ") +
                    said(begun + "for i in 2 4; do PMIX_RANK=$i sh -c 'kill -STOP $$' & done; "),
                "jobs_that_do_not_start.txt");
}

TEST_F(LaunchedJobTest, ALostJobStaysLost) {
  LaunchedJob job("host", script("exit 5", folder_), &watch_);
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THAT(lost([&] { job.close(1, kPlenty); }).what(), HasSubstr("exit status 5"));
  }
}

TEST_F(LaunchedJobTest, ASignalInterruptsAnExchange) {
  LaunchedJob job("p2p", script("kill -INT $PPID; sleep 1000", folder_), &watch_);
  EXPECT_THROW(job.hello(kPlenty), Interrupted);
}

TEST_F(LaunchedJobTest, ASignalInterruptsAnExchangeInWhichSomethingCanAlwaysBeRead) {
  LaunchedJob job("p2p", script("(sleep 0.5; kill -INT $PPID) & exec yes", folder_), &watch_);
  EXPECT_THROW(job.hello(Seconds{5.0}), Interrupted);
}

TEST_F(LaunchedJobTest, LastWordsAreTheLastOnesSinceTheStart) {
  std::ofstream(log()) << "old\n"
                       << "one\n\n  two\nthree\n";
  EXPECT_THAT(last_words(log(), 4, 2), ElementsAre("  two", "three"));
  EXPECT_THAT(last_words(log(), 4, 9), ElementsAre("one", "  two", "three"));
  EXPECT_THAT(last_words(log(), 100, 9), IsEmpty());
  EXPECT_THAT(last_words(folder_ / "missing", 0, 9), IsEmpty());
}

TEST_F(LaunchedJobTest, LastWordsAreTheWorkersRatherThanTheLaunchers) {
  std::ofstream(log()) << "worker: no GPU\n" << kBanner << "mpirun detected\nmore\n" << kBanner;
  EXPECT_THAT(last_words(log(), 0, 5), ElementsAre("worker: no GPU"));
  const std::string launcher = "There are not enough slots";
  std::ofstream(log()) << kBanner << launcher << "\n" << kBanner;
  EXPECT_THAT(last_words(log(), 0, 5), ElementsAre(launcher));
}

TEST_F(LaunchedJobTest, LastWordsNameTheRankThatFailedRatherThanThoseThatSlurmEnded) {
  const std::string failed = "srun: error: node1: task 1: Exited with exit code 1";
  const std::string ended =
      "srun: launch/slurm: _step_signal: Terminating StepId=4.0\n"
      "slurmstepd-node1: error: *** STEP 4.0 ON node1 CANCELLED AT 2026-11-22T07:17:31 ***\n"
      "srun: error: node1: task 0: Terminated\n"
      "srun: error: node2: tasks 2-3: Terminated\n"
      "srun: Force Terminated StepId=4.0\n";
  std::ofstream(log()) << "worker: no GPU\n" << failed << '\n' << ended;
  EXPECT_THAT(last_words(log(), 0, 5), ElementsAre("worker: no GPU", failed));
  std::ofstream(log()) << ended;
  EXPECT_THAT(last_words(log(), 0, 1), ElementsAre("srun: Force Terminated StepId=4.0"));
}

TEST_F(LaunchedJobTest, LastWordsAreTheRanksWhereTheLauncherCrashes) {
  const std::string said = "linkgain-bench: rank 0: no answer";
  std::ofstream(log()) << said << "\n[vm:11] *** Process received signal ***\n"
                       << "[vm:11] Signal: Segmentation fault (11)\n[vm:11] [ 7] mpirun(+0x1)\n"
                       << "[vm:11] [10] mpirun(+0x2)\n[vm:11] *** End of error message ***\n";
  EXPECT_THAT(last_words(log(), 0, 5), ElementsAre(said));
  std::ofstream(log()) << said << "\none\ntwo\nthree\n";
  EXPECT_THAT(last_words(log(), 0, 3), ElementsAre(said, "two", "three"));
}

TEST_F(LaunchedJobTest, LastWordsOfALongLogAreReadFromItsEnd) {
  std::ofstream file(log());
  for (int line = 0; line < 20000; ++line) file << "line " << line << '\n';
  file.close();
  EXPECT_THAT(last_words(log(), 0, 2), ElementsAre("line 19998", "line 19999"));
}

TEST_F(LaunchedJobTest, ProcessRequestPutsTheLaunchTogether) {
  if (!find_program("mpirun", current_environment())) GTEST_SKIP() << "no mpirun on PATH";
  LaunchRequest launch;
  launch.worker = "/bin/worker";
  launch.variant_environment = {{"NCCL_P2P_DISABLE", "1"}};
  const ProcessRequest request = process_request(launch, log());
  EXPECT_EQ(request.arguments, command(launch));
  EXPECT_EQ(request.environment.at("NCCL_P2P_DISABLE"), "1");
  EXPECT_EQ(request.environment.at("PATH"), current_environment().at("PATH"));
  EXPECT_EQ(request.error_file, log());
}

TEST_F(LaunchedJobTest, ProcessRequestWithoutALauncherIsRefused) {
  LaunchRequest launch;
  launch.launcher = "no-such-launcher";
  EXPECT_THROW(process_request(launch, log()), MachineError);
}

}  // namespace
}  // namespace linkgain::test
