#include "run_trend.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace linkgain {
namespace {

/// Finds the row of a case: by the first run's figures, which all comparisons point to, else by
/// name and variant.
class Rows {
 public:
  Rows(std::vector<TrendCase>& rows, std::size_t comparisons)
      : rows_(rows), comparisons_(comparisons) {}

  void add(const CaseComparison& each, std::size_t comparison) {
    std::vector<std::size_t>& known =
        each.before != nullptr ? by_first_[each.before] : by_name_[{each.name, each.variant}];
    // A name that a run has twice is two cases.
    const auto unused = std::find_if(known.begin(), known.end(), [&](std::size_t place) {
      return rows_[place].later[comparison] == nullptr;
    });
    if (unused != known.end()) {
      rows_[*unused].later[comparison] = &each;
      return;
    }
    known.push_back(rows_.size());
    rows_.push_back({each.name, each.definition, each.variant, each.before,
                     std::vector<const CaseComparison*>(comparisons_, nullptr)});
    rows_.back().later[comparison] = &each;
  }

 private:
  std::vector<TrendCase>& rows_;
  std::size_t comparisons_;
  std::map<const CaseFigures*, std::vector<std::size_t>> by_first_;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> by_name_;
};

/// How many cases the run of one side has.
std::size_t cases_of(const RunComparison& comparison, const CaseFigures* CaseComparison::*side) {
  return static_cast<std::size_t>(
      std::count_if(comparison.cases.begin(), comparison.cases.end(),
                    [side](const CaseComparison& each) { return each.*side != nullptr; }));
}

/// The last of those whose later run has most cases.
std::size_t fullest_of(const std::vector<RunComparison>& comparisons) {
  std::size_t fullest = 0;
  for (std::size_t i = 1; i < comparisons.size(); ++i) {
    const bool fuller = cases_of(comparisons[i], &CaseComparison::after) >=
                        cases_of(comparisons[fullest], &CaseComparison::after);
    if (fuller) fullest = i;
  }
  return fullest;
}

/// In the first run's own order, of which the figures are parts; what it lacks follows.
bool is_before_in_first(const TrendCase& a, const TrendCase& b) {
  if (a.first == nullptr || b.first == nullptr) return a.first != nullptr && b.first == nullptr;
  return std::less<>()(a.first, b.first);
}

}  // namespace

std::vector<TrendCase> trend_of(const std::vector<RunComparison>& comparisons) {
  std::vector<TrendCase> all;
  if (comparisons.empty()) return all;
  Rows rows(all, comparisons.size());
  const auto add = [&](std::size_t comparison) {
    for (const CaseComparison& each : comparisons[comparison].cases) rows.add(each, comparison);
  };
  const std::size_t fullest = fullest_of(comparisons);
  add(fullest);
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    if (i != fullest) add(i);
  }
  const RunComparison& any = comparisons.front();
  if (cases_of(any, &CaseComparison::before) >
      cases_of(comparisons[fullest], &CaseComparison::after)) {
    std::stable_sort(all.begin(), all.end(), is_before_in_first);
  }
  return all;
}

const CaseFigures* figures_of(const TrendCase& row, std::size_t run) {
  if (run == 0) return row.first;
  const CaseComparison* each = row.later.at(run - 1);
  return each == nullptr ? nullptr : each->after;
}

CaseVerdict verdict_of(const TrendCase& row, std::size_t run) {
  const CaseComparison* each = row.later.at(run - 1);
  return each == nullptr ? CaseVerdict::missing : each->verdict;
}

}  // namespace linkgain
