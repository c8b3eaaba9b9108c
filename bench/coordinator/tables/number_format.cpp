#include "linkgain/tables/number_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace linkgain {
namespace {

constexpr int kMostDecimals = 5;
/// The least percent that are shown with one decimal; less has two.
constexpr double kLeastOneDecimal = 0.1;
/// Less has three decimals: two would leave one digit that tells something.
constexpr double kLeastTwoDecimals = 0.0995;
/// An interval of two launches may end anywhere: digits beyond these say nothing.
constexpr double kLeastShown = 0.005;
constexpr double kGreatestShown = 1000.0;
constexpr double kNear = 0.05;
constexpr int kMostNear = 4;

std::string times(double ratio, int decimals) { return fmt::format("{:.{}f}x", ratio, decimals); }

/// Tells whether a number that is not the border would look like it.
bool hides_difference(double number, double border, int decimals) {
  return number != border && times(number, decimals) == times(border, decimals);
}

int decimals_for(const Estimate& ratio, double tolerance) {
  std::vector<double> bounds;
  if (ratio.interval) bounds = {ratio.interval->low, ratio.interval->high};
  std::vector<double> numbers = bounds;
  numbers.push_back(ratio.value);
  const bool distinct = ratio.interval && !ratio.interval->holds(1.0);
  int decimals = ratio.value >= 9.995 ? 1 : ratio.value < kLeastTwoDecimals ? 3 : 2;
  const auto hides = [&](const std::vector<double>& shown, double border) {
    return std::ranges::any_of(
        shown, [&](double number) { return hides_difference(number, border, decimals); });
  };
  // Near 1x a share of a percent is an answer.
  const bool is_near = std::abs(ratio.value - 1.0) < kNear;
  const auto hides_any = [&] {
    return (distinct && hides(bounds, 1.0)) ||
           (is_near && ratio.interval && decimals < kMostNear &&
            hides_difference(ratio.interval->low, ratio.interval->high, decimals)) ||
           (tolerance > 0.0 &&
            (hides(numbers, 1.0 + tolerance) || hides(numbers, 1.0 / (1.0 + tolerance))));
  };
  while (decimals < kMostDecimals && hides_any()) ++decimals;
  return decimals;
}

int percent_decimals(double margin) {
  return margin >= 9.95 || margin == 0.0 ? 0 : margin >= kLeastOneDecimal ? 1 : 2;
}

}  // namespace

RatioText readable_ratio(const Estimate& ratio, double tolerance) {
  const int decimals = decimals_for(ratio, tolerance);
  const auto shown = [decimals](double number) {
    if (number > 0.0 && number < kLeastShown) return std::string("<0.01x");
    return number > kGreatestShown ? ">1000x" : times(number, decimals);
  };
  RatioText text{shown(ratio.value), {}, {}};
  if (ratio.interval) {
    text.low = shown(ratio.interval->low);
    text.high = shown(ratio.interval->high);
  }
  return text;
}

std::string RatioText::interval() const {
  return low ? fmt::format("{}–{}", low->substr(0, low->size() - 1), *high) : std::string();
}

std::string RatioText::with_interval() const {
  return low ? fmt::format("{}, 95 % CI {} to {}", estimate, *low, *high) : estimate;
}

SpokenRatio spoken_ratio(const Estimate& ratio, double tolerance) {
  if (ratio.value >= 1.0) {
    const RatioText text = readable_ratio(ratio, tolerance);
    return {text.estimate + " as fast", text};
  }
  const RatioText text = readable_ratio(inverse_of(ratio), tolerance);
  return {text.estimate + " as long", text};
}

std::string readable_percent(double share, Whole whole) {
  if (share < 0.0) {
    const std::string text = readable_percent(-share, Whole::no);
    return text.front() == '<' ? ">-" + text.substr(1) : "-" + text;
  }
  const double percent = 100.0 * share;
  if (percent < kLeastOneDecimal) return rounded_percent(share, 2);
  if (whole == Whole::no) return fmt::format("{:.{}f} %", percent, percent_decimals(percent));
  const double margin = std::min(percent, std::abs(100.0 - percent));
  // Between 90 and 99 % no decimal is lost that a reader misses.
  const bool near_all = percent >= 90.0 && percent < 99.0;
  return fmt::format("{:.{}f} %", percent, near_all ? 0 : percent_decimals(margin));
}

std::string percent_beside(double border, double share, Whole whole) {
  const std::string text = readable_percent(share, whole);
  if (share == border || text != readable_percent(border, whole)) return text;
  const auto with_decimals = [](double number, int decimals) {
    return fmt::format("{:.{}f} %", 100.0 * number, decimals);
  };
  int decimals = 1;
  while (decimals < kMostDecimals &&
         with_decimals(share, decimals) == with_decimals(border, decimals)) {
    ++decimals;
  }
  return with_decimals(share, decimals);
}

std::string rounded_percent(double share, int decimals) {
  if (share > 0.0 && share < std::pow(10.0, -2 - decimals)) {
    return fmt::format("<{:.{}f} %", std::pow(10.0, -decimals), decimals);
  }
  return fmt::format("{:.{}f} %", 100.0 * share, share == 0.0 ? 0 : decimals);
}

std::string rounded_bytes(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes >= 1023.5) {
    bytes /= 1024.0;
    ++unit;
  }
  const int decimals = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", bytes, decimals, kUnits[unit]);
}

}  // namespace linkgain
