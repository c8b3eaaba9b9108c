#include "linkgain/base/process_entry.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <vector>

namespace linkgain::test {
namespace {

TEST(ProcessEntry, HasANameWithSpacesAndParentheses) {
  const auto process = parse_process(
      "812 (a) Z (b c) T 77 812 813 0 -1 4194304 77 0 0 0 1 2 3 4 20 0 1 0 121821 3133440 418 18");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->id, 812);
  EXPECT_EQ(process->state, 'T');
  EXPECT_EQ(process->parent, 77);
  EXPECT_EQ(process->session, 813);
  EXPECT_EQ(process->worked.value, seconds_of_ticks(1 + 2).value);
  EXPECT_EQ(process->start, 121821U);
}

TEST(ProcessEntry, IsRefusedWhereThereIsNone) {
  for (const char* text : {"", "812", "812 (sh", "812 (sh) S", "x (sh) S 1 2 3"}) {
    EXPECT_FALSE(parse_process(text)) << text;
  }
  EXPECT_FALSE(read_process(0));
}

TEST(ProcessEntry, IsReadOfThisProcess) {
  const auto self = read_process(getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self->id, getpid());
  EXPECT_EQ(self->parent, getppid());
}

TEST(ProcessEntry, HasTheChildrenThatTheKernelLists) {
  EXPECT_EQ(children_of(getpid()), std::vector<pid_t>{});
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  ASSERT_GT(child, 0);
  EXPECT_EQ(children_of(getpid()), std::vector<pid_t>{child});
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(children_of(child), std::nullopt);
}

}  // namespace
}  // namespace linkgain::test
