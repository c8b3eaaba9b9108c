#pragma once

#include <string>
#include <string_view>

#include "linkgain/summary/run_summary.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

/// The words for one contrast: the column's title, and what a sentence begins with; empty where the
/// variants' names stand in its place.
struct Words {
  std::string_view title;
  std::string_view subject;
};
Words words_of(Contrast contrast);

/// What holding one variant of the case against the first came to: "With NVLink the same all-reduce
/// takes 92 % less time (11.9x, 95 % CI 11.8x to 12.0x)."
Text outcome_sentence(const CaseSummary& each, const Comparison& comparison);

/// Stands in the place of figures: "WRONG DATA".
Text wrong_data_mark();

/// The half width that intervals were to have: "±0.5 % of the ratio", or by size where none was
/// asked for.
std::string precision_text(const Settings& settings);

/// How far its interval is from what was asked for, with a space before it. Empty where it is as
/// narrow as that, or where none is shown.
std::string convergence_sentence(const RunSummary& summary, const CaseSummary& each,
                                 const Comparison& comparison);

}  // namespace linkgain
