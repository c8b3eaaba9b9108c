#include "linkgain/base/regular_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace linkgain {
namespace {

using Text = Reading<std::string>;

/// Files of /proc and /sys state no size, or one that is not theirs.
Text read_all(int descriptor, std::size_t size, std::size_t limit) {
  std::string text;
  text.reserve(std::min(size, limit));
  std::array<char, 65536> chunk;
  while (true) {
    const ssize_t count = ::read(descriptor, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Text::missing(std::strerror(errno));
    if (count == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
    if (text.size() > limit) return Text::missing(fmt::format("it has more than {} bytes", limit));
  }
}

}  // namespace

Reading<int> open_regular_file(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return Reading<int>::missing(std::strerror(errno));
  struct stat found {};
  if (::fstat(file, &found) == 0 && S_ISREG(found.st_mode)) return file;
  ::close(file);
  return Reading<int>::missing(S_ISDIR(found.st_mode) ? "it is a folder" : "it is no regular file");
}

Reading<std::string> read_regular_file(const std::filesystem::path& path, std::size_t limit) {
  const Reading<int> file = open_regular_file(path);
  if (!file.measured()) return Text::missing(file.reason());
  struct stat found {};
  ::fstat(file.value(), &found);
  Text text = read_all(file.value(), static_cast<std::size_t>(found.st_size), limit);
  ::close(file.value());
  return text;
}

int open_to_write(const std::filesystem::path& path, WriteMode mode) {
  const int how = mode == WriteMode::append ? O_APPEND : O_TRUNC;
  constexpr int kWaitsForNobody = O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | kWaitsForNobody | how, 0644);
  struct stat found {};
  if (file < 0 || (::fstat(file, &found) == 0 && S_ISREG(found.st_mode))) return file;
  ::close(file);
  errno = ENXIO;  // as of a pipe that nobody reads
  return -1;
}

void make_file_size_limit_an_error() noexcept {
  struct sigaction pass {};
  pass.sa_handler = [](int) {};  // unlike SIG_IGN it does not outlive exec
  pass.sa_flags = SA_RESTART;
  sigaction(SIGXFSZ, &pass, nullptr);
}

}  // namespace linkgain
