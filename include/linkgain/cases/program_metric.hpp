#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "linkgain/base/units.hpp"

namespace linkgain {

/// What a run of a user's program is measured by. linkgain times the first three itself; any other
/// is a number that the program prints, in whatever unit.
struct ProgramMetric {
  static constexpr std::string_view kTime = "time";         ///< from its start to its end
  static constexpr std::string_view kStartUp = "start-up";  ///< until the first line that matches
  static constexpr std::string_view kStep = "step";         ///< from one such line to the next

  std::string name = std::string(kTime);
  /// A rate, as tokens/s. A sample holds 1/number then, so that a larger one is slower everywhere.
  bool higher_is_better = false;
  std::string unit{};  ///< "tok/s", of the numbers; empty where nobody gave one
  std::string at{};    ///< "LOAD=8", where on the axis of --axis it is; empty without one

  /// Compares what is measured: another unit is another way to show it.
  bool operator==(const ProgramMetric& other) const {
    return name == other.name && higher_is_better == other.higher_is_better && at == other.at;
  }
};

/// Returns whether linkgain times it, in seconds.
bool is_timed(const ProgramMetric& metric);

/// Returns whether it is there without being asked for: the time, and the time until a start.
bool is_always_measured(const ProgramMetric& metric);

/// Returns "LOAD=8" of an axis and a value on it. Throws UsageError unless the axis has 1 to 40
/// letters, digits and "_-", a letter first, and the value as many letters, digits and "._+-".
std::string place_on_axis(const std::string& axis, const std::string& value);

/// Returns "LOAD" and "8" of "LOAD=8"; both are empty where there is no axis.
std::string axis_of(const ProgramMetric& metric);
std::string value_on_axis(const ProgramMetric& metric);
/// Returns the value where it is a number.
std::optional<double> number_on_axis(const ProgramMetric& metric);

/// Throws UsageError unless the name has 1 to 40 letters, digits and "._+-", a letter or digit
/// first, and the place on an axis is one.
void validate(const ProgramMetric& metric);

/// Returns a unit as --unit takes it: 1 to 20 characters, none of them a control character. Throws
/// UsageError.
std::string parse_unit(const std::string& text);

/// Returns what a sample holds of a number that was printed, and the number of a sample's.
double to_sample(const ProgramMetric& metric, double number);
double from_sample(const ProgramMetric& metric, Seconds sample);

/// Returns "101.4 s" if it is timed, else readable_number() and the unit: "131.66 tok/s".
std::string readable_value(const ProgramMetric& metric, Seconds sample);

/// Returns "rate", on an axis "rate at LOAD=8".
std::string metric_label(const ProgramMetric& metric);

/// Returns "rate (tok/s)", without a unit the name alone.
std::string name_with_unit(const ProgramMetric& metric);

/// Writes a number of whatever unit: to five digits, or to all before the point: "0.12346",
/// "1234567".
std::string readable_number(double number);

}  // namespace linkgain
