#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// A speed-up and its interval with decimals in common: "11.9x", "11.8x", "12.0x". Where the
/// interval leaves 1 out there are enough decimals to see it.
struct RatioText {
  std::string estimate;
  std::optional<std::string> low;
  std::optional<std::string> high;
};
RatioText readable_ratio(const Ratio& ratio);

/// A share as "92 %", with more decimals near 0 and 1; below 0 as -readable_excess().
std::string readable_percent(double share);

/// A share that has no end at 1, as "5.3 %", "100 %", "250 %": more decimals near 0 alone.
std::string readable_excess(double share);

/// The share of a limit in whole percent: "73 %", "<1 %".
std::string readable_fraction(double fraction);

/// What NVLink carried of the bytes expected of it, without the sign: "100.4", "<0.1", "0".
std::string evidence_percent(double share);

/// Bytes to three digits in binary units: "2.01 GiB", "0 B".
std::string rounded_bytes(double bytes);

/// The interval that a run asked for: "±1 %".
std::string readable_precision(double precision);
/// "1 %".
std::string precision_percent(double precision);

/// "NVLink", "PCIe P2P", "host memory", "network", "mixed", "unknown".
std::string_view readable_path(Path path);

/// Algorithm and protocol, as far as they are known: "RING LL", "SIMPLE".
std::string readable_plan(const TransferPlan& plan);

/// "all_reduce" and those parameters that are not the default: "all_reduce float16 graph".
std::string curve_label(const Case& definition);

/// The same with the size: "all_reduce float16 1 GiB".
std::string case_label(const Case& definition);

/// "all-reduce", as a sentence has it.
std::string spoken_operation(const Case& definition);

/// A word for a POSIX shell that stands for exactly `text`.
std::string shell_quoted(std::string_view text);

}  // namespace linkgain
