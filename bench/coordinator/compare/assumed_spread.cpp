#include "assumed_spread.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace linkgain {
namespace {

std::string text_of(SpreadSource source) {
  switch (source) {
    case SpreadSource::gpus:
      return fmt::format("{:.1f} % from 1 MiB on, {:.0f} % for all else", 100 * kAssumedSpread,
                         100 * kAssumedSmallSpread);
    case SpreadSource::cpu_memory:
      return fmt::format("{:.0f} % in CPU memory, where the load of the host decides",
                         100 * kAssumedCpuSpread);
  }
  throw std::invalid_argument("no such source of a spread");
}

double largest(const std::optional<double>& a, const std::optional<double>& b) {
  return std::max(a.value_or(0.0), b.value_or(0.0));
}

}  // namespace

SpreadSource spread_source(const RunFigures& run) {
  return run.settings.backend == "mpi" ? SpreadSource::cpu_memory : SpreadSource::gpus;
}

ComparisonSpread assumed_spread(SpreadSource source, const CaseFigures& before,
                                const CaseFigures& after) {
  const double error = largest(before.sample_error, after.sample_error);
  switch (source) {
    case SpreadSource::gpus:
      return {std::max(assumed_deviation(before.definition.size), error), std::nullopt};
    case SpreadSource::cpu_memory:
      return {std::max(kAssumedCpuSpread, error), std::nullopt};
  }
  throw std::invalid_argument("no such source of a spread");
}

std::string assumed_spreads_text(const RunComparison& comparison) {
  std::set<SpreadSource> sources;
  for (const CaseComparison& each : comparison.cases) {
    if (!each.spread || each.spread->degrees_of_freedom) continue;
    sources.insert(spread_source(*comparison.before));
  }
  std::vector<std::string> texts;
  for (const SpreadSource source : sources) texts.push_back(text_of(source));
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace linkgain
