#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/html/axis.hpp"
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
  };
  struct Limit {
    std::string name;
    double y = 0.0;
  };

  std::string title;
  std::string description;  ///< what a reader who does not see it must know
  Axis x;
  Axis y;
  std::vector<Series> series{};
  std::vector<Limit> limits{};
  std::optional<double> reference{};  ///< a line to be above or below of, as 1x of a speed-up
};

/// Draws the plot as an inline SVG picture with title and description. `id` is unique on the page.
/// Where an axis is logarithmic, points that are not above 0 are left out.
std::string plot_svg(const Plot& plot, std::string_view id);

/// Lists which mark is whose, and what the limits are, as an HTML list.
std::string plot_legend(const Plot& plot);

/// Shows its values as an HTML table: a row for each x, a column for each series.
std::string plot_table(const Plot& plot);

/// Shows picture, legend and, folded, the table behind it.
std::string plot_figure(const Plot& plot, std::string_view id);

}  // namespace linkgain
