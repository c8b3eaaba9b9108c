#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "linkgain/jobs/job.hpp"
#include "linkgain/jobs/launcher.hpp"
#include "linkgain/telemetry/host.hpp"
#include "support/process_support.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::Each;
using testing::IsEmpty;

/// The real mpirun with a shell for a worker.
class MpirunTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_program("mpirun", current_environment())) GTEST_SKIP() << "no mpirun on PATH";
  }
  void TearDown() override { EXPECT_THAT(own_children(), IsEmpty()); }

  ProcessRequest shell(const std::string& text, const Environment& variant = {}) const {
    LaunchRequest launch;
    launch.worker = "/bin/sh";
    launch.worker_arguments = {"-c", text};
    launch.variant_environment = variant;
    launch.as_root = geteuid() == 0;
    launch.cores = usable_cores();
    return process_request(launch, folder_ / "error.log");
  }

  static std::vector<pid_t> read_ranks(Process& process) {
    std::vector<pid_t> ranks;
    for (int rank = 0; rank < 2; ++rank) ranks.push_back(read_id(process));
    return ranks;
  }

  ScratchFolder folder_;
  SignalWatch watch_;
};

TEST_F(MpirunTest, EndingTheTreeLeavesNothing) {
  Process process(shell("echo $$; sleep 1000; :"));
  const std::vector<pid_t> ranks = read_ranks(process);
  EXPECT_THAT(ranks, Each(testing::Truly(is_alive))) << folder_.path();
  EXPECT_THAT(process.end_tree(Seconds{5}), IsEmpty());
  EXPECT_THAT(ranks, Each(testing::Not(testing::Truly(is_alive))));
}

TEST_F(MpirunTest, StoppedAndStubbornRanksGoToo) {
  Process process(
      shell("trap '' TERM; echo $$; test $OMPI_COMM_WORLD_RANK = 0 || kill -STOP $$;"
            "while :; do sleep 1000; done"));
  const std::vector<pid_t> ranks = read_ranks(process);
  EXPECT_THAT(process.end_tree(Seconds{5}), IsEmpty());
  EXPECT_THAT(ranks, Each(testing::Not(testing::Truly(is_alive))));
}

TEST_F(MpirunTest, RanksOfAKilledMpirunGoToo) {
  Process process(shell("trap '' TERM HUP; echo $$; while :; do sleep 1000; done"));
  const std::vector<pid_t> ranks = read_ranks(process);
  kill(process.id(), SIGKILL);
  EXPECT_EQ(process.read_line(kPlenty).outcome, Transfer::ended);
  EXPECT_THAT(process.end_tree(Seconds{1}), IsEmpty());
  EXPECT_THAT(ranks, Each(testing::Not(testing::Truly(is_alive))));
}

TEST_F(MpirunTest, TwoJobsDoNotTouchEachOther) {
  Process first(shell("echo $$; cat; sleep 1000; :"));
  Process second(shell("echo $$; cat; :"));
  const std::vector<pid_t> of_first = read_ranks(first);
  const std::vector<pid_t> of_second = read_ranks(second);
  first.end_tree(Seconds{5});
  EXPECT_THAT(of_first, Each(testing::Not(testing::Truly(is_alive))));
  EXPECT_EQ(second.write_line("still there", kPlenty), Transfer::done);
  EXPECT_EQ(second.read_line(kPlenty).line, "still there");
  second.close_input();
  EXPECT_EQ(second.wait(kPlenty)->status, 0);
}

TEST_F(MpirunTest, VariablesReachTheRanks) {
  Process process(
      shell(R"(echo "$LINKGAIN_A|${LINKGAIN_B-unset}|$OMPI_MCA_pml")",
            {{"LINKGAIN_A", "two words"}, {"LINKGAIN_B", ""}, {"OMPI_MCA_pml", "ob1"}}));
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(process.read_line(kPlenty).line, "two words||ob1");
  }
  EXPECT_EQ(process.wait(kPlenty)->status, 0);
}

TEST_F(MpirunTest, ADyingRankEndsTheJobAndIsHeard) {
  const std::string worker =
      "test $OMPI_COMM_WORLD_RANK = 1 || sleep 1000; echo out of luck >&2; exit 3";
  LaunchedJob job("host", shell(worker), &watch_);
  const std::string said = refusal_of<JobLost>([&] { job.hello(kPlenty); });
  EXPECT_THAT(said, testing::HasSubstr("exit status 3"));
  EXPECT_THAT(said, testing::HasSubstr("\n  out of luck"));
}

}  // namespace
}  // namespace linkgain::test
