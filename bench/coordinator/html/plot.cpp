#include "linkgain/html/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "linkgain/html/page.hpp"
#include "linkgain/tables/escaping.hpp"
#include "svg.hpp"

namespace linkgain {
namespace {

constexpr double kHeight = 290.0;
constexpr double kPlotLeft = 62.0;
constexpr double kPlotRight = 18.0;
constexpr double kPlotTop = 30.0;
constexpr double kPlotBottom = 44.0;
constexpr double kPlotWidth = kPictureWidth - kPlotLeft - kPlotRight;
constexpr double kPlotHeight = kHeight - kPlotTop - kPlotBottom;
constexpr int kMostPlotTicks = 6;
constexpr std::size_t kMostMarks = 40;  ///< of a series; of longer ones some points have one

struct Range {
  std::optional<double> least{};
  std::optional<double> most{};

  void add(double value) {
    least = std::min(least.value_or(value), value);
    most = std::max(most.value_or(value), value);
  }
};

bool fits(const Axis& axis, double value) { return axis.spacing == Spacing::linear || value > 0.0; }

/// Keeps points that both axes have a place for.
Plot shown_part(Plot plot) {
  for (Plot::Series& series : plot.series) {
    std::erase_if(series.points, [&](const Plot::Point& point) {
      return !fits(plot.x, point.x) || !fits(plot.y, point.y);
    });
  }
  return plot;
}

/// Where values go within the picture.
class Frame {
 public:
  explicit Frame(const Plot& plot) : x_(range_of_x(plot, kPlotWidth)), y_(range_of_y(plot)) {}

  double x(double value) const { return kPlotLeft + x_.place(value); }
  double y(double value) const { return kPlotTop + kPlotHeight - y_.place(value); }
  std::vector<Tick> x_ticks() const { return x_.ticks(kMostPlotTicks); }
  std::vector<Tick> y_ticks() const { return y_.ticks(kMostPlotTicks); }

 private:
  static Scale scale_of(const Axis& axis, const Range& range, double length) {
    const double least = range.least.value_or(1.0);
    return {axis, least, range.most.value_or(least), length};
  }

  static Scale range_of_x(const Plot& plot, double length) {
    Range range;
    for (const Plot::Series& series : plot.series) {
      for (const Plot::Point& point : series.points) range.add(point.x);
    }
    return scale_of(plot.x, range, length);
  }

  static Scale range_of_y(const Plot& plot) {
    Range range;
    for (const Plot::Series& series : plot.series) {
      for (const Plot::Point& point : series.points) {
        range.add(point.y);
        if (!point.interval) continue;
        for (const double end : {point.interval->low, point.interval->high}) {
          if (fits(plot.y, end)) range.add(end);
        }
      }
    }
    for (const Plot::Limit& limit : plot.limits) range.add(limit.y);
    if (plot.reference) range.add(*plot.reference);
    return scale_of(plot.y, range, kPlotHeight);
  }

