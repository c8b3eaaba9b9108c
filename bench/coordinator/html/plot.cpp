#include "linkgain/html/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "linkgain/html/page.hpp"
#include "linkgain/tables/escaping.hpp"
#include "svg.hpp"

namespace linkgain {
namespace {

constexpr double kPlotLeft = 66.0;
constexpr double kPlotRight = 18.0;
constexpr double kPlotBottom = 44.0;
constexpr double kPlotWidth = kPictureWidth - kPlotLeft - kPlotRight;
constexpr double kPlotHeight = 206.0;
constexpr int kMostPlotTicks = 6;
constexpr std::size_t kMostMarks = 40;  ///< of a series; of longer ones some points have one

bool is_from_zero(const Axis& axis) {
  return axis.quantity == Quantity::bandwidth && axis.spacing == Spacing::linear;
}

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
  Frame(const Plot& plot, double top)
      : top_(top), x_(range_of_x(plot, kPlotWidth)), y_(range_of_y(plot)) {}

  double top() const { return top_; }
  double bottom() const { return top_ + kPlotHeight; }
  double x(double value) const { return kPlotLeft + x_.place(value); }
  double y(double value) const { return bottom() - y_.place(value); }
  std::vector<Tick> x_ticks() const { return x_.ticks(kMostPlotTicks); }
  std::vector<Tick> y_ticks() const { return y_.ticks(kMostPlotTicks); }

 private:
  static Scale range_of_x(const Plot& plot, double length) {
    std::vector<double> values;
    for (const Plot::Series& series : plot.series) {
      for (const Plot::Point& point : series.points) values.push_back(point.x);
    }
    return {plot.x, values, length};
  }

  static Scale range_of_y(const Plot& plot) {
    std::vector<double> values;
    for (const Plot::Series& series : plot.series) {
      for (const Plot::Point& point : series.points) {
        values.push_back(point.y);
        if (point.interval)
          values.insert(values.end(), {point.interval->low, point.interval->high});
      }
    }
    for (const Plot::Limit& limit : plot.limits) values.push_back(limit.y);
    if (plot.reference) values.push_back(*plot.reference);
    if (is_from_zero(plot.y)) values.push_back(0.0);
    return {plot.y, values, kPlotHeight};
  }

  double top_;
  Scale x_;
  Scale y_;
};

/// Draws lines and names of round values, and what the axes are.
std::string axes(const Plot& plot, const Frame& frame) {
  const double bottom = frame.bottom();
  std::string text;
  const auto half_of = [](const Tick& tick) { return text_width(tick.label, kLargestText) / 2.0; };
  // The lowest name makes room for one below it that begins left of the plot.
  const bool is_crowded = std::ranges::any_of(frame.x_ticks(), [&](const Tick& tick) {
    return frame.x(tick.value) - half_of(tick) < kPlotLeft;
  });
  const double lowest = is_crowded ? bottom - 2.0 : bottom + 4.5;
  for (const Tick& tick : frame.y_ticks()) {
    const double y = frame.y(tick.value);
    text += svg_line(kPlotLeft, y, kPlotLeft + kPlotWidth, y, "grid");
    text += svg_text(kPlotLeft - 6.0, std::min(y + 4.5, lowest), Anchor::end, tick.label);
  }
  for (const Tick& tick : frame.x_ticks()) {
    const double x = frame.x(tick.value);
    text += svg_line(x, bottom, x, bottom + 4.0, "grid");
    text += svg_text(std::min(x, kPictureWidth - half_of(tick)), bottom + 17.0, Anchor::middle,
                     tick.label);
  }
  text += svg_line(kPlotLeft, bottom, kPlotLeft + kPlotWidth, bottom, "axis");
  text += svg_text(2.0, frame.top() - 10.0, Anchor::start, plot.y.title, "soft");
  return text + svg_text(kPlotLeft + kPlotWidth / 2.0, bottom + 36.0, Anchor::middle, plot.x.title,
                         "soft");
}

/// Where a text stands.
struct Box {
  double left;
  double right;
  double top;
  double bottom;

