#include "linkgain/base/standard_streams.hpp"

#include <fcntl.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "linkgain/base/errors.hpp"

namespace linkgain {

void open_closed_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    if (open("/dev/null", O_RDONLY) != descriptor) return;  // the lowest number that is free
  }
}

void print_message(std::FILE* stream, std::string_view text) noexcept {
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
  sigaction(SIGPIPE, &before, nullptr);
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