  Scale x_;
  Scale y_;
};

/// Draws lines and names of round values, and what the axes are.
std::string axes(const Plot& plot, const Frame& frame) {
  const double bottom = kPlotTop + kPlotHeight;
  std::string text;
  for (const Tick& tick : frame.y_ticks()) {
    const double y = frame.y(tick.value);
    text += svg_line(kPlotLeft, y, kPlotLeft + kPlotWidth, y, "grid");
    text += svg_text(kPlotLeft - 6.0, y + 4.5, Anchor::end, tick.label);
  }
  for (const Tick& tick : frame.x_ticks()) {
    const double x = frame.x(tick.value);
    text += svg_line(x, kPlotTop, x, bottom, "grid");
    const double half = text_width(tick.label) / 2.0;
    text += svg_text(std::min(x, kPictureWidth - half), bottom + 17.0, Anchor::middle, tick.label);
  }
  text += svg_line(kPlotLeft, bottom, kPlotLeft + kPlotWidth, bottom, "axis");
  text += svg_line(kPlotLeft, kPlotTop, kPlotLeft, bottom, "axis");
  text += svg_text(2.0, 14.0, Anchor::start, plot.y.title, "title");
  text +=
      svg_text(kPlotLeft + kPlotWidth / 2.0, kHeight - 5.0, Anchor::middle, plot.x.title, "title");
  return text;
}

/// Draws limits: values stand above their lines, by turns at the left and the right end where they
/// are near; the legend has the names.
std::string limits(const Plot& plot, const Frame& frame) {
  std::string text;
  std::optional<double> last;
  bool right = false;
  if (plot.reference) {
    const double y = frame.y(*plot.reference);
    text += svg_line(kPlotLeft, y, kPlotLeft + kPlotWidth, y, "reference");
  }
  for (const Plot::Limit& limit : plot.limits) {
    const double y = frame.y(limit.y);
    right = last && std::abs(y - *last) < 1.5 * kTextHeight ? !right : false;
    last = y;
    text += svg_line(kPlotLeft, y, kPlotLeft + kPlotWidth, y, "limit");
    text +=
        svg_text(right ? kPlotLeft + kPlotWidth - 2.0 : kPlotLeft + 4.0, y - 5.0,
                 right ? Anchor::end : Anchor::start, axis_text(plot.y.quantity, limit.y), "halo");
  }
  return text;
}

/// Draws the intervals that can be seen, as bars with ends.
std::string intervals(const Plot& plot, const Plot::Series& series, std::size_t style,
                      const Frame& frame) {
  constexpr double kVisible = 2.0;
  std::string path;
  for (const Plot::Point& point : series.points) {
    if (!point.interval || !fits(plot.y, point.interval->low)) continue;
    const double x = frame.x(point.x);
    const double low = frame.y(point.interval->low);
    const double high = frame.y(point.interval->high);
    if (low - high < kVisible) continue;
    path += fmt::format("M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h6M{3:.1f} {2:.1f}h6", x, low,
                        high, x - 3.0);
  }
  return path.empty() ? path : fmt::format("<path class=\"i s{}\" d=\"{}\"/>\n", style, path);
}

std::string value_text(const Axis& axis, const Plot::Point& point) {
  const std::string value = axis_text(axis.quantity, point.y);
  return point.interval
             ? fmt::format("{} ({} to {})", value, axis_text(axis.quantity, point.interval->low),
                           axis_text(axis.quantity, point.interval->high))
             : value;
}

std::string curve(const Plot& plot, const Plot::Series& series, std::size_t style,
                  const Frame& frame) {
  std::string line;
  for (const Plot::Point& point : series.points) {
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", frame.x(point.x),
                        frame.y(point.y));
  }
  std::string text;
  if (series.points.size() > 1) {
    text = fmt::format("<path class=\"l s{0} d{0}\" d=\"{1}\"/>\n", style, line);
  }
  text += intervals(plot, series, style, frame);
  const std::size_t step = series.points.size() / kMostMarks * 4 + 1;
  for (std::size_t i = 0; i < series.points.size(); i += step) {
    const Plot::Point& point = series.points[i];
    text += svg_mark(frame.x(point.x), frame.y(point.y), style,
                     fmt::format("{}, {}: {}", series.name, axis_text(plot.x.quantity, point.x),
                                 value_text(plot.y, point)));
  }
  return text;
}

}  // namespace

std::string plot_svg(const Plot& whole, std::string_view id) {
  const Plot plot = shown_part(whole);
  const Frame frame(plot);
  std::string content = axes(plot, frame) + limits(plot, frame);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    content += curve(plot, plot.series[i], i % kSeriesStyles, frame);
  }
  return svg_picture(id, plot.title, plot.description, kHeight, content);
}

std::string plot_legend(const Plot& plot) {
  std::string items;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const std::size_t style = i % kSeriesStyles;
    items += fmt::format(
        "<li><svg viewBox=\"0 0 32 12\" aria-hidden=\"true\"><path class=\"l s{0} d{0}\" "
        "d=\"M1 6H31\"/>{1}</svg>{2}</li>\n",
        style, svg_mark(16.0, 6.0, style), xml_escaped(plot.series[i].name));
  }
  for (const Plot::Limit& limit : plot.limits) {
    items += fmt::format(
        "<li><svg viewBox=\"0 0 32 12\" aria-hidden=\"true\"><path class=\"limit\" "
        "d=\"M1 6H31\"/></svg>{}: {}</li>\n",
        xml_escaped(limit.name), axis_text(plot.y.quantity, limit.y));
  }
  return items.empty() ? items : fmt::format("<ul class=\"legend\">\n{}</ul>\n", items);
}

std::string plot_table(const Plot& plot) {
  std::vector<Table::Column> columns{{plot.x.title, kRight}};
  std::map<double, Cells> rows;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    columns.push_back({plot.series[i].name, kRight});
    for (const Plot::Point& point : plot.series[i].points) {
      Cells& row = rows[point.x];
      row.resize(1 + plot.series.size());
      row[0] = axis_text(plot.x.quantity, point.x);
      row[1 + i] = value_text(plot.y, point);
    }
  }
  Table table(columns, plot.title);
  for (const auto& [x, cells] : rows) table.add_row(cells);
  return to_html(table);
}

std::string plot_figure(const Plot& plot, std::string_view id) {
  return figure(plot.title, plot_svg(plot, id), plot_legend(plot), plot_table(plot));
}

}  // namespace linkgain
