#include "linkgain/process/job_reaper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>

#include "support/process_support.hpp"

namespace linkgain::test {
namespace {

using testing::IsEmpty;

TEST(JobReaper, EndsWithItsProgram) {
  { const JobReaper reaper(kPlenty); }
  EXPECT_THAT(own_children(), IsEmpty());
}

/// The program is killed with its process group. One job is stopped, one ends with its input, one
/// when it is asked to. What is left of them comes to this program, as the next reaper.
TEST(JobReaper, EndsTheJobsOfAKilledProgramAndRemovesTheirFolder) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const TemporaryFolder folder;
  const std::filesystem::path own = folder.path() / "own";
  const std::filesystem::path stops = own / "stops";
  const std::filesystem::path ends = folder.path() / "ends";
  const std::filesystem::path waits = folder.path() / "waits";
  const std::filesystem::path asked = folder.path() / "asked";
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

/// A program that cleared its environment, and a daemon that did; not what the program has had
/// before, as a shell's job where the shell became the program.
TEST(JobReaper, EndsWhatHasNoMarkInItsEnvironment) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const TemporaryFolder folder;
  const std::filesystem::path daemon = folder.path() / "daemon";
  const std::filesystem::path bare = folder.path() / "bare";
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

/// As in a TMPDIR whose name has a line break: its first line is the name of a folder of others.
TEST(JobReaper, RemovesNoFolderThatItWasNotToldOf) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const TemporaryFolder folder;
  const std::filesystem::path others = folder.path() / "others";
  const std::filesystem::path own = folder.path() / "others\nown";
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

}  // namespace
}  // namespace linkgain::test
