#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linkgain/cases/backend.hpp"
#include "linkgain/compare/run_figures.hpp"

/// Documents of other programs, already known to be such.
namespace linkgain {

/// Google Benchmark's, as linkgain-bench writes it; repetitions are samples of one launch, of which
/// the median counts. Throws UsageError or nlohmann's exceptions where members are missing.
RunFigures read_google_benchmark(const nlohmann::json& document, const std::string& name);

/// nccl-tests' (-J): two cases for each row, in place and out of place; which operation it was, the
/// program's name among the arguments tells. Throws likewise.
RunFigures read_nccl_tests(const nlohmann::json& document, const std::string& name);

/// The built-in variant of `backend` that these variables stand for. NCCL: "host" where they forbid
/// P2P, else "p2p". MPI in CPU memory: "shared-memory" or "tcp" where they choose Open MPI's
/// transports, else its own name, "mpi".
std::string variant_of(BackendKind backend, const Environment& environment);

/// The settings of a run of this one variant.
Settings settings_of(BackendKind backend, const Environment& environment);

/// Files that one program wrote, as one run of as many launches, in their order: cases by name and
/// variant, machine and settings of the first. A case that failed in one of them has no time.
/// Throws UsageError where machine or settings of two differ, naming what.
RunFigures merge_launches(const std::vector<RunFigures>& files, const std::string& name);

}  // namespace linkgain
