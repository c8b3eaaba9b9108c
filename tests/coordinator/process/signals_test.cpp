#include "linkgain/process/signals.hpp"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <semaphore>

#include "linkgain/process/job_reaper.hpp"
#include "linkgain/process/process.hpp"
#include "support/process_support.hpp"

namespace linkgain::test {
namespace {

using testing::IsEmpty;

bool is_readable(int descriptor, int milliseconds = 0) {
  pollfd entry{descriptor, POLLIN, 0};
  return poll(&entry, 1, milliseconds) == 1;
}

/// Waits for a thread of the watch to take it.
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

// Covers GNU timeout, which sends its signal to the program and to its group: twice at once.
TEST(SignalWatch, NoticesSignalsThatComeAtOnce) {
  const SignalWatch watch;
  for (int times = 0; times < 3; ++times) EXPECT_EQ(sent(watch, SIGTERM), SIGTERM);
  EXPECT_NE(handler_of(SIGTERM), SIG_DFL);
}

// Blocks all signals in the thread that made the watch, as in a write which never returns.
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

TEST(JobReaper, EndsWithItsProgram) {
  { const JobReaper reaper(kPlenty); }
  EXPECT_THAT(own_children(), IsEmpty());
}

/// Kills the program with its process group. One job is stopped, one ends with its input, one when
/// it is asked to. What is left of them comes to this program, as the next reaper.
TEST(JobReaper, EndsTheJobsOfAKilledProgramAndRemovesTheirFolder) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const ScratchFolder folder;
  const std::filesystem::path own = folder / "own";
  const std::filesystem::path stops = own / "stops";
  const std::filesystem::path ends = folder / "ends";
  const std::filesystem::path waits = folder / "waits";
  const std::filesystem::path asked = folder / "asked";
  std::filesystem::create_directory(own);
  const pid_t program = fork();
  if (program == 0) {
    setpgid(0, 0);
    JobReaper reaper(Seconds{0.5}, SIGTERM);
    reaper.remember(own);
    const Process stopped(script("touch $1; kill -STOP $$", folder, {stops}));
    const Process orderly(script("cat; touch $1", folder, {ends}));
    const Process tidy(script("trap 'echo >$1; exit' TERM; echo >$2; while :; do sleep 0.1; done",
                              folder, {asked, waits}));
    eventually([&] { return exists(stops) && exists(waits); });
    kill(0, SIGKILL);
  }
  ASSERT_GT(program, 0);
  EXPECT_TRUE(eventually([] {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return own_children().empty();
  }));
  EXPECT_TRUE(std::filesystem::exists(ends));
  EXPECT_TRUE(std::filesystem::exists(asked));
  EXPECT_FALSE(std::filesystem::exists(own));
}

/// Ends a program that cleared its environment, and a daemon that did; not what the program has had
/// before, as a shell's job where the shell became the program.
TEST(JobReaper, EndsWhatHasNoMarkInItsEnvironment) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const ScratchFolder folder;
  const std::filesystem::path daemon = folder / "daemon";
  const std::filesystem::path bare = folder / "bare";
  const pid_t program = fork();
  if (program == 0) {
    for (const bool own_session : {false, true}) {
      if (fork() != 0) continue;
      if (own_session) setsid();
      pause();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // two ticks of processes' starts
    const JobReaper reaper(Seconds{0.5}, SIGTERM, Unmarked::are_ended);
    const Process job(
        script("(setsid env -i sh -c 'echo >$0; exec sleep 1000' $1 &)\n"
               "exec env -i sh -c 'echo >$0; exec sleep 1000' $2",
               folder, {daemon, bare}));
    eventually([&] { return exists(daemon) && exists(bare); });
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    kill(getpid(), SIGKILL);
  }
  ASSERT_GT(program, 0);
  EXPECT_TRUE(eventually([] {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return own_children().size() == 2;
  }));
  EXPECT_TRUE(std::filesystem::exists(daemon));
  EXPECT_TRUE(std::filesystem::exists(bare));
  EXPECT_FALSE(eventually([] { return own_children().size() != 2; }, Seconds{1.0}));
  for (const pid_t each : own_children()) kill(each, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0) {
  }
}

/// Covers a TMPDIR whose name has a line break: its first line is the name of a folder of others.
TEST(JobReaper, RemovesNoFolderThatItWasNotToldOf) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const ScratchFolder folder;
  const std::filesystem::path others = folder / "others";
  const std::filesystem::path own = folder / "others\nown";
  std::filesystem::create_directory(others);
  std::filesystem::create_directory(own);
  const pid_t program = fork();
  if (program == 0) {
    JobReaper reaper(Seconds{0.5}, SIGTERM);
    reaper.remember(own);
    kill(getpid(), SIGKILL);
  }
  ASSERT_GT(program, 0);
  EXPECT_TRUE(eventually([] {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return own_children().empty();
  }));
  EXPECT_TRUE(std::filesystem::exists(others));
  EXPECT_FALSE(std::filesystem::exists(own));
}

using namespace std::chrono_literals;
using Clock = ExitClock::Clock;

TEST(ExitClock, KnowsWhenAProgramExitedHoweverLateItIsAsked) {
  const ScratchFolder folder;
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
  const ScratchFolder folder;
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
