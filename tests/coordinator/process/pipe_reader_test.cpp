#include "linkgain/process/pipe_reader.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "linkgain/process/process.hpp"

namespace linkgain::test {
namespace {

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

  /// All that comes until the pipes are closed and empty.
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

// More than a pipe holds, and nobody takes anything.
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
