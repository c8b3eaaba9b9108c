#pragma once

#include <string>
#include <utility>
#include <vector>

#include "linkgain/cases/backend.hpp"
#include "linkgain/hardware/machine.hpp"

namespace linkgain {

/// What a document in Google Benchmark's format says of where it was measured, beside the library's
/// own members: versions, machine, backend, and the variables in force that choose paths.
/// `linkgain compare` reads it back.
std::vector<std::pair<std::string, std::string>> benchmark_context(const Machine& machine,
                                                                   BackendKind backend,
                                                                   const Environment& in_force);

}  // namespace linkgain
