#include "linkgain/cases/program_metric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kLongest = 40;

bool is_plain(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Tells whether all characters are letters, digits and those of `others`.
bool is_word(std::string_view text, std::string_view others) {
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [&](char c) {
    return is_plain(c) || others.find(c) != others.npos;
  });
}

}  // namespace

bool is_timed(const ProgramMetric& metric) {
  return metric.name == ProgramMetric::kTime || metric.name == ProgramMetric::kStartUp ||
         metric.name == ProgramMetric::kStep;
}

bool is_always_measured(const ProgramMetric& metric) {
  return metric.name == ProgramMetric::kTime || metric.name == ProgramMetric::kStartUp;
}

void validate(const ProgramMetric& metric) {
  const std::string& name = metric.name;
  if (!is_word(name, "._+-") || !is_plain(name.front())) {
    throw UsageError(
        fmt::format("metric '{}': a name has 1 to {} letters, digits and . _ + -, a letter or "
                    "digit first",
                    name, kLongest));
  }
  if (is_timed(metric) && metric.higher_is_better) {
    throw UsageError(fmt::format("metric '{}': more time is never better", name));
  }
  if (!metric.at.empty()) place_on_axis(axis_of(metric), value_on_axis(metric));
}

std::string place_on_axis(const std::string& axis, const std::string& value) {
  if (!is_word(axis, "_-") || std::isalpha(static_cast<unsigned char>(axis.front())) == 0) {
    throw UsageError(
        fmt::format("axis '{}': a name has 1 to {} letters, digits and _ -, a letter first", axis,
                    kLongest),
        "write it as LOAD=1,8,64");
  }
  if (!is_word(value, "._+-")) {
    throw UsageError(
        fmt::format("axis {}, value '{}': a value has 1 to {} letters, digits and . _ + -", axis,
                    value, kLongest),
        "write it as LOAD=1,8,64");
  }
  return fmt::format("{}={}", axis, value);
}

std::string axis_of(const ProgramMetric& metric) {
  return metric.at.substr(0, metric.at.find('='));
}

std::string value_on_axis(const ProgramMetric& metric) {
  const std::size_t equals = metric.at.find('=');
  return equals == metric.at.npos ? "" : metric.at.substr(equals + 1);
}

std::string parse_unit(const std::string& text) {
  constexpr std::size_t kLongestUnit = 20;
  const bool is_shown = std::ranges::none_of(
      text, [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; });
  if (is_shown && !text.empty() && text.size() <= kLongestUnit) return text;
  throw UsageError(fmt::format("--unit '{}': a unit has 1 to {} characters", text, kLongestUnit),
                   "write it as tok/s, or as rate=tok/s of one metric among several");
}

double to_sample(const ProgramMetric& metric, double number) {
  return metric.higher_is_better ? 1.0 / number : number;
}

double from_sample(const ProgramMetric& metric, Seconds sample) {
  return metric.higher_is_better ? 1.0 / sample.value : sample.value;
}

std::string readable_value(const ProgramMetric& metric, Seconds sample) {
  if (is_timed(metric)) return readable_time(sample);
  const std::string number = readable_number(from_sample(metric, sample));
  return metric.unit.empty() ? number : fmt::format("{} {}", number, metric.unit);
}

std::optional<double> number_on_axis(const ProgramMetric& metric) {
  return whole_number<double>(value_on_axis(metric));
}

std::string metric_label(const ProgramMetric& metric) {
  return metric.at.empty() ? metric.name : fmt::format("{} at {}", metric.name, metric.at);
}

std::string name_with_unit(const ProgramMetric& metric) {
  return metric.unit.empty() ? metric.name : fmt::format("{} ({})", metric.name, metric.unit);
}

std::string readable_number(double number) {
  constexpr double kLong = 1e5;  // from here on five digits would need an exponent
  constexpr double kTooLong = 1e12;
  return number >= kLong && number < kTooLong ? fmt::format("{:.0f}", number)
                                              : fmt::format("{:.5g}", number);
}

}  // namespace linkgain
