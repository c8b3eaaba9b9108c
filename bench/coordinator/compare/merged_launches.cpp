#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "foreign_runs.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/compare/machine_changes.hpp"

namespace linkgain {
namespace {

void require_alike(const RunFigures& first, const RunFigures& other) {
  const std::vector<Change> changes = changes_between(first, other);
  if (changes.empty()) return;
  std::vector<std::string> texts;
  for (const Change& change : changes) {
    texts.push_back(fmt::format("{}: {} → {}", change.what, change.before, change.after));
  }
  throw UsageError(
      fmt::format("{} and {} are not launches of one program on one machine: {}", first.name,
                  other.name, fmt::join(texts, "; ")),
      "give runs that are to be compared as words of their own, and as one side what is alike");
}

std::optional<double> larger(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

/// `own` is of the file `name`, the launch of this number.
void add_launch(CaseFigures& merged, const CaseFigures& own, const std::string& name, int launch) {
  if (merged.no_time.empty() && !own.no_time.empty()) {
    merged.no_time = fmt::format("{} in {}", own.no_time, name);
  }
  if (!own.no_time.empty() || !own.time) return;
  merged.launches.push_back({launch, *own.time});
  merged.sample_error = larger(merged.sample_error, own.sample_error);
  if (merged.time) return;
  merged.time = own.time;
  merged.algbw = own.algbw;
  merged.busbw = own.busbw;
}

/// Until now the first launch's, at whose time its bandwidths are.
void set_mean_time(CaseFigures& merged) {
  if (!merged.no_time.empty() || merged.launches.empty()) {
    merged.time.reset();
    merged.launches.clear();
    return;
  }
  const Seconds time = geometric_mean(merged.launches);
  const double factor = merged.time->value / time.value;
  if (merged.algbw) *merged.algbw *= factor;
  if (merged.busbw) *merged.busbw *= factor;
  merged.time = time;
}

CaseFigures& entry_of(std::vector<CaseFigures>& cases, const CaseFigures& own) {
  const auto known = std::find_if(cases.begin(), cases.end(), [&](const CaseFigures& each) {
    return each.name == own.name && each.variant == own.variant;
  });
  if (known != cases.end()) return *known;
  CaseFigures& added = cases.emplace_back();
  added.name = own.name;
  added.definition = own.definition;
  added.variant = own.variant;
  return added;
}

}  // namespace

RunFigures merge_launches(const std::vector<RunFigures>& files, const std::string& name) {
  RunFigures merged = files.at(0);
  merged.name = name;
  merged.cases.clear();
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i > 0) require_alike(files.front(), files[i]);
    for (const CaseFigures& own : files[i].cases) {
      add_launch(entry_of(merged.cases, own), own, files[i].name, static_cast<int>(i));
    }
  }
  for (CaseFigures& figures : merged.cases) set_mean_time(figures);
  return merged;
}

}  // namespace linkgain
