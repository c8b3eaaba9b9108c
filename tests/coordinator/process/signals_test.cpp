#include "linkgain/process/signals.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <semaphore>
#include <thread>

#include "linkgain/process/process.hpp"

namespace linkgain::test {
namespace {

bool is_readable(int descriptor, int milliseconds = 0) {
  pollfd entry{descriptor, POLLIN, 0};
  return poll(&entry, 1, milliseconds) == 1;
}

/// A thread of the watch takes it.
std::optional<int> sent(const SignalWatch& watch, int signal_number) {
  kill(getpid(), signal_number);
  is_readable(watch.descriptor(), 10000);
  return watch.caught();
}

bool is_blocked(int signal_number) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal_number) == 1;
}

void (*handler_of(int signal_number))(int) {
  struct sigaction action {};
  sigaction(signal_number, nullptr, &action);
  return action.sa_handler;
}

class CaughtSignal : public testing::TestWithParam<int> {};

TEST_P(CaughtSignal, IsNoticedAndStays) {
  const SignalWatch watch;
  EXPECT_EQ(watch.caught(), std::nullopt);
  EXPECT_FALSE(is_readable(watch.descriptor()));
  EXPECT_NO_THROW(watch.throw_if_caught());
  EXPECT_EQ(sent(watch, GetParam()), GetParam());
  EXPECT_TRUE(is_readable(watch.descriptor()));
  for (int look = 0; look < 2; ++look) EXPECT_EQ(watch.caught(), GetParam());
  try {
    watch.throw_if_caught();
    FAIL() << "not thrown";
  } catch (const Interrupted& interrupted) {
    EXPECT_EQ(interrupted.signal_number(), GetParam());
    EXPECT_EQ(interrupted.what(), "interrupted by " + signal_name(GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(Signals, CaughtSignal, testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const auto& instance) { return signal_name(instance.param); });

TEST(SignalWatch, RestoresWhatItFoundAndDropsWhatItCaught) {
  ASSERT_EQ(handler_of(SIGPIPE), SIG_DFL);
  {
    const SignalWatch watch;
    EXPECT_NE(handler_of(SIGINT), SIG_DFL);
    EXPECT_EQ(handler_of(SIGPIPE), SIG_IGN);
    kill(getpid(), SIGINT);
    kill(getpid(), SIGTERM);
  }
  EXPECT_EQ(handler_of(SIGPIPE), SIG_DFL);
  EXPECT_EQ(handler_of(SIGINT), SIG_DFL);
  EXPECT_EQ(handler_of(SIGTERM), SIG_DFL);
  const SignalWatch next;
  EXPECT_EQ(next.caught(), std::nullopt);
  EXPECT_FALSE(is_readable(next.descriptor()));
}

TEST(SignalWatch, NoticesASignalInAThreadThatWasThereBefore) {
  std::binary_semaphore started{0};
  std::jthread other([&](const std::stop_token& stop) {
    started.release();
    while (!stop.stop_requested()) usleep(1000);
  });
  started.acquire();
  const SignalWatch watch;
  pthread_kill(other.native_handle(), SIGTERM);
  EXPECT_TRUE(is_readable(watch.descriptor(), 10000));
  EXPECT_EQ(watch.caught(), SIGTERM);
}

TEST(SignalWatch, NoticesASignalThatWasBlockedBefore) {
  sigset_t hangup;
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &hangup, nullptr);
  {
    const SignalWatch watch;
    EXPECT_EQ(sent(watch, SIGHUP), SIGHUP);
  }
  EXPECT_TRUE(is_blocked(SIGHUP));
  pthread_sigmask(SIG_UNBLOCK, &hangup, nullptr);
}

// GNU timeout sends its signal to the program and to its group: twice at once.
TEST(SignalWatch, NoticesSignalsThatComeAtOnce) {
  const SignalWatch watch;
  for (int times = 0; times < 3; ++times) EXPECT_EQ(sent(watch, SIGTERM), SIGTERM);
  EXPECT_NE(handler_of(SIGTERM), SIG_DFL);
}

// The thread that made it blocks all signals, as one does that is in a write which never returns.
TEST(SignalWatchDeathTest, AnotherSignalEndsAProgramThatDoesNotEnd) {
  for (const int second : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          const SignalWatch watch;
          sigset_t all;
          sigfillset(&all);
          pthread_sigmask(SIG_BLOCK, &all, nullptr);
          if (sent(watch, SIGHUP) != SIGHUP) _exit(1);
          for (int i = 0; i < 1000 && handler_of(second) != SIG_DFL; ++i) usleep(10000);
          kill(getpid(), second);
          pause();
        },
        testing::KilledBySignal(second), "");
  }
}

TEST(SignalWatch, WritingToNobodyIsAnError) {
  const SignalWatch watch;
  Pipe pipe = make_pipe();
  pipe.reading.reset();
  EXPECT_EQ(write(pipe.writing.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
}

TEST(SignalWatch, LeavesAnIgnoredSignalIgnored) {
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGHUP, &ignore, &before);
  {
    const SignalWatch watch;
    kill(getpid(), SIGHUP);
    EXPECT_EQ(watch.caught(), std::nullopt);
    EXPECT_EQ(sent(watch, SIGTERM), SIGTERM);
  }
  sigaction(SIGHUP, &before, nullptr);
}

TEST(Signals, AreNamed) {
  EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signal_name(199), "signal 199");
}

}  // namespace
}  // namespace linkgain::test
