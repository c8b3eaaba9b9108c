#include "linkgain/cases/program_metric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "linkgain/base/errors.hpp"

namespace linkgain {

bool is_timed(const ProgramMetric& metric) {
  return metric.name == ProgramMetric::kTime || metric.name == ProgramMetric::kStartUp ||
         metric.name == ProgramMetric::kStep;
}

bool is_always_measured(const ProgramMetric& metric) {
  return metric.name == ProgramMetric::kTime || metric.name == ProgramMetric::kStartUp;
}

void validate(const ProgramMetric& metric) {
  constexpr std::size_t kLongest = 40;
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const std::string& name = metric.name;
  const bool known = !name.empty() && name.size() <= kLongest && is_plain(name.front()) &&
                     std::ranges::all_of(name, [&](char c) {
                       return is_plain(c) || std::string_view("._+-").find(c) != std::string::npos;
                     });
  if (!known) {
    throw UsageError(
        fmt::format("metric '{}': a name has 1 to {} letters, digits and . _ + -, a letter or "
                    "digit first",
                    name, kLongest));
  }
  if (is_timed(metric) && metric.higher_is_better) {
    throw UsageError(fmt::format("metric '{}': more time is never better", name));
  }
}

std::string parse_unit(const std::string& text) {
  constexpr std::size_t kLongest = 20;
  const bool is_plain = std::ranges::none_of(
      text, [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; });
  if (is_plain && !text.empty() && text.size() <= kLongest) return text;
  throw UsageError(fmt::format("--unit '{}': a unit has 1 to {} characters", text, kLongest),
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
