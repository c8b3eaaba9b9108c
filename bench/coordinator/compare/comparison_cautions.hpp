#pragma once

#include <optional>
#include <vector>

#include "linkgain/compare/comparison.hpp"

/// What the reader of a comparison must know before believing a difference.
namespace linkgain {

/// What else differs and could explain a difference, and what weakens the comparison; from the
/// runs, the changes and the cases of `comparison`.
std::vector<Warning> cautions_of(const RunComparison& comparison);

/// The run that has no case of such a row.
const RunFigures& lacking_run(const RunComparison& comparison, const CaseComparison& each);

/// Of a row that one run lacks: the launch mode by which it has the same case all the same.
std::optional<LaunchMode> other_launch(const RunComparison& comparison, const CaseComparison& each);

}  // namespace linkgain
