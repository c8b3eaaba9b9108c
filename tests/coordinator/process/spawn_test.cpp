#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/process/process.hpp"

namespace linkgain {
namespace {

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
    EXPECT_STREQ(error.what(), "cannot start '/no/such': No such file or directory");
  }
}

}  // namespace
}  // namespace linkgain
