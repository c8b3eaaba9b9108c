#pragma once

#include <vector>

#include "linkgain/compare/run_comparison.hpp"

/// What the reader of a comparison must know before believing a difference.
namespace linkgain {

/// Says what else differs and could explain a difference, and what weakens the comparison; from the
/// runs, the changes and the cases of `comparison`.
std::vector<Warning> cautions_of(const RunComparison& comparison);

}  // namespace linkgain
