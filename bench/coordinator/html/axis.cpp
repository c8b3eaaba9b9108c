#include "linkgain/html/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ranges>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/program_metric.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

constexpr double kRoom = 0.04;  ///< beyond the outermost values, as a share of the range

/// Writes no zeros at the end: "0.001", "200", "1.5"; "24k", "1.5M" where there is little room.
std::string short_number(double value, int digits) {
  constexpr double kLong = 1e4;
  static constexpr std::array<std::pair<double, const char*>, 3> kParts{
      {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [part, name] : kParts) {
    if (std::abs(value) >= std::max(part, kLong) * 0.9999) {
      return fmt::format("{:.{}g}{}", value / part, digits, name);
    }
  }
  return fmt::format("{:.{}g}", value, digits);
}

/// Says "10 us", "500 ns", "2 s".
std::string round_time(double seconds, int digits) {
  static constexpr std::array<std::pair<double, const char*>, 4> kUnits{
      {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  for (const auto& [unit, name] : kUnits) {
    if (seconds >= unit * 0.9999) {
      return fmt::format("{} {}", short_number(seconds / unit, digits), name);
    }
  }
  return fmt::format("{} s", short_number(seconds, digits));
}

std::string tick_label(Quantity quantity, double value, int digits) {
  switch (quantity) {
    case Quantity::bytes:
      return readable_bytes(Bytes{std::llround(value)});
    case Quantity::seconds:
      return round_time(value, digits);
    case Quantity::ratio:
      return short_number(value, digits) + "x";
    case Quantity::bandwidth:
    case Quantity::number:
      return short_number(value, digits);
  }
  return {};
}

/// Names values in ascending order with as many digits as tell neighbours apart.
std::vector<Tick> named(Quantity quantity, const std::vector<double>& values) {
  constexpr int kFewestDigits = 4;
  std::vector<Tick> ticks;
  for (int digits = kFewestDigits; digits <= std::numeric_limits<double>::max_digits10; ++digits) {
    ticks.clear();
    for (const double value : values) ticks.push_back({value, tick_label(quantity, value, digits)});
    if (std::ranges::adjacent_find(ticks, {}, &Tick::label) == ticks.end()) break;
  }
  return ticks;
}

/// Finds the least of 1, 2, 5, 10, … that is `least` or more.
double round_step(double least) {
  const double decade = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * decade >= least * 0.9999) return factor * decade;
  }
  return 10.0 * decade;
}

std::vector<double> linear_values(double low, double high, int most) {
  const double step = round_step((high - low) / most);
  std::vector<double> values;
  const double first = std::ceil(low / step - 1e-9) * step;
  // Counted: of a large number a small step changes nothing.
  for (int i = 0; i <= most && first + i * step <= high + step * 1e-9; ++i) {
    const double value = first + i * step;
    values.push_back(std::abs(value) < step * 1e-9 ? 0.0 : value);
  }
  return values;
}

/// Lists powers of `base` whose exponents are multiples of the least step that leaves few enough.
std::vector<double> powers(double base, double low, double high, int most) {
  const auto first = static_cast<int>(std::ceil(low / std::log10(base) - 1e-9));
  const auto last = static_cast<int>(std::floor(high / std::log10(base) + 1e-9));
  int step = 1;
  while ((last - first) / step + 1 > most) ++step;
  std::vector<double> values;
  for (int exponent = first; exponent <= last; ++exponent) {
    if (exponent % step == 0) values.push_back(std::pow(base, exponent));
  }
  return values;
}

/// Lists 1, 2 and 5 of every decade.
std::vector<double> thirds_of_decades(double low, double high) {
  std::vector<double> values;
  for (auto decade = static_cast<int>(std::floor(low)); decade <= high; ++decade) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10.0, decade);
      if (std::log10(value) >= low - 1e-9 && std::log10(value) <= high + 1e-9) {
        values.push_back(value);
      }
    }
  }
  return values;
}

}  // namespace

std::string axis_text(Quantity quantity, double value) {
  switch (quantity) {
    case Quantity::bytes:
      return readable_bytes(Bytes{std::llround(value)});
    case Quantity::bandwidth:
      return readable_bandwidth(value);
    case Quantity::seconds:
      return readable_time(Seconds{value});
    case Quantity::ratio:
      return std::abs(value - 1.0) < 0.1 ? fmt::format("{:.3f}x", value)
                                         : readable_ratio({.value = value}).estimate;
    case Quantity::number:
      return readable_number(value);
  }
  return {};
}

std::string axis_text(Quantity quantity, double value, const std::optional<Interval>& interval) {
  const std::string text = axis_text(quantity, value);
  if (!interval) return text;
  return fmt::format("{} ({} to {})", text, axis_text(quantity, interval->low),
                     axis_text(quantity, interval->high));
}

bool fits(const Axis& axis, double value) {
  return std::isfinite(value) && (axis.spacing == Spacing::linear || value > 0.0);
}

Scale::Scale(const Axis& axis, const std::vector<double>& values, double length)
    : axis_(axis), low_(position(1.0)), high_(low_), length_(length) {
  auto shown = values | std::views::filter([&](double value) { return fits(axis, value); });
  if (!shown.empty()) {
    const auto [least, most] = std::ranges::minmax(shown);
    low_ = position(least);
    high_ = position(most);
  }
  if (high_ - low_ < 1e-9) {  // one value stands in the middle, but 0 at the beginning
    const double around = axis_.spacing == Spacing::logarithmic
                              ? 0.15
                              : 0.1 * std::max(std::abs(low_), std::abs(high_));
    low_ -= around;
    high_ += around > 0.0 ? around : 1.0;
  }
  const double room = kRoom * (high_ - low_);
  low_ -= room;
  high_ += room;
}

double Scale::position(double value) const {
  if (axis_.spacing != Spacing::logarithmic) return value;
  return std::log10(std::max(value, std::numeric_limits<double>::min()));  // of 0, no infinity
}

double Scale::place(double value) const {
  return (position(value) - low_) / (high_ - low_) * length_;
}

std::vector<Tick> Scale::ticks(int most) const {
  std::vector<double> values;
  if (axis_.spacing == Spacing::linear) {
    values = linear_values(low_, high_, most);
  } else {
    const double base = axis_.quantity == Quantity::bytes ? 2.0 : 10.0;
    values = powers(base, low_, high_, most);
    if (base == 10.0) {
      const std::vector<double> more = thirds_of_decades(low_, high_);
      if (static_cast<int>(more.size()) <= most) values = more;
    }
    if (values.size() < 3 && base == 10.0) {
      values = linear_values(std::pow(10.0, low_), std::pow(10.0, high_), most);
    }
  }
  return named(axis_.quantity, values);
}

}  // namespace linkgain
