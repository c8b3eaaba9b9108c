#include "linkgain/html/row_chart.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkgain/html/page.hpp"
#include "linkgain/tables/escaping.hpp"
#include "svg.hpp"

namespace linkgain {
namespace {

constexpr double kRowHeight = 44.0;
constexpr double kBarHeight = 14.0;
constexpr double kChartLeft = 14.0;
constexpr double kChartTop = 6.0;
constexpr double kChartBottom = 42.0;
constexpr double kChartWidth = kPictureWidth - 2.0 * kChartLeft;
constexpr int kMostChartTicks = 5;
constexpr double kVisible = 6.0;  ///< of an interval; a narrower one hides behind its mark

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
    if (!row.parts.empty()) values.insert(values.end(), {0.0, end_of(row)});
    if (row.value) values.push_back(*row.value);
    if (const auto interval = drawn_interval(row)) {
      values.insert(values.end(), {interval->low, interval->high});
    }
  }
  if (chart.axis.spacing == Spacing::logarithmic) {
    std::erase_if(values, [](double value) { return value <= 0.0; });
  }
  if (values.empty()) values.push_back(1.0);
  const auto [least, most] = std::ranges::minmax(values);
  return {chart.axis, least, most, kChartWidth};
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
  return fmt::format(
      "<path class=\"i ink\" d=\"M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}v8M{1:.1f} "
      "{3:.1f}v8\"/>\n",
      low, high, y, y - 4.0);
}

std::string row_picture(const RowChart& chart, const RowChart::Row& row, double top,
                        const Scale& scale, const std::vector<std::string>& names) {
  const double right = text_width(row.text) + 8.0;
  std::string text = svg_text(kChartLeft, top + 15.0, Anchor::start,
                              fitted(row.label, kChartWidth - right), "halo");
  text += svg_text(kChartLeft + kChartWidth, top + 15.0, Anchor::end, row.text, "halo title");
  const double bar = top + 22.0;
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
  text += interval_picture(row, middle, scale);
  if (row.value && row.parts.empty()) {
    text += svg_mark(kChartLeft + scale.place(*row.value), middle, 0, row.label);
  }
  return text;
}

std::string axis_picture(const RowChart& chart, double bottom, const Scale& scale) {
  std::string text;
  for (const Tick& tick : scale.ticks(kMostChartTicks)) {
    const double x = kChartLeft + scale.place(tick.value);
    const double half = text_width(tick.label) / 2.0;
    text += svg_line(x, kChartTop, x, bottom, "grid");
    text += svg_text(std::clamp(x, half, kPictureWidth - half), bottom + 17.0, Anchor::middle,
                     tick.label);
  }
  text += svg_line(kChartLeft, bottom, kChartLeft + kChartWidth, bottom, "axis");
  if (chart.reference) {
    const double x = kChartLeft + scale.place(*chart.reference);
    text += svg_line(x, kChartTop, x, bottom, "reference");
  }
  return text +
         svg_text(kPictureWidth / 2.0, bottom + 37.0, Anchor::middle, chart.axis.title, "title");
}

std::string legend(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string items;
  for (const std::string& name : names) {
    items += fmt::format(
        "<li><svg viewBox=\"0 0 32 12\" aria-hidden=\"true\"><rect class=\"{}\" x=\"1\" y=\"1\" "
        "width=\"30\" height=\"10\"/></svg>{}</li>\n",
        part_style(names, name), xml_escaped(name));
  }
  return fmt::format("<ul class=\"legend\">\n{}</ul>\n", items);
}

const RowChart::Part* find_part(const RowChart::Row& row, const std::string& name) {
  const auto part = std::ranges::find(row.parts, name, &RowChart::Part::name);
  return part == row.parts.end() ? nullptr : &*part;
}

/// Puts each interval behind what it is of.
std::string table_of(const RowChart& chart, const std::vector<std::string>& names) {
  const auto text_of = [&](double value) { return axis_text(chart.axis.quantity, value); };
  const auto range_of = [&](const std::optional<Interval>& interval) {
    return interval ? fmt::format("{} to {}", text_of(interval->low), text_of(interval->high)) : "";
  };
  std::vector<Table::Column> columns{{""}};
  for (const std::string& name : names) {
    columns.push_back({name, kRight, true});
    columns.push_back({name + ", 95 % interval", kRight, true});
  }
  columns.push_back({chart.axis.title, kRight, true});
  columns.push_back({"95 % interval", kRight, true});
  Table table(columns, chart.title);
  for (const RowChart::Row& row : chart.rows) {
    Cells cells{row.label};
    for (const std::string& name : names) {
      const RowChart::Part* const part = find_part(row, name);
      append_cells(cells, part == nullptr ? Cells{"", ""}
                                          : Cells{text_of(part->size), range_of(part->interval)});
    }
    append_cells(cells, {row.text, range_of(row.interval)});
    table.add_row(std::move(cells));
  }
  return to_html(table);
}

}  // namespace

std::string row_chart_figure(const RowChart& chart, std::string_view id) {
  if (chart.rows.empty()) return {};
  const Scale scale = scale_of(chart);
  const std::vector<std::string> names = part_names(chart);
  const double bottom = kChartTop + kRowHeight * static_cast<double>(chart.rows.size());
  std::string content = axis_picture(chart, bottom, scale);
  double top = kChartTop;
  for (const RowChart::Row& row : chart.rows) {
    content += row_picture(chart, row, top, scale, names);
    top += kRowHeight;
  }
  return figure(chart.title,
                svg_picture(id, chart.title, chart.description, bottom + kChartBottom, content),
                legend(names), table_of(chart, names));
}

}  // namespace linkgain
