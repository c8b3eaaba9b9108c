#include "linkgain/html/row_chart.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "linkgain/base/units.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/tables/escaping.hpp"
#include "svg.hpp"

namespace linkgain {
namespace {

constexpr double kRowHeight = 38.0;
constexpr double kBarHeight = 12.0;
constexpr double kChartLeft = 8.0;
constexpr double kChartBottom = 42.0;
constexpr double kChartWidth = kPictureWidth - 2.0 * kChartLeft;
constexpr int kMostChartTicks = 5;
constexpr double kVisible = 6.0;  ///< of an interval; a narrower one hides behind its mark

/// Finds the style of a tone, whose mark and colour differ from the others'.
std::size_t style_of(Tone tone) {
  constexpr std::array<std::size_t, 4> kStyles{0, 2, 6, 1};
  return kStyles[static_cast<std::size_t>(tone)];
}

double end_of(const RowChart::Row& row) {
  double end = 0.0;
  for (const RowChart::Part& part : row.parts) end += part.size;
  return end;
}

/// Finds where it is drawn: of the value, or of where the last part begins.
std::optional<Interval> drawn_interval(const RowChart::Row& row) {
  if (row.parts.empty() || !row.parts.back().interval) return row.interval;
  const Interval& size = *row.parts.back().interval;
  const double end = end_of(row);
  return Interval{end - size.high, end - size.low};
}

/// Makes bars begin at 0; values need not have it in sight.
Scale scale_of(const RowChart& chart) {
  std::vector<double> values;
  if (chart.reference) values.push_back(*chart.reference);
  for (const RowChart::Row& row : chart.rows) {
    if (row.band) values.insert(values.end(), {row.band->low, row.band->high});
    values.insert(values.end(), row.each.begin(), row.each.end());
    if (!row.parts.empty()) values.insert(values.end(), {0.0, end_of(row)});
    if (row.value) values.push_back(*row.value);
    if (const auto interval = drawn_interval(row)) {
      values.insert(values.end(), {interval->low, interval->high});
    }
  }
  return {chart.axis, values, kChartWidth};
}

/// Lists the names of parts, in order of appearance: the places of their styles.
std::vector<std::string> part_names(const RowChart& chart) {
  std::vector<std::string> names;
  for (const RowChart::Row& row : chart.rows) {
    for (const RowChart::Part& part : row.parts) {
      if (std::ranges::find(names, part.name) == names.end()) names.push_back(part.name);
    }
  }
  return names;
}

std::string part_style(const std::vector<std::string>& names, const std::string& name) {
  const auto place = std::ranges::find(names, name) - names.begin();
  return fmt::format("b{}", place % 4);
}

std::string interval_picture(const RowChart::Row& row, double y, const Scale& scale) {
  const std::optional<Interval> interval = drawn_interval(row);
  if (!interval) return {};
  const double low = kChartLeft + scale.place(interval->low);
  const double high = kChartLeft + scale.place(interval->high);
  if (high - low < kVisible) return {};
  const std::string style = row.parts.empty() ? fmt::format("s{}", style_of(row.tone)) : "ink";
  return fmt::format(
      "<path class=\"i {4}\" d=\"M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}v8M{1:.1f} "
      "{3:.1f}v8\"/>\n",
      low, high, y, y - 4.0, style);
}

/// Draws every single value as a ring, the first one on top.
std::string rings(const RowChart& chart, const RowChart::Row& row, double top, const Scale& scale) {
  std::string text;
  for (std::size_t i = 0; i < row.each.size(); ++i) {
    const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(row.each.size());
    text += fmt::format(
        "<circle class=\"ring\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{}"
        "</title></circle>\n",
        kChartLeft + scale.place(row.each[i]), top + place * kBarHeight,
        axis_text(chart.axis.quantity, row.each[i]));
  }
  return text;
}

/// Shades the part of a row that its band takes, up to the ends of the axis.
std::string band_picture(const Interval& band, double top, const Scale& scale) {
  const double low = std::clamp(scale.place(band.low), 0.0, kChartWidth);
  const double high = std::clamp(scale.place(band.high), 0.0, kChartWidth);
  return fmt::format(
      "<rect class=\"band\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
      kChartLeft + low, top, high - low, kRowHeight);
}

std::string row_picture(const RowChart& chart, const RowChart::Row& row, double top,
                        const Scale& scale, const std::vector<std::string>& names) {
  const double right = text_width(row.text) + 8.0;
  std::string text = svg_text(kChartLeft, top + 14.0, Anchor::start,
                              fitted(row.label, kChartWidth - right), "halo");
  text += svg_text(
      kChartLeft + kChartWidth, top + 14.0, Anchor::end, row.text,
      row.tone == Tone::plain ? "halo" : fmt::format("halo title t{}", style_of(row.tone)));
  const double bar = top + 20.0;
  const double middle = bar + kBarHeight / 2.0;
  double from = 0.0;
  for (const RowChart::Part& part : row.parts) {
    const double to = from + part.size;
    const double begin = kChartLeft + scale.place(std::min(from, to));
    text += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>"
        "{}</title></rect>\n",
        part_style(names, part.name), begin, bar,
        std::max(0.5, kChartLeft + scale.place(std::max(from, to)) - begin), kBarHeight,
        xml_escaped(fmt::format("{}: {}", part.name, axis_text(chart.axis.quantity, part.size))));
    from = to;
  }
  text += rings(chart, row, bar, scale) + interval_picture(row, middle, scale);
  if (row.value && row.parts.empty()) {
    text += svg_mark(kChartLeft + scale.place(*row.value), middle, style_of(row.tone), row.label);
  }
  return text;
}

std::string axis_picture(const RowChart& chart, double top, double bottom, const Scale& scale) {
  std::string text;
  for (const Tick& tick : scale.ticks(kMostChartTicks)) {
    const double x = kChartLeft + scale.place(tick.value);
    const double half = text_width(tick.label, kLargestText) / 2.0;
    text += svg_line(x, top, x, bottom, "grid");
    text += svg_text(std::clamp(x, half, kPictureWidth - half), bottom + 17.0, Anchor::middle,
                     tick.label);
  }
  text += svg_line(kChartLeft, bottom, kChartLeft + kChartWidth, bottom, "axis");
  if (chart.reference) {
    const double x = kChartLeft + scale.place(*chart.reference);
    text += svg_line(x, top, x, bottom, "reference");
  }
  return text +
         svg_text(kPictureWidth / 2.0, bottom + 36.0, Anchor::middle, chart.axis.title, "soft");
}

Legend legend_of(const std::vector<std::string>& names) {
  Legend legend(0.0);
  if (names.size() < 2) return legend;
  for (const std::string& name : names) {
    legend.add(fmt::format("<rect class=\"{}\" y=\"-5\" width=\"{}\" height=\"10\"/>",
                           part_style(names, name), Legend::kSample),
               name);
  }
  return legend;
}

/// Shows each part, or the value with its interval and what it is the mean of.
std::string table_of(const RowChart& chart, const std::vector<std::string>& names) {
  const Quantity quantity = chart.axis.quantity;
  std::vector<Table::Column> columns{{""}};
  for (const std::string& name : names) columns.push_back({name, kRight});
  columns.push_back({chart.axis.title, kRight});
  columns.push_back({"95 % interval", kRight});
  columns.push_back({"each"});
  Table table(columns, chart.title);
  for (const RowChart::Row& row : chart.rows) {
    Cells cells{row.label};
    for (const std::string& name : names) {
      const auto part = std::ranges::find(row.parts, name, &RowChart::Part::name);
      cells.emplace_back(part == row.parts.end() ? ""
                                                 : axis_text(quantity, part->size, part->interval));
    }
    std::vector<std::string> each;
    for (const double value : row.each) each.push_back(axis_text(quantity, value));
    append_cells(cells,
                 {row.text,
                  row.interval ? fmt::format("{} to {}", axis_text(quantity, row.interval->low),
                                             axis_text(quantity, row.interval->high))
                               : "",
                  fmt::format("{}", fmt::join(each, ", "))});
    table.add_row(std::move(cells));
  }
  return to_html(table);
}

}  // namespace

