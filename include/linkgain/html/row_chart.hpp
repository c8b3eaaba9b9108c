#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/html/axis.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

/// Rows over one axis, each a bar of parts or a value with its interval.
struct RowChart {
  struct Part {
    std::string name;
    double size = 0.0;                   ///< behind the part before it; may be below 0
    std::optional<Interval> interval{};  ///< 95 %, of the size; drawn where the last part begins
  };
  struct Row {
    std::string label;
    std::vector<Part> parts{};           ///< from 0 on
    std::optional<double> value{};       ///< of a row without parts
    std::optional<Interval> interval{};  ///< 95 %, of the value
    std::string text{};                  ///< what stands beside it: "79.6 ms"
  };

  std::string title;
  std::string description;
  Axis axis;
  std::vector<Row> rows{};
  std::optional<double> reference{};
};

/// Shows picture, legend of the parts and, folded, the table behind it; empty where there is no
/// row.
std::string row_chart_figure(const RowChart& chart, std::string_view id);

}  // namespace linkgain
