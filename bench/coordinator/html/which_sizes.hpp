#pragma once

#include <string>
#include <vector>

#include "linkgain/summary/answer_choice.hpp"

namespace linkgain {

/// Finds what the question of sizes is about: the first of what the answer speaks of, or shows, of
/// which several sizes were compared. No case where there is none.
AnswerRow row_of_sizes(const RunSummary& summary, const Answer& answer);

/// At which sizes the first variant is faster than the one that the answer speaks of first.
struct WhichSizes {
  /// Speaks of settings that cost nothing, else of row_of_sizes() and one other curve. Empty where
  /// there is none.
  std::string verdict;
  std::vector<std::string> others;  ///< the same of each of several other curves that changed
};

/// Says it of all curves that changed by a few per cent, and how many variants it leaves out.
WhichSizes which_sizes(const RunSummary& summary, const Answer& answer);

}  // namespace linkgain
