#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compared_runs.hpp"
#include "comparison_trend.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kCopy = "copy_push/256MiB/np2/pair=0-1";

RunFigures run_with(const std::string& name, std::vector<CaseFigures> cases) {
  RunFigures run = two_titans(name, true);
  run.cases = std::move(cases);
  return run;
}

CaseFigures steady(const std::string& name, const std::string& variant, double seconds) {
  return timed(name, variant, launches_around(seconds, 0.001, 8));
}

std::vector<RunComparison> against_first(const std::vector<RunFigures>& runs) {
  std::vector<RunComparison> comparisons;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    comparisons.push_back(compare_runs(runs.front(), runs[i], {}));
  }
  return comparisons;
}

/// Name, variant, and the launches of each run, by whose number it can be told apart.
struct Seen {
  std::string name;
  std::string variant;
  std::vector<std::size_t> launches;
  bool operator==(const Seen&) const = default;
};

std::vector<Seen> seen(const std::vector<TrendCase>& rows) {
  std::vector<Seen> all;
  for (const TrendCase& row : rows) {
    all.push_back({row.name, row.variant, {}});
    for (std::size_t run = 0; run <= row.later.size(); ++run) {
      const CaseFigures* figures = figures_of(row, run);
      all.back().launches.push_back(figures == nullptr ? 0 : figures->launches.size());
    }
  }
  return all;
}

TEST(TrendOf, HasTheCasesOfEveryRun) {
  const std::vector<RunFigures> runs{
      run_with("a", {timed(kLarge, "p2p", {1.0}), timed(kSmall, "p2p", {1.0})}),
      run_with("b", {timed(kCopy, "p2p", {1.0, 1.0}), timed(kLarge, "p2p", {1.0, 1.0})}),
      run_with("c", {timed(kSmall, "p2p", {1.0, 1.0, 1.0})})};
  const std::vector<RunComparison> comparisons = against_first(runs);
  EXPECT_THAT(seen(trend_of(comparisons)),
              ElementsAre(Seen{kCopy, "p2p", {0, 2, 0}}, Seen{kLarge, "p2p", {1, 2, 0}},
                          Seen{kSmall, "p2p", {1, 0, 3}}));
}

/// Sizes that only one run has stand among the others, as it measured them.
TEST(TrendOf, KeepsTheOrderOfTheRunThatHasMost) {
  const RunFigures one = run_with("a", {timed(kLarge, "p2p", {1.0})});
  const RunFigures more =
      run_with("b", {timed(kSmall, "p2p", {1.0, 1.0}), timed(kLarge, "p2p", {1.0, 1.0})});
  for (const std::vector<RunFigures>& runs :
       {std::vector{more, one, one}, {one, more, one}, {one, one, more}}) {
    const std::vector<RunComparison> comparisons = against_first(runs);
    const std::vector<TrendCase> rows = trend_of(comparisons);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].name, kSmall) << runs[0].name << runs[1].name << runs[2].name;
  }
}

TEST(TrendOf, JudgesEachRunAgainstTheFirst) {
  const std::vector<RunFigures> runs{
      run_with("a", {steady(kLarge, "p2p", 1.0)}), run_with("b", {steady(kLarge, "p2p", 1.1)}),
      run_with("c", {steady(kSmall, "p2p", 1.0)}), run_with("d", {steady(kLarge, "p2p", 1.0)})};
  const std::vector<RunComparison> comparisons = against_first(runs);
  const std::vector<TrendCase> rows = trend_of(comparisons);
  ASSERT_EQ(rows.size(), 2U);
  ASSERT_EQ(rows[0].name, kLarge);
  EXPECT_EQ(verdict_of(rows[0], 1), CaseVerdict::slower);
  EXPECT_EQ(verdict_of(rows[0], 2), CaseVerdict::missing);
  EXPECT_EQ(verdict_of(rows[0], 3), CaseVerdict::same);
  EXPECT_EQ(verdict_of(rows[1], 1), CaseVerdict::missing) << "neither has it";
  EXPECT_EQ(verdict_of(rows[1], 2), CaseVerdict::missing) << "the first lacks it";
}

TEST(TrendOf, KeepsCasesOfOneNameApart) {
  const CaseFigures twice = timed(kLarge, "p2p", {1.0});
  const std::vector<RunFigures> runs{run_with("a", {}), run_with("b", {twice, twice}),
                                     run_with("c", {twice})};
  const std::vector<RunComparison> comparisons = against_first(runs);
  EXPECT_THAT(seen(trend_of(comparisons)),
              ElementsAre(Seen{kLarge, "p2p", {0, 1, 1}}, Seen{kLarge, "p2p", {0, 1, 0}}));
}

TEST(TrendOf, HoldsFirstVariantsOfEachAgainstThatOfTheFirst) {
  const std::vector<RunFigures> runs{run_with("a", {timed(kLarge, "ring", {1.0})}),
                                     run_with("b", {timed(kLarge, "tree", {1.0, 1.0})}),
                                     run_with("c", {timed(kLarge, "ring", {1.0, 1.0, 1.0})})};
  const std::vector<RunComparison> comparisons = against_first(runs);
  EXPECT_THAT(seen(trend_of(comparisons)), ElementsAre(Seen{kLarge, "ring", {1, 2, 3}}));
}

TEST(TrendOf, IsEmptyWithoutCases) {
  const std::vector<RunFigures> runs{run_with("a", {}), run_with("b", {}), run_with("c", {})};
  EXPECT_THAT(trend_of(against_first(runs)), IsEmpty());
  EXPECT_THAT(trend_of({}), IsEmpty());
}

}  // namespace
}  // namespace linkgain::test
