#pragma once

#include "linkgain/core/errors.hpp"
#include "linkgain/runtime/serve.hpp"
#include "linkgain/runtime/session.hpp"
#include "worker_bench_options.hpp"

namespace linkgain {

/// Thrown by all ranks alike: each can leave by itself and one can speak for all.
class AgreedError : public MachineError {
 public:
  using MachineError::MachineError;
};

/// Rank 0 answers the coordinator through `channel`, that the backend cannot be made included.
void serve_mode(Session& session, const WorkerOptions& options, ProtocolChannel& channel);

/// Rank 0 runs Google Benchmark's loop; returns the exit status. Throws AgreedError where one of
/// the ranks cannot make the backend, UsageError on all ranks or on rank 0 after the others left.
int benchmark_mode(Session& session, const WorkerOptions& options);

/// Versions, GPUs and capabilities of this build and machine as one line of JSON.
std::string describe();

}  // namespace linkgain
