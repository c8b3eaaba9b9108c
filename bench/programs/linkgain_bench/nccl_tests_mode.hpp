#pragma once

#include "linkgain/runtime/session.hpp"
#include "worker_bench_options.hpp"

namespace linkgain {

/// Measures as nccl-tests does and prints what it prints; collective. All ranks go through the same
/// cases by themselves, for no count depends on what was measured. Returns the exit status. Throws
/// UsageError and AgreedError on all ranks alike.
int nccl_tests_mode(Session& session, const WorkerOptions& options);

}  // namespace linkgain
