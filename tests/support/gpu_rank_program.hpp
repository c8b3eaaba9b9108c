#pragma once

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/runtime/session.hpp"

/// For programs that mpirun starts on GPUs and that are no tests: what they print depends on those.
namespace linkgain::test {

/// Makes the rank's GPU, that of its number on the host, the current one. Throws MachineError where
/// there is none.
inline void take_gpu(const Session& session) {
  std::string reason;
  if (gpu::device_count(&reason) <= session.local_rank()) {
    throw MachineError(fmt::format("rank {} has no GPU {}", session.rank(), reason));
  }
  gpu::check(cudaSetDevice(session.local_rank()));
}

/// Returns what a program's main does whose ranks come to do `work`. A rank that fails ends all, as
/// the others would wait for it.
inline int run_or_end_all(Session& session, const std::function<void()>& work) {
  try {
    work();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", session.rank(), error.what());
  }
  session.abort(1);
}

}  // namespace linkgain::test
