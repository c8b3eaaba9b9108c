#include <algorithm>
#include <chrono>
#include <csignal>
#include <vector>

#include "harmed_run.hpp"

/// Soaks of seconds.
namespace linkgain::test {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class SoakProgram : public HarmedRun {
 protected:
  Outcome run(const Words& more) const {
    return run_linkgain(
        folder_,
        joined({"run", "--backend", "mpi", "--profile", "soak", "--out", "out", "--quiet"}, more));
  }
};

/// Allows time beside the budget for starting and ending a program under sanitizers, and for the
/// one operation that it is in when the budget ends.
TEST_F(SoakProgram, EndsWithinItsBudgetWithARowForEachLaunch) {
  constexpr double kBudget = 20.0;
  constexpr double kBeside = 8.0;
  const Clock::time_point begin = Clock::now();
  const Outcome outcome = run({"--budget", "20"});
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_LT(took, kBudget + kBeside * slowdown());
  const Json record = read_record(folder_);
  EXPECT_EQ(record.at("status"), "complete");
  EXPECT_EQ(record.at("settings").at("profile"), "soak");
  const std::size_t launches = record.at("launch_begins_s").size();
  EXPECT_TRUE(launches >= 2U || took > kBudget / 2.0) << "a second one fits in, unless all is slow";
  EXPECT_EQ(record.at("settings").at("launches"), launches);
  EXPECT_LT(record.at("launch_begins_s").back(), kBudget);
  EXPECT_FALSE(record.contains("link_errors")) << "no GPU, no counters";
  EXPECT_EQ(run_linkgain(folder_, {"report", "out"}).status, 0);
  EXPECT_THAT(read_text(folder_ / "out" / "report.md"), HasSubstr("## Over time"));
  EXPECT_THAT(read_text(folder_ / "out" / "report.html"), HasSubstr("Over time"));
}

TEST_F(SoakProgram, GoesOnWhereItWasInterrupted) {
  const Outcome ended =
      with_status(128 + SIGINT, run_and_harm(
                                    {"--profile", "soak", "--budget", "8", "--launches", "2"},
                                    [](const Program& program) { program.signal(SIGINT); }, 20.0));
  EXPECT_THAT(ended.error, HasSubstr("linkgain run --resume out"));
  with_status(0, run_linkgain(folder_, {"run", "--resume", "out"}));
  const Json record = read_record(folder_);
  EXPECT_EQ(record.at("status"), "complete");
  const std::vector<double> begins = record.at("launch_begins_s");
  EXPECT_EQ(record.at("settings").at("launches"), begins.size());
  EXPECT_GE(begins.size(), 1U);
  EXPECT_EQ(std::ranges::adjacent_find(begins, std::ranges::greater_equal{}), begins.end())
      << "each begins after the one before";
}

TEST_F(SoakProgram, TakesItsLaunchesAsPlanned) {
  const Outcome plan = with_status(0, run({"--budget", "8h", "--dry-run"}));
  EXPECT_THAT(plan.output, HasSubstr("240 of every variant"));
  const Outcome short_plan = run({"--budget", "20m", "--launches", "7", "--dry-run"});
  EXPECT_THAT(short_plan.output, HasSubstr("7 of every variant"));
}

}  // namespace
}  // namespace linkgain::test
