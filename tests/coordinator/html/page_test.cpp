#include "linkgain/html/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Page, TakesNothingOfOthersForMarkup) {
  const std::string bad = "<script>alert('1')</script> & \"q\" \x01 \xff `a **b";
  HtmlPage page{.title = bad};
  page.add("a", bad, folded(bad, figure({.title = bad, .description = bad}, "id")));
  const std::string html = html_text(page);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("alert('1')")));
  EXPECT_THAT(html, Not(HasSubstr("\x01")));
  EXPECT_THAT(html, Not(HasSubstr("\xff")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(&apos;1&apos;)&lt;/script&gt; &amp; &quot;q"));
}

/// Saves paper: the table behind a plot of every sample would fill ten pages.
TEST(Page, LeavesLongTablesOfFiguresOutOnPaper) {
  const auto figure_of = [](int rows) {
    std::string body;
    for (int i = 0; i < rows; ++i) body += "<tr><td>1</td></tr>\n";
    return figure({.title = "Power",
                   .description = "d",
                   .table = scrolling_table("Power", "<th>W</th>", body)},
                  "power");
  };
  EXPECT_THAT(figure_of(200), HasSubstr("<details class=\"screen\">"));
  EXPECT_THAT(figure_of(20), HasSubstr("<details>"));
}

TEST(Page, ForbidsRequestsAndScripts) {
  HtmlPage page{.title = "t"};
  page.add("empty", "Empty", "");
  EXPECT_TRUE(page.sections.empty());
  EXPECT_THAT(html_text(page), HasSubstr("content=\"default-src 'none'; style-src"));
}

}  // namespace
}  // namespace linkgain::test
