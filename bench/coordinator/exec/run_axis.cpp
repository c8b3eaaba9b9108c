#include "linkgain/exec/run_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/program_metric.hpp"
#include "linkgain/patterns/output_metrics.hpp"

namespace linkgain {
namespace {

/// Tells whether two values are the same text or the same number.
bool are_one(const std::string& a, const std::string& b) {
  const std::optional<double> number = parse_number(a);
  return a == b || (number && number == parse_number(b));
}

}  // namespace

std::string RunAxis::at(int value) const {
  return place_on_axis(name, values.at(static_cast<std::size_t>(value)));
}

RunAxis parse_axis(const std::string& text) {
  constexpr std::size_t kMostValues = 32;
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals + 1 == text.size()) {
    throw UsageError(fmt::format("--axis '{}' gives no values", text),
                     "write it as --axis LOAD=1,8,64");
  }
  RunAxis axis{.name = text.substr(0, equals), .values = split(text.substr(equals + 1), ',')};
  for (const char* const taken : {"variant", "round", "args"}) {
    if (axis.name != taken) continue;
    throw UsageError(fmt::format("--axis {}: {{{}}} has a meaning already", text, taken),
                     "give the axis another name");
  }
  if (axis.values.size() > kMostValues) {
    throw UsageError(fmt::format("--axis {}: {} values, at most {} are possible", axis.name,
                                 axis.values.size(), kMostValues));
  }
  for (auto value = axis.values.begin(); value != axis.values.end(); ++value) {
    place_on_axis(axis.name, *value);
    if (std::any_of(axis.values.begin(), value,
                    [&](const std::string& other) { return are_one(other, *value); })) {
      throw UsageError(fmt::format("--axis {}: the value {} is there twice", axis.name, *value));
    }
  }
  if (std::ranges::all_of(axis.values, [](const auto& each) { return !!parse_number(each); })) {
    std::ranges::sort(axis.values, {}, [](const auto& each) { return *parse_number(each); });
  }
  return axis;
}

}  // namespace linkgain
