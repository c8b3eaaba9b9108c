// What a program writes on both of its streams, as it comes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>

#include "linkgain/process/process.hpp"
#include "linkgain/process/signals.hpp"
#include "support/process_support.hpp"

namespace linkgain::test {
namespace {

class ProcessOutput : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(own_children(), testing::IsEmpty()); }

  /// With both streams as pipes.
  ProcessRequest piped(const std::string& text) const {
    ProcessRequest request = script(text, folder_);
    request.error_file.clear();
    return request;
  }

  void keep(const Output& output) { (output.is_error ? error_ : output_) += output.text; }

  /// Until the program exits, and what lies in the pipes then.
  void read_to_its_end(Process& process) {
    Output output;
    for (Activity activity = Activity::wrote; activity != Activity::exited;) {
      activity = process.wait_for_activity(output, kPlenty, &watch_);
      ASSERT_NE(activity, Activity::timed_out);
      if (activity == Activity::wrote) keep(output);
    }
    while (process.read_rest(output)) keep(output);
  }

  TemporaryFolder folder_;
  SignalWatch watch_;
  std::string output_;
  std::string error_;
};

TEST_F(ProcessOutput, IsToldByItsStream) {
  Process process(piped("echo one; echo two >&2; printf three; exit 3"));
  read_to_its_end(process);
  EXPECT_EQ(output_, "one\nthree");
  EXPECT_EQ(error_, "two\n");
  EXPECT_EQ(process.wait(Seconds{0.0}), (ProcessEnd{.status = 3, .signal_number = {}}));
}

TEST_F(ProcessOutput, IsReadWholeWhereItIsMoreThanAPipeHolds) {
  Process process(piped("head -c 1000000 /dev/zero; head -c 300000 /dev/zero >&2"));
  read_to_its_end(process);
  EXPECT_EQ(output_.size(), 1000000U);
  EXPECT_EQ(error_.size(), 300000U);
}

TEST_F(ProcessOutput, HasTheTimeAtWhichItCame) {
  const std::string file = (folder_.path() / "read").string();
  Process process(piped("echo one; until [ -e " + file +
                        " ]; do sleep 0.01; done; sleep 0.2; echo two; sleep 60"));
  Output first;
  Output second;
  ASSERT_EQ(process.wait_for_activity(first, kPlenty, &watch_), Activity::wrote);
  std::ofstream(file).flush();
  ASSERT_EQ(process.wait_for_activity(second, kPlenty, &watch_), Activity::wrote);
  EXPECT_EQ(second.text, "two\n");
  EXPECT_GE(std::chrono::duration<double>(second.arrived - first.arrived).count(), 0.15);
}

TEST_F(ProcessOutput, IsWaitedForUntilTheDeadline) {
  Process process(piped("sleep 60"));
  Output output;
  EXPECT_EQ(process.wait_for_activity(output, Seconds{0.05}, &watch_), Activity::timed_out);
  EXPECT_EQ(process.wait_for_activity(output, Seconds{0.0}, nullptr), Activity::timed_out);
  EXPECT_FALSE(process.read_rest(output));
}

/// Nothing is read from a stream that ended, and nothing spins on it.
TEST_F(ProcessOutput, MayEndBeforeTheProgram) {
  Process process(piped("echo one; exec >&- 2>&-; sleep 0.2; exit 4"));
  read_to_its_end(process);
  EXPECT_EQ(output_, "one\n");
  EXPECT_EQ(process.wait(Seconds{0.0}), (ProcessEnd{.status = 4, .signal_number = {}}));
}

TEST_F(ProcessOutput, ASignalInterruptsTheWaiting) {
  Process process(piped("sleep 60"));
  kill(getpid(), SIGTERM);
  Output output;
  EXPECT_THROW(process.wait_for_activity(output, kPlenty, &watch_), Interrupted);
}

TEST_F(ProcessOutput, GoesIntoAFileWhereThatIsAskedFor) {
  ProcessRequest request = piped("cat; echo out; echo error >&2");
  request.output_file = folder_.path() / "log";
  request.error_file = request.output_file;
  request.has_input = false;
  Process process(request);
  EXPECT_EQ(process.write_line("x", kPlenty), Transfer::ended) << "there is no input";
  EXPECT_EQ(process.wait(kPlenty), (ProcessEnd{.status = 0, .signal_number = {}}));
  EXPECT_EQ(read_file(request.output_file), "out\nerror\n");
  Output output;
  EXPECT_FALSE(process.read_rest(output));
}

TEST(VariableOf, IsThatOfTheStart) {
  TemporaryFolder folder;
  ProcessRequest request = script("sleep 60", folder);
  request.environment = {{"NAME", "a=b"}, {"NAMES", "c"}, {"EMPTY", ""}, {"PATH", "/usr/bin:/bin"}};
  Process process(request);
  const auto value = [&](const char* name) { return variable_of(process.id(), name); };
  EXPECT_TRUE(eventually([&] { return value("NAME") == "a=b"; }));
  EXPECT_EQ(value("NAMES"), "c");
  EXPECT_EQ(value("EMPTY"), "");
  EXPECT_EQ(value("NAM"), "") << "no name of one";
  process.end_tree(Seconds{1.0});
  EXPECT_EQ(value("NAME"), "") << "it is gone";
}

TEST(DescribeEnd, SaysHowAProgramEnded) {
  EXPECT_EQ(describe({.status = 3, .signal_number = {}}), "exit status 3");
  EXPECT_EQ(describe({.status = {}, .signal_number = SIGKILL}), "SIGKILL");
  EXPECT_EQ(describe(ProcessEnd{}), "exit status unknown");
}

}  // namespace
}  // namespace linkgain::test
