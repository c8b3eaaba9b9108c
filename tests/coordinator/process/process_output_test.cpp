#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include "linkgain/process/process.hpp"
#include "linkgain/process/signals.hpp"
#include "support/process_support.hpp"

namespace linkgain::test {
namespace {

// What a program writes on both of its streams, as it comes.

class ProcessOutput : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(own_children(), testing::IsEmpty()); }

  /// Makes pipes of both streams.
  ProcessRequest piped(const std::string& text) const {
    ProcessRequest request = script(text, folder_);
    request.error_file.clear();
    return request;
  }

  void keep(const Output& output) { (output.is_error ? error_ : output_) += output.text; }

  /// Reads until the program exits, and what lies in the pipes then.
  void read_to_its_end(Process& process) {
    Output output;
    for (Activity activity = Activity::wrote; activity != Activity::exited;) {
      activity = process.wait_for_activity(output, kPlenty, &watch_);
      ASSERT_NE(activity, Activity::timed_out);
      if (activity == Activity::wrote) keep(output);
    }
    while (process.read_rest(output)) keep(output);
  }

  ScratchFolder folder_;
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
  const std::string file = (folder_ / "read").string();
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

/// Reads nothing from a stream that ended, and does not spin on it.
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
  request.output_file = folder_ / "log";
  request.error_file = request.output_file;
  request.has_input = false;
  Process process(request);
  EXPECT_EQ(process.write_line("x", kPlenty), Transfer::ended) << "there is no input";
  EXPECT_EQ(process.wait(kPlenty), (ProcessEnd{.status = 0, .signal_number = {}}));
  EXPECT_EQ(read_text(request.output_file), "out\nerror\n");
  Output output;
  EXPECT_FALSE(process.read_rest(output));
}

TEST(VariableOf, IsThatOfTheStart) {
  ScratchFolder folder;
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
  EXPECT_EQ(how_it_ended({.status = 3, .signal_number = {}}), "exit status 3");
  EXPECT_EQ(how_it_ended({.status = {}, .signal_number = SIGKILL}), "SIGKILL");
  EXPECT_EQ(how_it_ended(ProcessEnd{}), "exit status unknown");
}

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

/// A pipe whose other end a test writes.
class PipeReaderTest : public testing::Test {
 protected:
  static Descriptor nonblocking(Descriptor pipe) {
    fcntl(pipe.get(), F_SETFL, O_NONBLOCK);
    return pipe;
  }

  void write_all(const std::string& text) const {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t count = write(output_.writing.get(), text.data() + done, text.size() - done);
      ASSERT_GT(count, 0);
      done += static_cast<std::size_t>(count);
    }
  }

  /// Takes all that comes until the pipes are closed and empty.
  std::string read_to_the_end() {
    std::string text;
    reader_.stop();
    while (const auto next = reader_.take()) text += next->text;
    return text;
  }

  Pipe output_ = make_pipe();
  Pipe error_ = make_pipe();
  PipeReader reader_{nonblocking(std::move(output_.reading)),
                     nonblocking(std::move(error_.reading))};
};

TEST_F(PipeReaderTest, TellsThatSomethingCame) {
  pollfd entry{reader_.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&entry, 1, 0), 0);
  EXPECT_FALSE(reader_.take());
  ASSERT_EQ(write(error_.writing.get(), "x", 1), 1);
  ASSERT_EQ(poll(&entry, 1, 10000), 1);
  const auto output = reader_.take();
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->is_error);
  EXPECT_EQ(output->text, "x");
  EXPECT_EQ(poll(&entry, 1, 0), 0) << "nothing more";
  EXPECT_EQ(reader_.full().value, 0.0);
}

// Writes more than a pipe holds while nobody takes anything.
TEST_F(PipeReaderTest, KeepsTheProgramFromWaiting) {
  const std::string text(8 * kMebibyte, 'x');
  write_all(text);
  EXPECT_EQ(read_to_the_end(), text);
}

TEST_F(PipeReaderTest, HasTheTimeInWhichTheProgramWaited) {
  const std::string text(PipeReader::kMostKept + 4 * kMebibyte, 'x');
  const auto start = std::chrono::steady_clock::now();
  std::jthread program([&] { write_all(text); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::string read;
  while (read.size() < text.size()) {
    if (const auto next = reader_.take()) read += next->text;
  }
  program.join();
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  EXPECT_GE(reader_.full().value, 0.1);
  EXPECT_LE(reader_.full().value, all.count());
  EXPECT_EQ(read, text);
  reader_.stop();
  EXPECT_GT(reader_.worked().value, 0.0);
}

}  // namespace
}  // namespace linkgain::test
