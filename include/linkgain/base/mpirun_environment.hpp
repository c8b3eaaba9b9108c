#pragma once

#include "linkgain/base/environment.hpp"

namespace linkgain {

/// Adds what every mpirun is started with, unless it is set. Its hwloc leaves X displays and OpenCL
/// alone, which no job needs: to find displays its plugin looks the name "localhost" up, which
/// takes seconds for each job, and most of them their time to start, where no /etc/hosts has it.
inline void prepare_for_mpirun(Environment& environment) {
  environment.emplace("HWLOC_COMPONENTS", "-gl,-opencl");
}

}  // namespace linkgain
