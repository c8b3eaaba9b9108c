#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/html/axis.hpp"
#include "linkgain/html/picture.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "linkgain/tables/text_lines.hpp"

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
    Tone tone = Tone::plain;             ///< of the value and its text
    std::vector<double> each{};          ///< what the value is the mean of, one below the other
    std::optional<Interval> band{};      ///< what counts as like the reference
  };

  std::string title;
  Axis axis;
  std::vector<Row> rows{};
  std::optional<double> reference{};
};

/// Draws the chart, with a legend of the parts, and makes the table behind it. There is a row.
Picture picture_of(const RowChart& chart);

/// Draws the rows of a longer chart in two halves along one axis.
std::vector<Picture> columns_of(const RowChart& chart);

}  // namespace linkgain
