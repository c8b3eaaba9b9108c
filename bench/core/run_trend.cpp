#include "linkgain/core/run_trend.hpp"

#include <algorithm>
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

}  // namespace

std::vector<TrendCase> trend_of(const std::vector<RunComparison>& comparisons) {
  std::vector<TrendCase> all;
  Rows rows(all, comparisons.size());
  const auto add = [&](std::size_t comparison) {
    for (const CaseComparison& each : comparisons[comparison].cases) rows.add(each, comparison);
  };
  if (comparisons.empty()) return all;
  add(comparisons.size() - 1);
  for (std::size_t i = 0; i + 1 < comparisons.size(); ++i) add(i);
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
