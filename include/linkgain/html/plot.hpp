#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/html/axis.hpp"
#include "linkgain/html/picture.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

/// Curves over one axis, with what they are compared with.
struct Plot {
  struct Point {
    double x = 0.0;
    double y = 0.0;
    std::optional<Interval> interval{};  ///< of y, 95 %
  };
  struct Series {
    std::string name;
    std::vector<Point> points{};  ///< by x
    std::optional<std::size_t>
        style{};  ///< of what is drawn alike in other plots; absent: by place
  };
  struct Limit {
    std::string name;
    double y = 0.0;
  };

  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series{};
  std::vector<Limit> limits{};
  std::optional<double> reference{};  ///< a line to be above or below of, as 1x of a speed-up
};

/// Draws the plot, with its legend, and makes the table behind it: a row for each x, a column for
/// each series. Where an axis is logarithmic, points that are not above 0 are left out. Linear
/// bandwidths begin at 0, and have a logarithmic form, too.
Picture picture_of(const Plot& plot);

}  // namespace linkgain
