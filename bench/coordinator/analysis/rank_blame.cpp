#include "linkgain/analysis/rank_blame.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kFewestRanks = 3;

/// Gives the index of the case and of its variant; absent where the record has no such.
std::optional<std::pair<int, int>> place_of(const Record& record, std::string_view wanted,
                                            std::string_view variant) {
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    if (case_name(record.cases[i].definition) != wanted) continue;
    const VariantResult* found = find_variant(record.cases[i], variant);
    if (found == nullptr) return std::nullopt;
    return std::pair{static_cast<int>(i),
                     static_cast<int>(found - record.cases[i].variants.data())};
  }
  return std::nullopt;
}

std::map<int, double> medians_by_rank(const Record& record, std::pair<int, int> place) {
  std::map<int, std::vector<double>> times;
  for (const Sample& sample : record.cases[static_cast<std::size_t>(place.first)].samples) {
    if (sample.variant != place.second) continue;
    for (std::size_t rank = 0; rank < sample.times.size(); ++rank) {
      const std::optional<Seconds>& time = sample.times[rank];
      if (time) times[static_cast<int>(rank)].push_back(time->value);
    }
  }
  std::map<int, double> medians;
  for (const auto& [rank, values] : times) medians[rank] = median(values);
  return medians;
}

}  // namespace

std::optional<int> slowest_rank(const Record& record, std::string_view case_name,
                                std::string_view variant, double tolerance) {
  const auto place = place_of(record, case_name, variant);
  if (!place) return std::nullopt;
  const std::map<int, double> medians = medians_by_rank(record, *place);
  if (medians.size() < kFewestRanks) return std::nullopt;
  std::vector<double> values;
  for (const auto& [rank, value] : medians) values.push_back(value);
  const auto slowest =
      std::max_element(medians.begin(), medians.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (slowest->second <= median(values) * (1.0 + tolerance)) return std::nullopt;
  return slowest->first;
}

}  // namespace linkgain
