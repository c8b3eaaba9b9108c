#include "svg.hpp"

#include <fmt/format.h>

#include <array>

#include "linkgain/base/text.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

constexpr double kWidest = 0.62;  ///< of a character, as a share of its height

}  // namespace

double text_width(std::string_view text, double height) {
  return kWidest * height * static_cast<double>(display_width(text));
}

std::string fitted(std::string_view text, double width, double height) {
  return first_columns(text, static_cast<std::size_t>(width / (kWidest * height)), "…");
}

std::string svg_picture(std::string_view id, const Picture& picture, const std::string& content) {
  return fmt::format(
      "<svg viewBox=\"0 0 {0:g} {1:g}\" role=\"img\" aria-labelledby=\"{2}-t {2}-d\">\n"
      "<title id=\"{2}-t\">{3}</title>\n<desc id=\"{2}-d\">{4}</desc>\n{5}</svg>\n",
      kPictureWidth, picture.height, id, xml_escaped(one_line(picture.title)),
      xml_escaped(one_line(picture.description)), content);
}

void Legend::add(const std::string& sample, std::string_view name) {
  constexpr double kGap = 6.0;
  const std::string shown = fitted(name, kPictureWidth - kSample - kGap);
  const double width = kSample + kGap + text_width(shown);
  if (x_ > 0.0 && x_ + width > kPictureWidth) {
    x_ = 0.0;
    y_ += kLine;
  }
  svg_ +=
      fmt::format("<g transform=\"translate({:.1f} {:.1f})\">{}</g>\n", x_ + 2.0, y_ + 9.0, sample);
  svg_ += svg_text(x_ + kSample + kGap, y_ + 13.5, Anchor::start, shown);
  x_ += width + 2.0 * kGap;
}

std::string svg_text(double x, double y, Anchor anchor, std::string_view text,
                     std::string_view style) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     name_of(anchor), style.empty() ? "" : fmt::format(" class=\"{}\"", style),
                     xml_escaped(one_line(text)));
}

std::string svg_line(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", style, x1, y1, x2,
                     y2);
}

std::string svg_mark(double x, double y, std::size_t style, std::string_view title) {
  static constexpr std::array<std::string_view, kSeriesStyles> kShapes{
      "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",               // disc
      "m-3.2-3.2h6.4v6.4h-6.4z",                                    // square
      "m0-4.4l4.2 7.4h-8.4z",                                       // triangle
      "m0-4.6l4.6 4.6l-4.6 4.6l-4.6-4.6z",                          // diamond
      "m0 4.4l4.2-7.4h-8.4z",                                       // triangle, point down
      "m-4-1.2h2.8v-2.8h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8z",  // cross
      "m-4.6-1.6h9.2v3.2h-9.2z",                                    // bar lying
      "m-1.6-4.6h3.2v9.2h-3.2z",                                    // bar standing
  };
  const std::size_t place = style % kSeriesStyles;
  const std::string start =
      fmt::format("<path class=\"m s{}\" d=\"M{:.1f} {:.1f}{}\"", place, x, y, kShapes[place]);
  return title.empty()
             ? start + "/>\n"
             : fmt::format("{}><title>{}</title></path>\n", start, xml_escaped(one_line(title)));
}

}  // namespace linkgain
