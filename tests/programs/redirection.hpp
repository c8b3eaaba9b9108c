#pragma once

#include "programs.hpp"

/// Programs whose standard streams go elsewhere.
namespace linkgain::test {

/// A program as "$@" of a shell's script.
inline Outcome in_shell(const ScratchFolder& folder, const std::string& script,
                        ProgramRequest request) {
  const std::vector<std::string> shell{"/bin/sh", "-c", script, "sh"};
  request.arguments.insert(request.arguments.begin(), shell.begin(), shell.end());
  request.directory = folder.path();
  return run_program(request);
}

/// `redirection` in the shell's words.
inline Outcome with_streams(const ScratchFolder& folder, const std::string& redirection,
                            const ProgramRequest& request) {
  return in_shell(folder, "exec \"$@\" " + redirection, request);
}

}  // namespace linkgain::test
