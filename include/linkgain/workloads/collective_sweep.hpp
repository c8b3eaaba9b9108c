#pragma once

#include <memory>
#include <vector>

#include "linkgain/core/case.hpp"
#include "linkgain/runtime/engine.hpp"
#include "linkgain/runtime/google_benchmark.hpp"

namespace linkgain {

/// One Google Benchmark subject for each case, all led by `engine`, which must outlive them. At
/// most one case is open at a time. Batches last about `sample_target`. Rank 0 only; the other
/// ranks follow(). Counters: algbw and busbw in 1e9 bytes per second, latency_us.
std::vector<std::unique_ptr<BenchmarkSubject>> collective_sweep(Engine& engine,
                                                                const std::vector<Case>& cases,
                                                                Seconds sample_target);

}  // namespace linkgain