namespace {

Picture drawn(const RowChart& chart, const Scale& scale) {
  const std::vector<std::string> names = part_names(chart);
  const Legend legend = legend_of(names);
  const double first = legend.bottom() + 4.0;
  const double bottom = first + kRowHeight * static_cast<double>(chart.rows.size());
  std::string content = legend.svg();
  std::vector<std::string> texts;
  double top = first;
  for (const RowChart::Row& row : chart.rows) {
    texts.push_back(fmt::format("{}: {}.", row.label, row.text));
    if (row.band) content += band_picture(*row.band, top, scale);
    top += kRowHeight;
  }
  content += axis_picture(chart, first, bottom, scale);
  top = first;
  for (const RowChart::Row& row : chart.rows) {
    content += row_picture(chart, row, top, scale, names);
    top += kRowHeight;
  }
  return {.title = chart.title,
          .description = fmt::format("{}", fmt::join(texts, " ")),
          .height = bottom + kChartBottom,
          .content = content,
          .table = table_of(chart, names)};
}

}  // namespace

Picture picture_of(const RowChart& chart) { return drawn(chart, scale_of(chart)); }

std::vector<Picture> columns_of(const RowChart& chart) {
  constexpr std::size_t kMostInOne = 6;
  std::vector<Picture> pictures;
  const std::size_t rows = chart.rows.size();
  const std::size_t step = rows > kMostInOne ? divide_up(rows, std::size_t{2}) : rows;
  for (std::size_t begin = 0; begin < rows; begin += step) {
    RowChart part = chart;
    const auto first = chart.rows.begin() + static_cast<std::ptrdiff_t>(begin);
    part.rows.assign(first, first + static_cast<std::ptrdiff_t>(std::min(step, rows - begin)));
    if (begin > 0) part.title += ", continued";
    pictures.push_back(drawn(part, scale_of(chart)));
  }
  return pictures;
}

}  // namespace linkgain
