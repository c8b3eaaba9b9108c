#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/cases/case.hpp"
#include "linkgain/runtime/engine.hpp"
#include "linkgain/runtime/google_benchmark.hpp"

namespace linkgain {

/// Returns what is counted of a case beside its time: algbw and busbw in 1e9 bytes per second,
/// where bytes over time mean something (moves_its_size()), and latency_us.
std::vector<std::pair<std::string, double>> sweep_counters(const Case& definition,
                                                           Seconds per_operation);

/// Makes one Google Benchmark subject for each case, all led by `engine`, which must outlive them.
/// At most one case is open at a time. Batches last about `sample_target`. Rank 0 only; the other
/// ranks follow(). Counters: sweep_counters().
std::vector<std::unique_ptr<BenchmarkSubject>> collective_sweep(Engine& engine,
                                                                const std::vector<Case>& cases,
                                                                Seconds sample_target);

}  // namespace linkgain
