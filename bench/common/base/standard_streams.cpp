#include "linkgain/base/standard_streams.hpp"

#include <fcntl.h>
#include <poll.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <limits>
#include <system_error>

#include "linkgain/base/errors.hpp"

namespace linkgain {

void open_closed_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    if (open("/dev/null", O_RDONLY) != descriptor) return;  // the lowest number that is free
  }
}

namespace {

/// While it lives, writing where nobody reads is an error and not the program's end.
class IgnoredPipeSignal {
 public:
  IgnoredPipeSignal() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before_);
  }
  ~IgnoredPipeSignal() { sigaction(SIGPIPE, &before_, nullptr); }
  IgnoredPipeSignal(const IgnoredPipeSignal&) = delete;
  IgnoredPipeSignal& operator=(const IgnoredPipeSignal&) = delete;

 private:
  struct sigaction before_ {};
};

/// A pipe that is ready holds as much; a write of more could wait for its reader.
constexpr std::size_t kBytesAtOnce = 512;

bool is_ready(int descriptor, int milliseconds) {
  pollfd entry{descriptor, POLLOUT, 0};
  return ::poll(&entry, 1, milliseconds) == 1;
}

/// Returns what may be written at once; a file waits for nobody.
std::size_t bytes_at_once(int descriptor) {
  struct stat found {};
  const bool is_file = ::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode);
  return is_file ? std::numeric_limits<std::size_t>::max() : kBytesAtOnce;
}

bool write_some(int descriptor, std::string_view& text, std::size_t most) {
  const ssize_t count = ::write(descriptor, text.data(), std::min(text.size(), most));
  if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  return count > 0;
}

}  // namespace

bool print_message(std::FILE* stream, std::string_view text, Seconds patience) noexcept {
  const IgnoredPipeSignal ignored;
  const int descriptor = ::fileno(stream);
  const int milliseconds = static_cast<int>(patience.value * 1e3);
  const std::size_t most = bytes_at_once(descriptor);
  while (!text.empty() && is_ready(descriptor, milliseconds) &&
         write_some(descriptor, text, most)) {
  }
  return text.empty();
}

void print_output(std::string_view text) noexcept {
  const IgnoredPipeSignal ignored;
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int with_output_in_full(const std::function<int()>& work) {
  try {
    const int status = work();
    errno = EIO;  // for an earlier error that fflush() no longer knows
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw std::system_error(errno, std::generic_category());
    }
    return status;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) throw;
    __fpurge(stdout);  // else exit() would try again, and a broken pipe end the program there
    throw UsageError("cannot write the output: " + error.code().message());
  }
}

}  // namespace linkgain
