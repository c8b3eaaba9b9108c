#pragma once

#include "linkgain/runtime/serve.hpp"
#include "linkgain/runtime/session.hpp"
#include "worker_bench_options.hpp"

namespace linkgain {

/// Rank 0 answers the coordinator through `channel`, that the backend cannot be made included.
void serve_mode(Session& session, const WorkerOptions& options, ProtocolChannel& channel);

/// Rank 0 runs Google Benchmark's loop; returns the exit status. Throws MachineError on all ranks
/// alike where one of them cannot make the backend.
int benchmark_mode(Session& session, const WorkerOptions& options);

/// Versions, GPUs and capabilities of this build and machine as one line of JSON.
std::string describe();

}  // namespace linkgain
