#include "linkgain/process/exit_clock.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "support/process_support.hpp"

namespace linkgain::test {
namespace {

using namespace std::chrono_literals;
using Clock = ExitClock::Clock;

TEST(ExitClock, KnowsWhenAProgramExitedHoweverLateItIsAsked) {
  const TemporaryFolder folder;
  ExitClock clock;
  Process process(script("sleep 0.1", folder));
  clock.watch(process.id());
  const Clock::time_point start = Clock::now();
  std::this_thread::sleep_for(1s);
  const Clock::time_point exited = clock.exited_or_now();
  EXPECT_GT(exited - start, 50ms);
  EXPECT_LT(exited - start, 800ms);
  EXPECT_EQ(clock.exited_or_now(), exited);
}

TEST(ExitClock, ShowsTheTimeWhileAProgramRuns) {
  const TemporaryFolder folder;
  ExitClock clock;
  const Process process(script("sleep 60", folder));
  const Clock::time_point before = Clock::now();
  EXPECT_GE(clock.exited_or_now(), before) << "none is watched";
  clock.watch(process.id());
  std::this_thread::sleep_for(50ms);
  EXPECT_GE(clock.exited_or_now(), before + 50ms);
}

TEST(ExitClock, LeavesNoProcess) {
  { const ExitClock clock; }
  EXPECT_TRUE(own_children().empty());
}

}  // namespace
}  // namespace linkgain::test
