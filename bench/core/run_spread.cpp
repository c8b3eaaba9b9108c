#include "linkgain/core/run_spread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace linkgain {
namespace {

bool is_steady(const CaseFigures& figures) {
  return figures.definition && figures.definition->size >= kSteadySize;
}

/// An assumption never claims more than the samples themselves show.
RunSpread assumed_spread(const CaseFigures& a, const CaseFigures& b) {
  const double assumed = is_steady(a) && is_steady(b) ? kAssumedSpread : kAssumedSmallSpread;
  return {std::max({assumed, a.sample_error.value_or(0.0), b.sample_error.value_or(0.0)}),
          std::nullopt};
}

}  // namespace

RunSpreads::Squares RunSpreads::squares_of(const CaseFigures& figures) {
  Squares squares;
  if (!figures.no_time.empty() || figures.launches.size() < 2) return squares;
  double mean = 0.0;
  for (const Seconds& launch : figures.launches) mean += std::log(launch.value);
  mean /= static_cast<double>(figures.launches.size());
  for (const Seconds& launch : figures.launches) {
    squares.sum += std::pow(std::log(launch.value) - mean, 2);
  }
  squares.degrees_of_freedom = static_cast<int>(figures.launches.size()) - 1;
  return squares;
}

std::string RunSpreads::pool_of(const CaseFigures& figures) {
  const std::string operation =
      figures.definition ? std::string(name_of(figures.definition->operation)) : "";
  return fmt::format("{}/{}/{}", operation, is_steady(figures), figures.variant);
}

void RunSpreads::add(const CaseFigures& figures) {
  const Squares own = squares_of(figures);
  Squares& pool = pools_[pool_of(figures)];
  pool.sum += own.sum;
  pool.degrees_of_freedom += own.degrees_of_freedom;
}

/// What the pools of both hold of other cases: a case's own launches must not count twice.
RunSpreads::Squares RunSpreads::others_of(const CaseFigures& a, const CaseFigures& b) const {
  Squares others;
  std::set<std::string> names{pool_of(a), pool_of(b)};
  for (const std::string& name : names) {
    const auto pool = pools_.find(name);
    if (pool == pools_.end()) continue;
    others.sum += pool->second.sum;
    others.degrees_of_freedom += pool->second.degrees_of_freedom;
  }
  for (const Squares& own : {squares_of(a), squares_of(b)}) {
    others.sum -= own.sum;
    others.degrees_of_freedom -= own.degrees_of_freedom;
  }
  others.sum = std::max(0.0, others.sum);
  return others;
}

RunSpread RunSpreads::between(const CaseFigures& a, const CaseFigures& b) const {
  const Squares first = squares_of(a);
  const Squares second = squares_of(b);
  Squares all{first.sum + second.sum, first.degrees_of_freedom + second.degrees_of_freedom};
  const Squares others = others_of(a, b);
  if (others.degrees_of_freedom > 0) {
    const int weight = std::min(kPoolWeight, others.degrees_of_freedom);
    all.sum += weight * others.sum / others.degrees_of_freedom;
    all.degrees_of_freedom += weight;
  }
  if (all.degrees_of_freedom == 0) return assumed_spread(a, b);
  return {std::sqrt(all.sum / all.degrees_of_freedom), all.degrees_of_freedom};
}

}  // namespace linkgain
