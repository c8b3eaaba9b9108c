#include "linkgain/process/process.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include "linkgain/base/errors.hpp"
#include "support/process_support.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::IsEmpty;
using testing::StartsWith;

constexpr Seconds kSoon{0.2};

class ProcessTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(own_children(), testing::IsEmpty()); }

  ScratchFolder folder_;
  SignalWatch watch_;  // its presence has SIGPIPE ignored
};

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

TEST_F(ProcessTest, AnswersLineByLine) {
  Process cat({{"cat"}, current_environment(), folder_ / "error.log"});
  for (const std::string line : {"one", "", "three \"quoted\" words"}) {
    EXPECT_EQ(cat.write_line(line, kPlenty), Transfer::done);
    const ReadResult result = cat.read_line(kPlenty);
    EXPECT_EQ(result.outcome, Transfer::done);
    EXPECT_EQ(result.line, line);
  }
  EXPECT_TRUE(cat.running());
  cat.close_input();
  EXPECT_EQ(cat.read_line(kPlenty).outcome, Transfer::ended);
  EXPECT_EQ(cat.wait(kPlenty), (ProcessEnd{.status = 0, .signal_number = {}}));
  EXPECT_FALSE(cat.running());
}

TEST_F(ProcessTest, HandsArgumentsOverUntouched) {
  const std::vector<std::string> odd{"two words", "it's \"quoted\"", "$HOME;`id`|*", "",
                                     "a\\nb\tc"};
  Process process(script(R"(for a in "$@"; do printf '<%s>\n' "$a"; done)", folder_, odd));
  for (const std::string& argument : odd) {
    EXPECT_EQ(process.read_line(kPlenty).line, "<" + argument + ">");
  }
}

TEST_F(ProcessTest, GivesOnlyTheEnvironmentAskedForAndTheMarker) {
  Process process({{"/usr/bin/env"},
                   {{"A", "x=y z"}, {"EMPTY", ""}, {"LINKGAIN_JOB", "old"}},
                   folder_ / "error.log"});
  std::vector<std::string> lines;
  for (auto result = process.read_line(kPlenty); result.outcome == Transfer::done;
       result = process.read_line(kPlenty)) {
    lines.push_back(result.line);
  }
  EXPECT_THAT(lines, testing::UnorderedElementsAre(
                         "A=x=y z", "EMPTY=", testing::MatchesRegex("LINKGAIN_JOB=[0-9]+-.+")));
}

TEST_F(ProcessTest, AppendsStandardErrorToTheFile) {
  for (const std::string word : {"first", "second"}) {
    Process process(script("echo $1 >&2", folder_, {word}));
    process.wait(kPlenty);
  }
  EXPECT_EQ(read_text(folder_ / "error.log"), "first\nsecond\n");
}

TEST_F(ProcessTest, StartsWithDefaultSignalsInASessionOfItsOwn) {
  Process process(
      script("read _ _ _ _ group session _ < /proc/$$/stat; echo $group; echo $session;"
             "grep -E '^Sig(Blk|Ign)' /proc/self/status",
             folder_));
  EXPECT_EQ(read_id(process), process.id());
  EXPECT_EQ(read_id(process), process.id());
  EXPECT_EQ(process.read_line(kPlenty).line, "SigBlk:\t0000000000000000");
  // The C library keeps signals 32 and 33 to itself and ignored.
  EXPECT_THAT(process.read_line(kPlenty).line,
              testing::MatchesRegex("SigIgn:\t0000000[01][08]0000000"));
}

TEST_F(ProcessTest, KeepsOtherDescriptorsToItself) {
  constexpr int kNumber = 50;
  const Descriptor leaky(dup2(STDERR_FILENO, kNumber));
  ASSERT_EQ(fcntl(kNumber, F_GETFD) & FD_CLOEXEC, 0);
  Process process(script("test -e /proc/$$/fd/50 && echo leaked || echo clean", folder_));
  EXPECT_EQ(process.read_line(kPlenty).line, "clean");
}

