#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/statistics/statistics.hpp"

/// Scales of pictures: from values to places, and which values are named.
namespace linkgain {

/// What an axis counts, which decides how its values are written and which of them are round.
enum class Quantity {
  bytes,      ///< powers of two: "64 KiB"
  bandwidth,  ///< 1e9 bytes per second
  seconds,    ///< "10 us"
  ratio,      ///< "2x"
  number,     ///< of samples, MHz, W, °C
};

enum class Spacing { linear, logarithmic };

struct Axis {
  std::string title;
  Quantity quantity = Quantity::number;
  Spacing spacing = Spacing::linear;
};

/// Tells whether the axis has a place for the value.
bool fits(const Axis& axis, double value);

/// Names a value as the axis and the table behind a picture name it: "64 KiB", "324.3 GB/s", "9.71
/// us", "1.52x", "1980".
std::string axis_text(Quantity quantity, double value);
/// Names its interval, too, where there is one: "9.71 us (9.64 us to 9.78 us)".
std::string axis_text(Quantity quantity, double value, const std::optional<Interval>& interval);

struct Tick {
  double value = 0.0;
  std::string label;
};

/// An axis with the range of values that it shows, over `length` units of a picture. Values on a
/// logarithmic one are above 0.
class Scale {
 public:
  /// Scales what the axis has a place for of these values, with some room at both ends.
  Scale(const Axis& axis, const std::vector<double>& values, double length);

  /// Finds a place from 0 at the lower end to the length at the upper one.
  double place(double value) const;
  /// Lists at most `most` values that are round, in ascending order, three at least where the
  /// range has them.
  std::vector<Tick> ticks(int most) const;

 private:
  double position(double value) const;

  Axis axis_;
  double low_;  ///< in the axis' own spacing
  double high_;
  double length_;
};

}  // namespace linkgain
