#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "programs.hpp"

/// Programs whose standard streams go elsewhere.
namespace linkgain::test {

/// Passes a program to a shell's script as "$@".
inline ProgramRequest shell_request(const ScratchFolder& folder, const std::string& script,
                                    ProgramRequest request) {
  request.arguments = joined({"/bin/sh", "-c", script, "sh"}, request.arguments);
  request.directory = folder.path();
  return request;
}

inline Outcome in_shell(const ScratchFolder& folder, const std::string& script,
                        const ProgramRequest& request) {
  return run_program(shell_request(folder, script, request));
}

/// Takes `redirection` in the shell's words.
inline Outcome with_streams(const ScratchFolder& folder, const std::string& redirection,
                            const ProgramRequest& request) {
  return in_shell(folder, "exec \"$@\" " + redirection, request);
}

/// A pipe whose reader stopped: it is full, and stays so.
class FullPipe {
 public:
  explicit FullPipe(const std::filesystem::path& path) {
    if (mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("no pipe");
    end_ = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    fcntl(end_, F_SETPIPE_SZ, 4096);
    const std::string bytes(4096, 'x');
    while (::write(end_, bytes.data(), bytes.size()) > 0) {
    }
  }
  ~FullPipe() { close(end_); }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;

 private:
  int end_ = -1;
};

}  // namespace linkgain::test