TEST_F(ProcessTest, LeavesNoDescriptorOpen) {
  const std::size_t before = open_descriptors();
  for (int repeat = 0; repeat < 5; ++repeat) {
    Process process(script("echo hello; cat", folder_));
    process.read_line(kPlenty);
    EXPECT_EQ(open_descriptors(), before + 3);  // two pipes, and what tells of its end
  }
  EXPECT_THROW(Process({{"/no/such/program"}, {}, folder_ / "error.log"}), MachineError);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ProcessTest, ReadsLongLinesWhole) {
  Process process(script("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end", folder_));
  EXPECT_EQ(process.read_line(kPlenty).line, std::string(3000000, 'x'));
  EXPECT_EQ(process.read_line(kPlenty).line, "end");
}

TEST_F(ProcessTest, GivesAnUnfinishedLastLineWithTheEnd) {
  Process process(script("echo whole; printf half", folder_));
  EXPECT_EQ(process.read_line(kPlenty).line, "whole");
  const ReadResult last = process.read_line(kPlenty);
  EXPECT_EQ(last.outcome, Transfer::ended);
  EXPECT_EQ(last.line, "half");
  EXPECT_EQ(process.read_line(kPlenty).line, "");
}

TEST_F(ProcessTest, KeepsHalfALineOverATimeout) {
  Process process(script("printf 'one '; read go; echo two", folder_));
  EXPECT_EQ(process.read_line(kSoon).outcome, Transfer::timed_out);
  process.write_line("go", kPlenty);
  EXPECT_EQ(process.read_line(kPlenty).line, "one two");
}

TEST_F(ProcessTest, ReadingTimesOutOnTimeAndAsleep) {
  Process process(script("sleep 1000", folder_));
  const double processor_before = processor_seconds();
  Transfer outcome = Transfer::done;
  const double waited = seconds_of([&] { outcome = process.read_line(Seconds{1.0}).outcome; });
  EXPECT_EQ(outcome, Transfer::timed_out);
  EXPECT_GE(waited, 1.0);
  EXPECT_LT(waited, 1.5);
  EXPECT_LT(processor_seconds() - processor_before, 0.05);
}

TEST_F(ProcessTest, WritingTimesOutWhenNobodyReads) {
  Process process(script("sleep 1000", folder_));
  Transfer outcome = Transfer::done;
  const double waited =
      seconds_of([&] { outcome = process.write_line(std::string(1 << 20, 'x'), kSoon); });
  EXPECT_EQ(outcome, Transfer::timed_out);
  EXPECT_GE(waited, kSoon.value);
  EXPECT_LT(waited, kSoon.value + 0.5);
}

TEST_F(ProcessTest, WaitingTimesOut) {
  Process process(script("sleep 1000", folder_));
  EXPECT_EQ(process.wait(kSoon), std::nullopt);
  EXPECT_TRUE(process.running());
}

TEST_F(ProcessTest, ReportsHowAProgramDiedMidway) {
  Process exits(script("read line; exit 3", folder_));
  Process killed(script("read line; kill -KILL $$", folder_));
  for (Process* process : {&exits, &killed}) {
    EXPECT_EQ(process->write_line("go", kPlenty), Transfer::done);
    EXPECT_EQ(process->read_line(kPlenty).outcome, Transfer::ended);
  }
  EXPECT_EQ(how_it_ended(exits.wait(kPlenty).value()), "exit status 3");
  EXPECT_EQ(how_it_ended(killed.wait(kPlenty).value()), "SIGKILL");
  EXPECT_EQ(exits.write_line("more", kPlenty), Transfer::ended);
}

TEST_F(ProcessTest, NoticesADeathThatAnOpenPipeHides) {
  Process process(script("sleep 1000 & echo last; exit 4", folder_));
  EXPECT_EQ(process.read_line(kPlenty).line, "last");
  Transfer outcome = Transfer::done;
  EXPECT_LT(seconds_of([&] { outcome = process.read_line(kPlenty).outcome; }), 2.0);
  EXPECT_EQ(outcome, Transfer::ended);
  EXPECT_EQ(process.wait(kPlenty)->status, 4);
}

TEST_F(ProcessTest, NamesWhatCannotBeStarted) {
  try {
    Process process({{"no-such-program-here"}, {}, folder_ / "error.log"});
    FAIL() << "started";
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith("cannot start 'no-such-program-here': "),
                                    EndsWith(std::strerror(ENOENT))));
  }
}

TEST_F(ProcessTest, RefusesAnErrorFileThatCannotBeWritten) {
  EXPECT_THROW(Process({{"cat"}, {}, folder_ / "missing" / "error.log"}), UsageError);
}

