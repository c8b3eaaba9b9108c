#pragma once

#include <string>

#include "linkgain/compare/run_comparison.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

/// Writes one run compared with another: how many cases came to which verdict and the largest
/// change, what changed in the machine, the headline's table with rows Before and After, cautions,
/// and a row for each case and variant. `pictures` are a page's.
Document comparison_report(const RunComparison& comparison, Metric metric,
                           const std::string& pictures = {});

/// Makes comparison_report() a page that stands alone, with pictures of the largest differences and
/// of speed-ups over size.
std::string comparison_page(const RunComparison& comparison, Metric metric);

/// Writes a row for each case and variant; units stand in the names, all digits are kept.
std::string comparison_csv(const RunComparison& comparison);

/// Writes one JSON document, schema "linkgain.comparison/1". Its member "comparisons" is a list of
/// one, as others' tools read it.
std::string to_json(const RunComparison& comparison);

}  // namespace linkgain
