#include "linkgain/html/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Page, OfMarkdownHasItsPartsAsElements) {
  const std::string html = html_of_markdown(
      "A `word` and a **strong** one.\n\nTimes:\n\n| Size | p2p |\n| ---: | --- |\n| 1 | a\\|b "
      "|\n\n"
      "- one\n  more\n  - inner\n- two\n\n```sh\nrun --a <b>\n```\n");
  EXPECT_EQ(html,
            "<p>A <code>word</code> and a <strong>strong</strong> one.</p>\n"
            "<div class=\"scroll\" role=\"group\" aria-label=\"Times\" tabindex=\"0\">\n<table>\n"
            "<caption>Times</caption>\n<thead><tr><th scope=\"col\" class=\"n\">Size</th>"
            "<th scope=\"col\">p2p</th></tr></thead>\n<tbody>\n"
            "<tr><th scope=\"row\" class=\"n\">1</th><td>a|b</td></tr>\n</tbody>\n</table>\n"
            "</div>\n<ul>\n<li>one<br/>more\n<ul>\n<li>inner</li>\n</ul>\n</li>\n<li>two</li>\n"
            "</ul>\n<pre tabindex=\"0\"><code>run --a &lt;b&gt;\n</code></pre>\n");
}

TEST(Page, BreaksNamesOfCasesBehindSlashesOnly) {
  EXPECT_EQ(html_of_markdown("`all_reduce/float32/8B`"),
            "<p><code>all_reduce/<wbr/>float32/<wbr/>8B</code></p>\n");
}

TEST(Page, TakesNothingOfOthersForMarkup) {
  const std::string bad = "<script>alert('1')</script> & \"q\" \x01 \xff `a **b";
  HtmlPage page{.title = bad, .lead = html_of_markdown(bad)};
  page.add("a", bad, folded(bad, html_of_markdown("| " + bad + " |\n| --- |\n| " + bad + " |\n")));
  page.sections.back().body += figure(bad, "", "", "") + html_of_markdown("```\n" + bad + "\n```");
  const std::string html = html_text(page);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("alert('1')")));
  EXPECT_THAT(html, Not(HasSubstr("\x01")));
  EXPECT_THAT(html, Not(HasSubstr("\xff")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(&apos;1&apos;)&lt;/script&gt; &amp; &quot;q"));
}

TEST(Page, OfAReportHasASectionForEachHeading) {
  const HtmlPage page =
      page_of_markdown("# A `run`\n\nLead.\n\n## What changed\n\nOne.\n\n### Part\n\n## Two\n");
  EXPECT_EQ(page.title, "A run");
  EXPECT_EQ(page.lead, "<p>Lead.</p>\n");
  ASSERT_EQ(page.sections.size(), 2U);
  EXPECT_EQ(page.sections[0].id, "what-changed");
  EXPECT_EQ(page.sections[0].name, "What changed");
  EXPECT_EQ(page.sections[0].body, "<p>One.</p>\n<h3>Part</h3>\n");
  EXPECT_EQ(page.sections[1].body, "");
}

/// What is behind a plot of every sample would fill ten pages.
TEST(Page, LeavesLongTablesOfFiguresOutOnPaper) {
  const auto figure_of = [](int rows) {
    std::string body;
    for (int i = 0; i < rows; ++i) body += "<tr><td>1</td></tr>\n";
    return figure("Power", "", "", scrolling_table("Power", "<th>W</th>", body));
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