TEST_F(ProcessTest, ASignalInterruptsReading) {
  Process process(script("sleep 0.1; kill -TERM $PPID; sleep 1000", folder_));
  try {
    process.read_line(kPlenty, &watch_);
    FAIL() << "not interrupted";
  } catch (const Interrupted& interrupted) {
    EXPECT_EQ(interrupted.signal_number(), SIGTERM);
  }
  EXPECT_TRUE(process.running());
}

TEST_F(ProcessTest, ASignalInterruptsWaiting) {
  Process process(script("sleep 0.1; kill -INT $PPID; sleep 1000", folder_));
  EXPECT_THROW(process.wait(kPlenty, &watch_), Interrupted);
}

class ProcessEndTest : public ProcessTest {};

TEST_F(ProcessEndTest, AskingIsEnoughForAProgramThatListens) {
  Process process(
      script("trap 'echo asked >&2; exit 0' TERM; echo ready;"
             "while :; do sleep 0.05; done",
             folder_));
  process.read_line(kPlenty);
  EXPECT_THAT(process.end_tree(kPlenty), IsEmpty());
  EXPECT_EQ(process.wait(Seconds{0})->status, 0);
  EXPECT_EQ(read_text(folder_ / "error.log"), "asked\n");
}

TEST_F(ProcessEndTest, AProgramThatIgnoresTheRequestIsKilledAfterTheGracePeriod) {
  Process process(script("trap '' TERM; echo ready; while :; do sleep 1000; done", folder_));
  process.read_line(kPlenty);
  const double waited = seconds_of([&] { process.end_tree(Seconds{0.3}); });
  EXPECT_GE(waited, 0.3);
  EXPECT_LT(waited, 2.0);
  EXPECT_EQ(process.wait(Seconds{0})->signal_number, SIGKILL);
}

TEST_F(ProcessEndTest, AStoppedGrandchildInAnotherSessionGoesToo) {
  Process process(script("setsid sh -c 'echo $$; kill -STOP $$; sleep 1000' & wait", folder_));
  const pid_t grandchild = read_id(process);
  ASSERT_TRUE(is_alive(grandchild));
  ASSERT_NE(getpgid(grandchild), getpgid(process.id()));
  EXPECT_THAT(process.end_tree(Seconds{1}), IsEmpty());
  EXPECT_FALSE(is_alive(grandchild));
}

TEST_F(ProcessEndTest, AStoppedProgramGoes) {
  Process process(script("echo ready; kill -STOP $$; sleep 1000", folder_));
  process.read_line(kPlenty);
  EXPECT_LT(seconds_of([&] { process.end_tree(kPlenty); }), 5.0);
  EXPECT_EQ(process.wait(Seconds{0})->signal_number, SIGTERM);
}

TEST_F(ProcessEndTest, OrphansOfAnEndedProgramGoToo) {
  Process process(
      script("setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000; :' & exit 0", folder_));
  const pid_t orphan = read_id(process);
  ASSERT_TRUE(process.wait(kPlenty));
  ASSERT_TRUE(is_alive(orphan));
  EXPECT_THAT(process.end_tree(Seconds{0}), IsEmpty());
  EXPECT_FALSE(is_alive(orphan));
}

TEST_F(ProcessEndTest, ARememberedOrphanWithoutTheMarkerGoesToo) {
  Process process(script("setsid env -i sh -c 'echo $$; exec sleep 1000' & cat", folder_));
  const pid_t orphan = read_id(process);
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
  const pid_t orphan = read_id(process);
  process.remember_tree();
  kill(process.id(), SIGKILL);
  ASSERT_TRUE(process.wait(kPlenty));
  process.close_input();
  ASSERT_TRUE(eventually([&] { return !is_alive(orphan); }));
  EXPECT_THAT(own_children(), testing::ElementsAre(orphan));
  EXPECT_THAT(process.end_tree(Seconds{0}), IsEmpty());
}

TEST_F(ProcessEndTest, AnOrphanThatDiedUnseenIsReaped) {
  Process process(script("(sh -c 'exec > /dev/null; sleep 0.1' & echo $!)", folder_));
  const pid_t orphan = read_id(process);
  ASSERT_TRUE(process.wait(kPlenty));
  ASSERT_TRUE(eventually([&] { return !is_alive(orphan); }));
  EXPECT_THAT(own_children(), testing::Contains(orphan));
  EXPECT_THAT(process.end_tree(Seconds{0}), IsEmpty());
}

