#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/summary/answer_choice.hpp"
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

/// Says of a case that shows nothing what would: "Use more launches.", "Raise --budget.".
std::string remedy_sentence(const CaseSummary& each);

/// Says what holding one variant of a training or a program against the first came to: "With NVLink
/// the training in fp32 takes 23 % less time (1.29x, 95 % CI 1.28x to 1.30x over 6 launches).", as
/// the guide has it; "With NVLink, it is 1.29x as fast (95 % CI 1.28x to 1.30x over 6 runs each)."
Text outcome_sentence(const CaseSummary& each, const Comparison& comparison);

/// Why a program's case has no speed-up: "Only p2p ran" since "every run with host failed".
struct Lack {
  std::string what;
  std::string why;
  bool operator==(const Lack&) const = default;
};
Lack lacking_speed_up(const CaseSummary& each, const Comparison& comparison);

/// Says that a control, as it should, is not shown to differ from the first variant in a metric at
/// any value of the axis, and where intervals are wide what would not show; or that it is, and what
/// that means for other differences.
std::string control_sentence(const std::vector<const CaseSummary*>& along, std::size_t control);

/// Says what became of each metric that the answer of a program speaks of, after what kept the
/// variants from being what they set.
std::vector<std::string> program_sentences(const RunSummary& summary, const Answer& answer);

/// Stands in the place of figures: "WRONG DATA".
Text wrong_data_mark();

/// Says what nvlink_bound() shows, of the training that would gain most, else of the operation;
/// empty where that is.
std::string nvlink_bound_sentence(const RunSummary& summary);

}  // namespace linkgain
