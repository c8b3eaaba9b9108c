#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bridge_runs.hpp"
#include "linkgain/compare/comparison_report.hpp"
#include "linkgain/compare/run_comparison.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string size_name(const std::string& size) { return "all_reduce/float32/sum/" + size + "/np2"; }

/// Has all-reduces of these sizes, each in so many seconds.
RunFigures run_of_sizes(const std::string& name, const std::vector<std::string>& sizes,
                        double seconds) {
  std::vector<CaseFigures> cases;
  for (const std::string& size : sizes) {
    cases.push_back(timed(size_name(size), "p2p", launches_around(seconds, 0.001, 8)));
  }
  return run_with(name, cases);
}

std::string page_of(const RunFigures& before, const RunFigures& after) {
  return comparison_page(compare_runs(before, after, {}), Metric::time);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(ComparisonPage, HasThePicturesBehindTheSentence) {
  const std::string page = page_of(before_bridge(), after_bridge());
  EXPECT_THAT(page, HasSubstr("before.json and after.json"));
  const std::size_t picture = page.find("<figure>");
  ASSERT_NE(picture, std::string::npos);
  EXPECT_LT(page.find("</p>", page.find("<section id=\"result\"")), picture);
  EXPECT_GT(page.find("Before:"), picture);
  EXPECT_THAT(page.substr(picture), HasSubstr("class=\"band\""));
  EXPECT_THAT(page, HasSubstr("all_reduce 1 GiB, p2p"));
}

TEST(ComparisonPage, DrawsWhatIsDecidedFirstThenTheLargestDifferences) {
  const RunFigures old = run_with(
      "a", {timed(kSmall, "p2p", {1.0, 1.001, 0.999}), timed(kLarge, "p2p", {1.0, 1.001, 0.999})});
  const RunFigures wide = run_with(
      "b", {timed(kSmall, "p2p", {1.1, 1.101, 1.099}), timed(kLarge, "p2p", {0.2, 3.0, 2.0})});
  const std::string decided = page_of(old, wide);
  EXPECT_LT(decided.find("x slower"), decided.find("x inconclusive"));
  EXPECT_LT(decided.find("x inconclusive"), std::string::npos);
  const RunFigures before =
      run_with("a", {timed(kSmall, "p2p", {1.0}), timed(kLarge, "p2p", {1.0})});
  const RunFigures after =
      run_with("b", {timed(kSmall, "p2p", {1.1}), timed(kLarge, "p2p", {0.5})});
  const std::string page = page_of(before, after);
  EXPECT_LT(page.find("all_reduce 1 GiB, p2p"), page.find("all_reduce 64 KiB, p2p"));
  std::vector<std::string> sizes;
  for (int i = 1; i <= 31; ++i) sizes.push_back(std::to_string(4 * i) + "B");
  const std::string many = page_of(run_of_sizes("a", sizes, 1.0), run_of_sizes("b", sizes, 1.1));
  EXPECT_THAT(many, HasSubstr("24 of 31 cases"));
}

TEST(ComparisonPage, DrawsCurvesOfThreeSizesOrMore) {
  const auto curves = [](const std::vector<std::string>& sizes) {
    return count_of(page_of(run_of_sizes("a", sizes, 1.0), run_of_sizes("b", sizes, 0.9)),
                    "all_reduce: speed-up after the change");
  };
  EXPECT_EQ(curves({"1KiB", "1MiB"}), 0U);
  EXPECT_GE(curves({"1KiB", "1MiB", "1GiB"}), 1U);
}

TEST(ComparisonPage, DrawsNoCurveOfTrainingsAndPrograms) {
  std::vector<CaseFigures> cases;
  for (const char* name : {"gpt2_step/fp32/gpt2/np2", "exec/time", "exec/loss"}) {
    cases.push_back(timed(name, "", {1.0, 1.1}));
  }
  const std::string page = page_of(run_with("a", cases), run_with("b", cases));
  EXPECT_THAT(page, HasSubstr("3 of 3 cases"));
  EXPECT_THAT(page, Not(HasSubstr(": speed-up after the change")));
}

TEST(ComparisonPage, HasNoPictureWhereNothingIsComparable) {
  const std::string page = page_of(two_titans("a", true), two_titans("b", true));
  EXPECT_THAT(page, HasSubstr("<section id=\"result\""));
  EXPECT_THAT(page, Not(HasSubstr("<svg")));
}

}  // namespace
}  // namespace linkgain::test