TEST_F(ProcessEndTest, AnOrphanThatNothingMarksGoesWithTheLastJob) {
  Process server(script("cat", folder_));
  Process client(script("setsid env -i sh -c 'echo $$; exec sleep 1000' & cat", folder_));
  const pid_t orphan = read_id(client);
  client.close_input();
  ASSERT_TRUE(client.wait(kPlenty));
  EXPECT_THAT(client.end_tree(Seconds{0}), IsEmpty());
  EXPECT_TRUE(is_alive(orphan)) << "it may be the server's";
  EXPECT_TRUE(server.running());
  EXPECT_THAT(server.end_tree(Seconds{1}), IsEmpty());
  EXPECT_FALSE(is_alive(orphan));
}

/// Covers children of a shell that becomes this program, and others in the same container.
TEST_F(ProcessEndTest, ChildrenThatNoJobStartedAreLeftAlone) {
  const auto sleeper = [](short flags) {
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, flags);
    std::array<char*, 3> words{const_cast<char*>("sleep"), const_cast<char*>("1000"), nullptr};
    pid_t id = -1;
    EXPECT_EQ(posix_spawnp(&id, "sleep", nullptr, &attributes, words.data(), environ), 0);
    posix_spawnattr_destroy(&attributes);
    return id;
  };
  const pid_t earlier = sleeper(POSIX_SPAWN_SETSID);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // starts are told in clock ticks
  Process process(script("cat", folder_));
  const pid_t of_own_session = sleeper(0);
  process.remember_tree();
  EXPECT_THAT(process.end_tree(Seconds{1}), IsEmpty());
  for (const pid_t id : {earlier, of_own_session}) {
    EXPECT_TRUE(is_alive(id));
    kill(id, SIGKILL);
    waitpid(id, nullptr, 0);
  }
}

TEST_F(ProcessEndTest, EndingOneJobLeavesTheOtherAlone) {
  const std::string job = "setsid sh -c 'echo $$; sleep 1000; :' & cat";
  Process first(script(job, folder_));
  Process second(script(job, folder_));
  const pid_t of_first = read_id(first);
  const pid_t of_second = read_id(second);
  first.end_tree(Seconds{1});
  EXPECT_FALSE(is_alive(of_first));
  EXPECT_TRUE(is_alive(of_second));
  EXPECT_EQ(second.write_line("still there", kPlenty), Transfer::done);
  EXPECT_EQ(second.read_line(kPlenty).line, "still there");
  second.end_tree(Seconds{1});
  EXPECT_FALSE(is_alive(of_second));
}

/// Makes a zombie that nobody else reaps: its tracer does not wait for it.
TEST_F(ProcessEndTest, WhatOutlivesItsJobIsNoOthers) {
  Process first(script("exec cat", folder_));
  Process second(script("exec cat", folder_));
  const Pipe pipe = make_pipe();
  const pid_t tracer = fork();
  if (tracer == 0) {
    const char traced = ptrace(PTRACE_SEIZE, first.id(), nullptr, nullptr) == 0 ? 1 : 0;
    if (write(pipe.writing.get(), &traced, 1) == 1) pause();
    _exit(0);
  }
  char traced = 0;
  EXPECT_EQ(read(pipe.reading.get(), &traced, 1), 1);
  if (traced != 0) {
    EXPECT_THAT(first.end_tree(Seconds{0}), testing::ElementsAre(first.id()));
    EXPECT_THAT(second.end_tree(Seconds{0}), IsEmpty());
  }
  kill(tracer, SIGKILL);
  waitpid(tracer, nullptr, 0);
  EXPECT_THAT(first.end_tree(Seconds{0}), IsEmpty());
  if (traced == 0) GTEST_SKIP() << "tracing is not allowed here";
}

