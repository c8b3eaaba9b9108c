#pragma once

#include <optional>
#include <string>

#include "linkgain/statistics/statistics.hpp"

/// Numbers as tables and sentences show them: as many digits as tell something.
namespace linkgain {

/// A speed-up and its interval with decimals in common: "11.9x", "11.8x", "12.0x". Where the
/// interval leaves 1 out there are enough decimals to see it. What is hardly more than 0, or very
/// much, as an end of two launches' interval may be, is "<0.01x" or ">1000x". Beside a tolerance
/// there are enough decimals to see on which side of it each number lies.
struct RatioText {
  std::string estimate;
  std::optional<std::string> low;
  std::optional<std::string> high;

  std::string interval() const;       ///< "11.8–12.0x", empty without one
  std::string with_interval() const;  ///< "11.9x, 95 % CI 11.8x to 12.0x", "11.9x" without one
};
RatioText readable_ratio(const Estimate& ratio, double tolerance = 0.0);

/// A ratio as a sentence has it.
struct SpokenRatio {
  std::string words;  ///< "1.43x as fast"; of what is slower "1.69x as long"
  RatioText text;     ///< of that number
};
SpokenRatio spoken_ratio(const Estimate& ratio, double tolerance = 0.0);

/// Whether 1 is all that there can be of a share, so that what is near it has decimals.
enum class Whole { yes, no };

/// Shows a share as "92 %", with more decimals near 0 and 1; one below 0, as of time that is not
/// saved, and one that has no end at 1 near 0 alone: "-100 %", "5.3 %", "250 %". Little is not
/// nothing:
/// "<0.01 %", ">-0.01 %".
std::string readable_percent(double share, Whole whole = Whole::yes);

/// Shows the same, with more decimals where it would look like the border, and is not.
std::string percent_beside(double border, double share, Whole whole = Whole::yes);

/// Rounds to so many decimals: "73 %", "<1 %", "100.4 %", "<0.1 %"; nothing at all is "0 %".
std::string rounded_percent(double share, int decimals);

/// Shows bytes to three digits in binary units: "2.01 GiB", "0 B".
std::string rounded_bytes(double bytes);

}  // namespace linkgain
