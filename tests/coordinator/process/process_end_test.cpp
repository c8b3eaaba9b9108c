#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>

#include "linkgain/process/process.hpp"
#include "linkgain/process/signals.hpp"
#include "support/process_support.hpp"

namespace linkgain {
namespace {

using test::is_alive;
using test::kPlenty;
using test::script;
using testing::IsEmpty;

class ProcessEndTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(test::own_children(), IsEmpty()); }

  test::TemporaryFolder folder_;
  SignalWatch watch_;
};

TEST_F(ProcessEndTest, AskingIsEnoughForAProgramThatListens) {
  Process process(
      script("trap 'echo asked >&2; exit 0' TERM; echo ready;"
             "while :; do sleep 0.05; done",
             folder_));
  process.read_line(kPlenty);
  EXPECT_THAT(process.end_tree(kPlenty), IsEmpty());
  EXPECT_EQ(process.wait(Seconds{0})->status, 0);
  EXPECT_EQ(test::read_file(folder_.path() / "error.log"), "asked\n");
}

TEST_F(ProcessEndTest, AProgramThatIgnoresTheRequestIsKilledAfterTheGracePeriod) {
  Process process(script("trap '' TERM; echo ready; while :; do sleep 1000; done", folder_));
  process.read_line(kPlenty);
  const double waited = test::seconds_of([&] { process.end_tree(Seconds{0.3}); });
  EXPECT_GE(waited, 0.3);
  EXPECT_LT(waited, 2.0);
  EXPECT_EQ(process.wait(Seconds{0})->signal_number, SIGKILL);
}

TEST_F(ProcessEndTest, AStoppedGrandchildInAnotherSessionGoesToo) {
  Process process(script("setsid sh -c 'echo $$; kill -STOP $$; sleep 1000' & wait", folder_));
  const pid_t grandchild = test::read_id(process);
  ASSERT_TRUE(is_alive(grandchild));
  ASSERT_NE(getpgid(grandchild), getpgid(process.id()));
  EXPECT_THAT(process.end_tree(Seconds{1}), IsEmpty());
  EXPECT_FALSE(is_alive(grandchild));
}

TEST_F(ProcessEndTest, AStoppedProgramGoes) {
  Process process(script("echo ready; kill -STOP $$; sleep 1000", folder_));
  process.read_line(kPlenty);
  EXPECT_LT(test::seconds_of([&] { process.end_tree(kPlenty); }), 5.0);
  EXPECT_EQ(process.wait(Seconds{0})->signal_number, SIGTERM);
}

TEST_F(ProcessEndTest, OrphansOfAnEndedProgramGoToo) {
  Process process(
      script("setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000; :' & exit 0", folder_));
  const pid_t orphan = test::read_id(process);
  ASSERT_TRUE(process.wait(kPlenty));
  ASSERT_TRUE(is_alive(orphan));
  EXPECT_THAT(process.end_tree(Seconds{0}), IsEmpty());
  EXPECT_FALSE(is_alive(orphan));
}

TEST_F(ProcessEndTest, ARememberedOrphanWithoutTheMarkerGoesToo) {
  Process process(script("setsid env -i sh -c 'echo $$; sleep 1000; :' & cat", folder_));
  const pid_t orphan = test::read_id(process);
  process.remember_tree();
  kill(process.id(), SIGKILL);
  ASSERT_TRUE(process.wait(kPlenty));
  ASSERT_TRUE(is_alive(orphan));
  EXPECT_THAT(process.end_tree(Seconds{0}), IsEmpty());
  EXPECT_FALSE(is_alive(orphan));
}

TEST_F(ProcessEndTest, ARememberedOrphanThatDiedIsReaped) {
  Process process(
      script("exec 3<&0; setsid cat <&3 & echo $!; exec 3<&-; exec cat > /dev/null", folder_));
  const pid_t orphan = test::read_id(process);
  process.remember_tree();
  kill(process.id(), SIGKILL);
  ASSERT_TRUE(process.wait(kPlenty));
  process.close_input();
  ASSERT_TRUE(test::eventually([&] { return !is_alive(orphan); }));
  EXPECT_THAT(test::own_children(), testing::ElementsAre(orphan));
  EXPECT_THAT(process.end_tree(Seconds{0}), IsEmpty());
}

TEST_F(ProcessEndTest, AnOrphanThatDiedUnseenIsReaped) {
  Process process(script("(sh -c 'exec > /dev/null; sleep 0.1' & echo $!)", folder_));
  const pid_t orphan = test::read_id(process);
  ASSERT_TRUE(process.wait(kPlenty));
  ASSERT_TRUE(test::eventually([&] { return !is_alive(orphan); }));
  EXPECT_THAT(test::own_children(), testing::Contains(orphan));
  EXPECT_THAT(process.end_tree(Seconds{0}), IsEmpty());
}

TEST_F(ProcessEndTest, EndingOneJobLeavesTheOtherAlone) {
  const std::string job = "setsid sh -c 'echo $$; sleep 1000; :' & cat";
  Process first(script(job, folder_));
  Process second(script(job, folder_));
  const pid_t of_first = test::read_id(first);
  const pid_t of_second = test::read_id(second);
  first.end_tree(Seconds{1});
  EXPECT_FALSE(is_alive(of_first));
  EXPECT_TRUE(is_alive(of_second));
  EXPECT_EQ(second.write_line("still there", kPlenty), Transfer::done);
  EXPECT_EQ(second.read_line(kPlenty).line, "still there");
  second.end_tree(Seconds{1});
  EXPECT_FALSE(is_alive(of_second));
}

TEST_F(ProcessEndTest, TheDestructorEndsEverything) {
  auto process = std::make_unique<Process>(
      script("setsid sh -c 'echo $$; kill -STOP $$; sleep 1000' & echo $$; wait", folder_));
  const pid_t one = test::read_id(*process);
  const pid_t other = test::read_id(*process);
  process.reset();
  EXPECT_FALSE(is_alive(one));
  EXPECT_FALSE(is_alive(other));
}

TEST_F(ProcessEndTest, EndingTwiceIsHarmless) {
  Process process(script("sleep 1000", folder_));
  EXPECT_THAT(process.end_tree(Seconds{1}), IsEmpty());
  EXPECT_THAT(process.end_tree(Seconds{1}), IsEmpty());
  EXPECT_EQ(process.write_line("x", kPlenty), Transfer::ended);
  EXPECT_EQ(process.read_line(kPlenty).outcome, Transfer::ended);
}

}  // namespace
}  // namespace linkgain
