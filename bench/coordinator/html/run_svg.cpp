#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "linkgain/base/text.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/html/run_page.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "run_pictures.hpp"
#include "svg.hpp"

namespace linkgain {
namespace {

constexpr double kMargin = 20.0;
constexpr double kGap = 36.0;
constexpr double kSentenceHeight = 21.0;
/// Makes text larger than on a page: a README shows the picture smaller than it is.
constexpr const char* kLargeText =
    "svg text { font-size: 15.5px; } svg .small, svg .soft, svg .halo { font-size: 14.5px; }\n";
constexpr double kLine = 1.35 * kSentenceHeight;

/// Puts one line of text below the others, and moves on by its height.
void add_line(std::string& content, double& y, const std::string& text, double step,
              std::string_view style) {
  y += step;
  content += svg_text(kMargin, y, Anchor::start, text, style);
}

}  // namespace

std::string svg_file(const std::string& sentence, const std::string& source,
                     const std::vector<Picture>& pictures) {
  const auto columns = static_cast<double>(std::max<std::size_t>(pictures.size(), 1));
  const double width = columns * kPictureWidth + (columns - 1.0) * kGap + 2.0 * kMargin;
  const auto letters =
      static_cast<std::size_t>((width - 2.0 * kMargin) / text_width("m", kSentenceHeight));
  std::string content;
  double y = kMargin - 6.0;
  for (const std::string& line : wrapped(sentence, letters)) {
    add_line(content, y, line, kLine, "sentence");
  }
  add_line(content, y, fitted(source, width - 2.0 * kMargin), kLine, "soft");
  const bool has_titles =
      std::ranges::any_of(pictures, [](const Picture& picture) { return !picture.title.empty(); });
  y += has_titles ? 34.0 : 6.0;
  double height = 0.0;
  double x = kMargin;
  for (const Picture& picture : pictures) {
    content += svg_text(x, y, Anchor::start, picture.title, "title");
    content += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n", x, y + 12.0,
                           picture.content);
    height = std::max(height, picture.height + 12.0);
    x += kPictureWidth + kGap;
  }
  height += y + kMargin / 2.0;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:g} {1:.0f}\" role=\"img\" aria-labelledby=\"answer\">\n"
      "<title id=\"answer\">{2}</title>\n<style>\n{3}{5}</style>\n"
      "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n{4}</svg>\n",
      width, height, xml_escaped(sentence), kPictureStyle, content, kLargeText);
}

std::string run_svg(const RunSummary& summary) {
  const Record& record = summary.record;
  return svg_file(one_line(answer_sentence(summary, answer_of(summary))),
                  fmt::format("{}, {}. Measured by linkgain.", describe_ranks(record.machine),
                              record.started.substr(0, record.started.find('T'))),
                  answer_pictures(summary));
}

}  // namespace linkgain
