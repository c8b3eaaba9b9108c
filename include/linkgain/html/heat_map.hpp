#pragma once

#include <optional>
#include <string>
#include <vector>

namespace linkgain {

/// A table whose cells are shaded by their values, which stand in them.
struct HeatMap {
  struct Cell {
    std::string text;
    std::optional<double> value{};  ///< absent: not shaded
    std::string note{};             ///< below the text
  };
  std::string caption;
  std::string corner;  ///< title of the rows' names
  std::vector<std::string> columns{};
  std::vector<std::string> rows{};
  std::vector<std::vector<Cell>> cells{};  ///< by row
  /// From where on a shade is full: small differences stay pale, and one value that is far larger
  /// does not take their shades from the others; absent: the largest value.
  std::optional<double> full{};
  /// What has no shade; absent: the smallest value.
  std::optional<double> none{};
  /// Shows shades alone, with names of columns on end, so that a screen holds many.
  bool is_compact = false;
};

/// Makes an HTML table: the picture and what a screen reader reads are one.
std::string heat_map_table(const HeatMap& map);

}  // namespace linkgain
