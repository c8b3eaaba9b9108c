#pragma once

#include <string>
#include <vector>

#include "linkgain/compare/run_comparison.hpp"

/// What stands for the spread between launches where no like case has two of them.
namespace linkgain {

/// What times depend on, and with it by how much launches differ.
enum class SpreadSource {
  gpus,        ///< cases of linkgain's on GPUs: assumed_deviation() of the size
  cpu_memory,  ///< cases of the mpi backend: kAssumedCpuSpread
};

SpreadSource spread_source(const RunFigures& run);

/// Of a case of both runs. Never less than what the samples of either show.
ComparisonSpread assumed_spread(SpreadSource source, const CaseFigures& before,
                                const CaseFigures& after);

/// Which were assumed, in words: "1.5 % from 1 MiB on, 15 % for all else"; empty where none was.
std::string assumed_spreads_text(const RunComparison& comparison);

}  // namespace linkgain
