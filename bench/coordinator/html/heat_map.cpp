#include "linkgain/html/heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linkgain/html/page.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

constexpr int kShades = 5;

struct ShadeRange {
  double none = 0.0;
  double full = 0.0;
};

ShadeRange range_of(const HeatMap& map) {
  std::optional<double> least;
  std::optional<double> most;
  for (const auto& row : map.cells) {
    for (const HeatMap::Cell& cell : row) {
      if (!cell.value) continue;
      least = std::min(least.value_or(*cell.value), *cell.value);
      most = std::max(most.value_or(*cell.value), *cell.value);
    }
  }
  const double none = map.none.value_or(least.value_or(0.0));
  return {none, map.full.value_or(most.value_or(none))};
}

/// Chooses a shade, from 0 to kShades.
int shade_of(double value, const ShadeRange& range) {
  if (range.full <= range.none) return 0;
  const double share = (value - range.none) / (range.full - range.none);
  return std::clamp(static_cast<int>(std::lround(share * kShades)), 0, kShades);
}

}  // namespace

std::string heat_map_table(const HeatMap& map) {
  const ShadeRange range = range_of(map);
  std::string head = fmt::format("<th scope=\"col\">{}</th>", xml_escaped(map.corner));
  for (const std::string& column : map.columns) {
    head += fmt::format("<th scope=\"col\">{}</th>", xml_escaped(column));
  }
  std::string body;
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    body += fmt::format("<tr><th scope=\"row\">{}</th>", xml_escaped(map.rows[row]));
    std::size_t place = 0;
    for (const HeatMap::Cell& cell : map.cells[row]) {
      const std::string shade =
          cell.value ? fmt::format(" class=\"h{}\"", shade_of(*cell.value, range)) : "";
      const std::string note =
          cell.note.empty() ? "" : fmt::format("<br/><small>{}</small>", xml_escaped(cell.note));
      const std::string text = xml_escaped(cell.text);
      body += map.is_compact ? fmt::format("<td{0} title=\"{1}: {2}\"><span>{2}</span></td>", shade,
                                           xml_escaped(map.columns[place++]), text)
                             : fmt::format("<td{}>{}{}</td>", shade, text, note);
    }
    body += "</tr>\n";
  }
  return scrolling_table(map.caption, head, body,
                         map.is_compact ? "scroll heat compact" : "scroll heat");
}

}  // namespace linkgain
