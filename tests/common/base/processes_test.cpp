#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <vector>

#include "linkgain/base/helper_process.hpp"
#include "linkgain/base/process_entry.hpp"

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

TEST(HelperProcess, EndsWithItsObject) {
  {
    const HelperProcess helper("linkgain-helper", {}, [] { ::pause(); });
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

/// Kills the program with its process group. The helper sees its end, for it has no other
/// descriptors than those that it was given.
TEST(HelperProcess, GoesOnWhereItsProgramIsKilled) {
  int said[2];
  ASSERT_EQ(::pipe(said), 0);
  const pid_t program = ::fork();
  if (program == 0) {
    ::setpgid(0, 0);
    int alive[2];
    if (::pipe(alive) != 0) ::_exit(1);
    const HelperProcess helper("linkgain-helper", {alive[0], said[1]}, [&] {
      char none = 0;
      const bool ended = ::read(alive[0], &none, 1) == 0;
      if (::write(said[1], ended ? "e" : "?", 1) != 1) ::_exit(1);
    });
    ::kill(0, SIGKILL);
  }
  ASSERT_GT(program, 0);
  ::close(said[1]);
  ::waitpid(program, nullptr, 0);
  char word = 0;
  EXPECT_EQ(::read(said[0], &word, 1), 1);
  EXPECT_EQ(word, 'e');
  EXPECT_EQ(::read(said[0], &word, 1), 0) << "it has ended";
  ::close(said[0]);
}

}  // namespace
}  // namespace linkgain::test