  bool holds(double x, double y) const { return x > left && x < right && y > top && y < bottom; }
  bool overlaps(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

/// Tells whether a curve or the line of a limit goes through the box.
bool is_crossed(const Box& box, const Plot& plot, const Frame& frame) {
  constexpr int kSteps = 32;
  const auto goes_through = [&](const Plot::Series& series) {
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const Plot::Point& to = series.points[i];
      const Plot::Point& from = series.points[i == 0 ? 0 : i - 1];
      for (int step = 0; step <= kSteps; ++step) {
        const double share = static_cast<double>(step) / kSteps;
        if (box.holds(std::lerp(frame.x(from.x), frame.x(to.x), share),
                      std::lerp(frame.y(from.y), frame.y(to.y), share))) {
          return true;
        }
      }
    }
    return false;
  };
  return std::ranges::any_of(plot.series, goes_through) ||
         std::ranges::any_of(plot.limits, [&](const Plot::Limit& limit) {
           return frame.y(limit.y) > box.top && frame.y(limit.y) < box.bottom;
         });
}

/// Finds room for the text of a line: at its right end or its left one, above it or below; where
/// there is none, above its right end.
Box room_beside(double y, double width, const std::vector<Box>& taken, const Plot& plot,
                const Frame& frame) {
  constexpr double kGap = 3.0;
  const double right = kPlotLeft + kPlotWidth;
  const double left = kPlotLeft + 2.0 * kGap;
  const double above = y - kTextHeight - kGap;
  for (const double top : {above, y + kGap}) {
    for (const double begin : {right - width, left}) {
      const Box box{begin, begin + width, top, top + kTextHeight};
      const bool is_outside = box.top < frame.top() - kTextHeight || box.bottom > frame.bottom();
      const bool is_taken =
          std::ranges::any_of(taken, [&](const Box& other) { return box.overlaps(other); });
      if (!is_outside && !is_taken && !is_crossed(box, plot, frame)) return box;
    }
  }
  return {right - width, right, above, above + kTextHeight};
}

/// Draws limits with their names and values, which no curve crosses where there is room.
std::string limits(const Plot& plot, const Frame& frame) {
  std::string text;
  if (plot.reference) {
    const double y = frame.y(*plot.reference);
    text += svg_line(kPlotLeft, y, kPlotLeft + kPlotWidth, y, "reference");
  }
  const double title = frame.top() - 10.0;  // of the axis
  std::vector<Box> taken{{0.0, text_width(plot.y.title), title - kTextHeight, title + 3.0}};
  for (const Plot::Limit& limit : plot.limits) {
    const double y = frame.y(limit.y);
    const std::string name = fmt::format("{}: {}", limit.name, axis_text(plot.y.quantity, limit.y));
    taken.push_back(room_beside(y, text_width(name), taken, plot, frame));
    const Box& box = taken.back();
    const bool is_right = box.right >= kPlotLeft + kPlotWidth;
    text += svg_line(kPlotLeft, y, kPlotLeft + kPlotWidth, y, "limit");
    text += svg_text(is_right ? box.right : box.left, box.bottom - 2.0,
                     is_right ? Anchor::end : Anchor::start, name, "halo soft");
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
                                 axis_text(plot.y.quantity, point.y, point.interval)));
  }
  return text;
}

std::size_t style_of(const Plot& plot, std::size_t series) {
  return plot.series[series].style.value_or(series) % kSeriesStyles;
}

Legend legend_of(const Plot& plot) {
  Legend legend(0.0);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const std::size_t style = style_of(plot, i);
    legend.add(fmt::format("<path class=\"l s{0} d{0}\" d=\"M0 0H{1}\"/>{2}", style,
                           Legend::kSample, svg_mark(Legend::kSample / 2.0, 0.0, style)),
               plot.series[i].name);
  }
  return legend;
}

std::string content_of(const Plot& whole, const Legend& legend, double top) {
  const Plot plot = shown_part(whole);
  const Frame frame(plot, top);
  std::string content = legend.svg() + axes(plot, frame) + limits(plot, frame);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    content += curve(plot, plot.series[i], style_of(plot, i), frame);
  }
  return content;
}

/// Says where each series begins and ends.
std::string description_of(const Plot& plot) {
  std::string text;
  for (const Plot::Series& series : plot.series) {
    if (series.points.empty()) continue;
    const auto at = [&](const Plot::Point& point) {
      return fmt::format("{} at {}", axis_text(plot.y.quantity, point.y),
                         axis_text(plot.x.quantity, point.x));
    };
    text += fmt::format("{}{}: {} to {}.", text.empty() ? "" : " ", series.name,
                        at(series.points.front()), at(series.points.back()));
  }
  for (const Plot::Limit& limit : plot.limits) {
    text += fmt::format(" {}: {}.", limit.name, axis_text(plot.y.quantity, limit.y));
  }
  return text;
}

std::string table_of(const Plot& plot) {
  std::vector<Table::Column> columns{{plot.x.title, kRight}};
  std::map<double, Cells> rows;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    columns.push_back({plot.series[i].name, kRight});
    for (const Plot::Point& point : plot.series[i].points) {
      Cells& row = rows[point.x];
      row.resize(1 + plot.series.size());
      row[0] = axis_text(plot.x.quantity, point.x);
      row[1 + i] = axis_text(plot.y.quantity, point.y, point.interval);
    }
  }
  Table table(columns, plot.title);
  for (const auto& [x, cells] : rows) table.add_row(cells);
  return to_html(table);
}

}  // namespace

Picture picture_of(const Plot& plot) {
  const Legend legend = legend_of(plot);
  const double top = legend.bottom() + 30.0;
  Picture picture{.title = plot.title,
                  .description = description_of(plot),
                  .height = top + kPlotHeight + kPlotBottom,
                  .content = content_of(plot, legend, top),
                  .table = table_of(plot)};
  if (is_from_zero(plot.y)) {
    Plot logarithmic = plot;
    logarithmic.y.spacing = Spacing::logarithmic;
    picture.logarithmic = content_of(logarithmic, legend, top);
  }
  return picture;
}

}  // namespace linkgain
