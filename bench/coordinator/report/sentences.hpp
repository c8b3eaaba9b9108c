#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "linkgain/summary/run_summary.hpp"
#include "linkgain/tables/document.hpp"

/// What a report's parts say in common.
namespace linkgain {

/// The words for one contrast: the column's title, and what a sentence begins with; empty where the
/// variants' names stand in its place.
struct Words {
  std::string_view title;
  std::string_view subject;
};
Words words_of(Contrast contrast);

/// Names the case's variant below that title: "Y" and "N", or by its name.
std::string row_name(const CaseSummary& each, std::size_t variant);

/// Says what holding one variant of a training or a program against the first came to: "With NVLink
/// the training takes 23 % less time (1.29x, 95 % CI 1.28x to 1.30x over 6 launches)."
Text outcome_sentence(const CaseSummary& each, const Comparison& comparison);

/// Stands in the place of figures: "WRONG DATA".
Text wrong_data_mark();

/// Names the half width that intervals were to have: "±0.5 % of the ratio", or by size where none
/// was asked for.
std::string precision_text(const Settings& settings);

/// Says how far its interval is from what was asked for, with a space before it. Empty where it is
/// as narrow as that, or where none is shown.
std::string convergence_sentence(const RunSummary& summary, const CaseSummary& each,
                                 const Comparison& comparison);

/// Shows the guide's own table: what all steps of the first training take with each variant, how
/// much less time that is, and what of it is communication; below it one table over all trainings
/// where there are several, and why others were not measured. Empty where the record has no
/// training.
Document training_tables(const RunSummary& summary);

/// Says what nvlink_bound() shows, of the training that would gain most, else of the operation;
/// empty where that is.
std::string nvlink_bound_sentence(const RunSummary& summary);

}  // namespace linkgain
