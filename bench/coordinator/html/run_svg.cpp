#include <fmt/format.h>
#include <fmt/ranges.h>

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
constexpr double kOthersHeight = 15.5;
/// Makes text larger than on a page: a README shows the picture smaller than it is.
constexpr const char* kLargeText =
    "svg text { font-size: 15.5px; } svg .small, svg .soft, svg .halo { font-size: 14.5px; }\n";
constexpr double kLine = 1.35;  ///< of the text's height

/// Puts text of this height below the others, in lines that fit into the width, and moves on.
void add_text(std::string& content, double& y, const std::string& text, double width, double height,
              std::string_view style) {
  const auto letters = static_cast<std::size_t>(width / text_width("m", height));
  for (const std::string& line : split(in_lines(text, {.columns = letters}), '\n')) {
    if (line.empty()) continue;
    y += kLine * height;
    content += svg_text(kMargin, y, Anchor::start, line, style);
  }
}

}  // namespace

Headlines headlines_of(const RunSummary& summary) {
  constexpr std::size_t kMostLarge = 180;
  const std::vector<std::string> sentences = answer_sentences(summary, answer_of(summary));
  Headlines text{sentences.front(), {}};
  auto next = sentences.begin() + 1;
  for (; next != sentences.end() && text.large.size() + next->size() < kMostLarge; ++next) {
    text.large += " " + *next;
  }
  text.others = fmt::format("{}", fmt::join(next, sentences.end(), " "));
  return text;
}

std::string svg_file(const Headlines& text, const std::string& source,
                     const std::vector<Picture>& pictures) {
  const auto columns = static_cast<double>(std::max<std::size_t>(pictures.size(), 1));
  const double width = columns * kPictureWidth + (columns - 1.0) * kGap + 2.0 * kMargin;
  const double room = width - 2.0 * kMargin;
  std::string content;
  double y = kMargin - 6.0;
  add_text(content, y, text.large, room, kSentenceHeight, "sentence");
  y += kOthersHeight / 2.0;
  add_text(content, y, text.others, room, kOthersHeight, "");
  y += kLine * kSentenceHeight - kOthersHeight / 2.0;
  content += svg_text(kMargin, y, Anchor::start, fitted(source, room), "soft");
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
      width, height, xml_escaped(text.large), kPictureStyle, content, kLargeText);
}

std::string run_svg(const RunSummary& summary) {
  const Record& record = summary.record;
  const Headlines text = headlines_of(summary);
  return svg_file({one_line(text.large), one_line(text.others)},
                  fmt::format("{}, {}. Measured by linkgain.", describe_ranks(record.machine),
                              record.started.substr(0, record.started.find('T'))),
                  answer_pictures(summary));
}

}  // namespace linkgain
