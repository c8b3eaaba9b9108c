#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "linkgain/process/descriptor.hpp"

namespace linkgain {

/// The ends of a pipe; both are closed on exec and above the standard descriptors.
struct Pipe {
  Descriptor reading;
  Descriptor writing;
};

/// Throws MachineError where no descriptor is left.
Pipe make_pipe();

/// What a new process gets as its descriptors 0, 1 and 2; it gets no others.
struct StandardDescriptors {
  int input = 0;
  int output = 1;
  int error = 2;
};

/// Starts arguments[0], looked up on PATH, in a new session with default signal handling and no
/// signal blocked. `environment` holds "NAME=value". Throws MachineError with the reason.
pid_t spawn(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
            const StandardDescriptors& descriptors);

}  // namespace linkgain
