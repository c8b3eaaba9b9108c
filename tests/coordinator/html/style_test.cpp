#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "linkgain/html/page.hpp"

namespace linkgain::test {
namespace {

/// Variables of one block: "bg" and its colour, as 0xrrggbb.
using Colours = std::map<std::string, unsigned>;

Colours colours_of(std::string_view block) {
  Colours colours;
  for (std::size_t at = block.find("--"); at != std::string_view::npos; at = block.find("--", at)) {
    const std::size_t colon = block.find(": #", at);
    if (colon == std::string_view::npos) break;
    const std::string name(block.substr(at + 2, colon - at - 2));
    colours[name] =
        static_cast<unsigned>(std::stoul(std::string(block.substr(colon + 3, 6)), nullptr, 16));
    at = colon;
  }
  return colours;
}

/// Reads what stands between the braces of the `number`-th ":root".
Colours palette(int number) {
  std::size_t begin = kPageStyle.find(":root");
  for (int i = 0; i < number; ++i) begin = kPageStyle.find(":root", begin + 1);
  return colours_of(kPageStyle.substr(begin, kPageStyle.find('}', begin) - begin));
}

/// Follows WCAG 2.1, as contrast() does.
double luminance(unsigned colour) {
  const auto part = [&](int shift) {
    const double value = ((colour >> shift) & 0xffU) / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0);
}

double contrast(unsigned a, unsigned b) {
  const auto [dark, light] = std::minmax({luminance(a), luminance(b)});
  return (light + 0.05) / (dark + 0.05);
}

TEST(Style, ColoursHaveContrastInBothSchemes) {
  constexpr double kLevelAa = 4.5;
  for (int scheme = 0; scheme < 2; ++scheme) {
    const Colours colours = palette(scheme);
    ASSERT_EQ(colours.size(), 19U);
    for (const auto& [name, colour] : colours) {
      const bool is_line = name[0] == 's' || name == "ink" || name == "link";
      const bool is_ground = name[0] == 'h' || name == "box" || name == "bg";
      if (is_line) {
        EXPECT_GE(contrast(colour, colours.at("bg")), kLevelAa) << scheme << name;
        if (name[0] != 's' || name == "soft") {
          EXPECT_GE(contrast(colour, colours.at("box")), kLevelAa) << scheme << name;
        }
      }
      if (is_ground) {
        EXPECT_GE(contrast(colour, colours.at("ink")), kLevelAa) << scheme << name;
      }
    }
  }
}

TEST(Style, FetchesNothing) {
  EXPECT_THAT(kPageStyle, testing::Not(testing::HasSubstr("url(")));
  EXPECT_THAT(kPageStyle, testing::Not(testing::HasSubstr("@import")));
}

}  // namespace
}  // namespace linkgain::test
