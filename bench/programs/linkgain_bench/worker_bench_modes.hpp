#pragma once

#include <memory>
#include <string>

#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/serve.hpp"
#include "linkgain/runtime/session.hpp"
#include "worker_bench_options.hpp"

namespace linkgain {

/// Throws UsageError where there is one rank only.
void require_two_ranks(const Session& session);

/// Collective: throws AgreedError on every rank where one of them cannot make the backend.
std::unique_ptr<Backend> make_agreed_backend(Session& session, const WorkerOptions& options);

/// Rank 0 answers the coordinator through `channel`, that the backend cannot be made included.
void serve_mode(Session& session, const WorkerOptions& options, ProtocolChannel& channel);

/// Rank 0 runs Google Benchmark's loop; returns the exit status. Throws AgreedError where one of
/// the ranks cannot make the backend, UsageError on all ranks or on rank 0 after the others left.
int benchmark_mode(Session& session, const WorkerOptions& options);

/// Versions, GPUs and capabilities of this build and machine as one line of JSON.
std::string describe();

}  // namespace linkgain
