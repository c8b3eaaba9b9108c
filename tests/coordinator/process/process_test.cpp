#include "linkgain/process/process.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <optional>
#include <string>

#include "linkgain/process/signals.hpp"
#include "support/process_support.hpp"

namespace linkgain {
namespace {

using test::kPlenty;
using test::script;
using test::seconds_of;

constexpr Seconds kSoon{0.2};

class ProcessTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(test::own_children(), testing::IsEmpty()); }

  test::TemporaryFolder folder_;
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
  Process cat({{"cat"}, current_environment(), folder_.path() / "error.log"});
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
                   folder_.path() / "error.log"});
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
  EXPECT_EQ(test::read_file(folder_.path() / "error.log"), "first\nsecond\n");
}

TEST_F(ProcessTest, StartsWithDefaultSignalsInASessionOfItsOwn) {
  Process process(
      script("read _ _ _ _ group session _ < /proc/$$/stat; echo $group; echo $session;"
             "grep -E '^Sig(Blk|Ign)' /proc/self/status",
             folder_));
  EXPECT_EQ(test::read_id(process), process.id());
  EXPECT_EQ(test::read_id(process), process.id());
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
    EXPECT_EQ(open_descriptors(), before + 2);
  }
  EXPECT_THROW(Process({{"/no/such/program"}, {}, folder_.path() / "error.log"}), MachineError);
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
  EXPECT_EQ(describe(exits.wait(kPlenty).value()), "exit status 3");
  EXPECT_EQ(describe(killed.wait(kPlenty).value()), "SIGKILL");
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
    Process process({{"no-such-program-here"}, {}, folder_.path() / "error.log"});
    FAIL() << "started";
  } catch (const MachineError& error) {
    EXPECT_STREQ(error.what(), "cannot start 'no-such-program-here': No such file or directory");
  }
}

TEST_F(ProcessTest, RefusesAnErrorFileThatCannotBeWritten) {
  EXPECT_THROW(Process({{"cat"}, {}, folder_.path() / "missing" / "error.log"}), UsageError);
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

}  // namespace
}  // namespace linkgain