TEST_F(ProcessEndTest, TheDestructorEndsEverything) {
  auto process = std::make_unique<Process>(
      script("setsid sh -c 'echo $$; kill -STOP $$; sleep 1000' & echo $$; wait", folder_));
  const pid_t one = read_id(*process);
  const pid_t other = read_id(*process);
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

TEST(ProcessTree, ListsThisProcess) {
  const std::vector<ProcessEntry> processes = list_processes();
  const auto self = std::ranges::find(processes, getpid(), &ProcessEntry::id);
  ASSERT_NE(self, processes.end());
  EXPECT_EQ(self->parent, getppid());
}

TEST(ProcessTree, AFileThatFailsWhileItIsReadIsEmpty) {
  EXPECT_EQ(read_process_file("/proc"), "");  // opens, but reading it is an error
  EXPECT_EQ(read_process_file("/proc/self/no-such-file"), "");
  EXPECT_THAT(read_process_file("/proc/self/cmdline"), testing::HasSubstr("test"));
}

TEST(ProcessTree, ComparesVariablesWhole) {
  const ScratchFolder folder;
  ProcessRequest request = script("echo ready; cat", folder);
  request.environment = {{"PATH", "/usr/bin:/bin"}, {"XNAME", "value"}, {"NAME", "value2"}};
  Process process(request);
  process.read_line(kPlenty);
  EXPECT_EQ(variable_of(process.id(), "NAME"), "value2");
  EXPECT_EQ(variable_of(process.id(), "AME"), "");
}

TEST(ProcessTree, FindsByMarkerByDescentAndByMemory) {
  const ScratchFolder folder;
  ProcessRequest request = script("env -i sh -c 'echo $$; sleep 1000; :' & cat", folder);
  request.environment["LINKGAIN_TEST_MARK"] = "here";
  Process process(request);
  const pid_t child = read_id(process);
  const auto ids = [](const std::vector<ProcessEntry>& entries) {
    std::vector<pid_t> result;
    for (const ProcessEntry& entry : entries) result.push_back(entry.id);
    return result;
  };
  ProcessTree by_marker("LINKGAIN_TEST_MARK=here");
  ProcessTree by_descent("LINKGAIN_TEST_MARK=nowhere");
  ProcessTree stranger("LINKGAIN_TEST_MARK=nowhere");
  EXPECT_THAT(ids(by_marker.find(std::nullopt)), testing::IsSupersetOf({process.id(), child}));
  EXPECT_THAT(ids(by_descent.find(process.id())), testing::IsSupersetOf({process.id(), child}));
  EXPECT_THAT(ids(by_descent.find(std::nullopt)), testing::IsSupersetOf({process.id(), child}));
  EXPECT_THAT(stranger.find(std::nullopt), testing::IsEmpty());
}

std::string read_all(const Descriptor& descriptor) {
  std::string text;
  std::array<char, 256> chunk;
  for (ssize_t count = 0; (count = read(descriptor.get(), chunk.data(), chunk.size())) > 0;) {
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
  return text;
}

int exit_status(pid_t id) {
  int status = -1;
  return waitpid(id, &status, 0) == id && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Spawn, PipesStayClearOfTheStandardDescriptors) {
  const Descriptor kept(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  ASSERT_TRUE(kept);
  ::close(STDIN_FILENO);
  const Pipe pipe = make_pipe();
  dup2(kept.get(), STDIN_FILENO);
  EXPECT_GT(pipe.reading.get(), STDERR_FILENO);
  EXPECT_GT(pipe.writing.get(), STDERR_FILENO);
  EXPECT_NE(fcntl(pipe.reading.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(fcntl(pipe.writing.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Spawn, ConnectsTheThreeDescriptors) {
  Pipe input = make_pipe();
  Pipe output = make_pipe();
  Pipe error = make_pipe();
  const pid_t id = spawn({"sh", "-c", "read word; echo out $word; echo err $word >&2; exit 7"},
                         {"PATH=/usr/bin:/bin"},
                         {input.reading.get(), output.writing.get(), error.writing.get()});
  for (Descriptor* ours : {&input.reading, &output.writing, &error.writing}) ours->reset();
  ASSERT_EQ(write(input.writing.get(), "hello\n", 6), 6);
  EXPECT_EQ(read_all(output.reading), "out hello\n");
  EXPECT_EQ(read_all(error.reading), "err hello\n");
  EXPECT_EQ(exit_status(id), 7);
}

TEST(Spawn, SaysWhyNothingWasStarted) {
  EXPECT_THROW(spawn({}, {}, {}), MachineError);
  EXPECT_THROW(spawn({"/"}, {}, {}), MachineError);
  try {
    spawn({"/no/such"}, {}, {});
    FAIL() << "started";
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(),
                AllOf(StartsWith("cannot start '/no/such': "), EndsWith(std::strerror(ENOENT))));
  }
}

}  // namespace
}  // namespace linkgain::test
