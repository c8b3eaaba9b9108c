#include "linkgain/base/helper_process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace linkgain::test {
namespace {

TEST(HelperProcess, EndsWithItsObject) {
  {
    const HelperProcess helper("linkgain-helper", {}, [] { ::pause(); });
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

/// The program is killed with its process group. The helper sees its end, for it has no other
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
