#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "linkgain/plan/run_plan.hpp"

namespace linkgain {
namespace {

enum class Turn { largest_of_operation, largest_of_curve, smallest, between };

std::string curve_of(Case c) {
  c.launch = LaunchMode::stream;
  return curve_name(c);
}

/// The smallest and the largest size of each curve.
using Extremes = std::map<std::string, std::pair<Bytes, Bytes>>;

Extremes extremes_of(const std::vector<Case>& cases) {
  Extremes extremes;
  for (const Case& c : cases) {
    auto& [low, high] = extremes.try_emplace(curve_of(c), c.size, c.size).first->second;
    low = std::min(low, c.size);
    high = std::max(high, c.size);
  }
  return extremes;
}

}  // namespace

std::vector<int> order_within(const std::vector<Case>& cases, bool limited) {
  std::vector<int> order(cases.size());
  std::iota(order.begin(), order.end(), 0);
  if (!limited) return order;
  const Extremes extremes = extremes_of(cases);
  std::map<OperationKind, Bytes> largest;
  for (const Case& c : cases) {
    Bytes& size = largest.try_emplace(c.operation, c.size).first->second;
    size = std::max(size, c.size);
  }
  std::set<OperationKind> begun;
  std::vector<std::pair<Turn, std::int64_t>> keys;
  for (const Case& c : cases) {
    const auto& [low, high] = extremes.at(curve_of(c));
    if (c.size == largest.at(c.operation) && begun.insert(c.operation).second) {
      keys.emplace_back(Turn::largest_of_operation, 0);
    } else if (c.size == high) {
      keys.emplace_back(Turn::largest_of_curve, 0);
    } else if (c.size == low) {
      keys.emplace_back(Turn::smallest, 0);
    } else {
      keys.emplace_back(Turn::between, -c.size.value);
    }
  }
  std::ranges::stable_sort(order, {},
                           [&](int index) { return keys[static_cast<std::size_t>(index)]; });
  return order;
}

}  // namespace linkgain
