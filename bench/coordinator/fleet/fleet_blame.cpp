#include "fleet_blame.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "linkgain/compare/machine_changes.hpp"

namespace linkgain {
namespace {

/// Two ranks, the smaller one first.
using RankPair = std::pair<int, int>;

constexpr std::size_t kMostNamedPairs = 3;

std::optional<RankPair> pair_of(const FleetNames& names, std::uint32_t number) {
  const std::string& name = names.all().at(number).case_name;
  if (name.find("/pair=") == std::string::npos) return std::nullopt;
  const auto pair = parse_case_name(name).pair;
  if (!pair) return std::nullopt;
  return RankPair{std::min(pair->from, pair->to), std::max(pair->from, pair->to)};
}

bool has_rank(const RankPair& pair, int rank) { return pair.first == rank || pair.second == rank; }

/// Ranks of which two or more pairs were measured and all are slow.
std::vector<int> ranks_to_blame(const std::set<RankPair>& measured,
                                const std::set<RankPair>& slow) {
  std::set<int> ranks;
  for (const RankPair& pair : slow) ranks.insert({pair.first, pair.second});
  std::vector<int> blamed;
  for (const int rank : ranks) {
    const auto with_rank = [rank](const RankPair& pair) { return has_rank(pair, rank); };
    const auto all = std::count_if(measured.begin(), measured.end(), with_rank);
    if (all >= 2 && std::count_if(slow.begin(), slow.end(), with_rank) == all)
      blamed.push_back(rank);
  }
  return blamed;
}

bool covers(const std::vector<int>& ranks, const std::set<RankPair>& pairs) {
  return std::all_of(pairs.begin(), pairs.end(), [&](const RankPair& pair) {
    return std::any_of(ranks.begin(), ranks.end(), [&](int rank) { return has_rank(pair, rank); });
  });
}

std::string name_pairs(const Machine& machine, const std::set<RankPair>& pairs) {
  std::vector<std::string> labels;
  for (const auto& [from, to] : pairs) {
    labels.push_back(fmt::format("{}–{}", gpu_label(machine, from), gpu_label(machine, to)));
  }
  return labels.size() > kMostNamedPairs ? fmt::format("{} pairs", labels.size())
                                         : fmt::format("{}", fmt::join(labels, ", "));
}

}  // namespace

std::string blame_by_pairs(const FleetRecord& record, const std::vector<std::uint32_t>& slow,
                           const FleetNames& names) {
  std::set<RankPair> slow_pairs;
  for (const std::uint32_t number : slow) {
    if (const auto pair = pair_of(names, number)) slow_pairs.insert(*pair);
  }
  if (slow_pairs.empty()) return {};
  std::set<RankPair> measured;
  for (const FleetValue& value : record.values) {
    if (const auto pair = pair_of(names, value.name)) measured.insert(*pair);
  }
  const std::vector<int> ranks = ranks_to_blame(measured, slow_pairs);
  // Where every pair is slow, no GPU stands out.
  if (!ranks.empty() && slow_pairs.size() < measured.size() && covers(ranks, slow_pairs)) {
    std::vector<std::string> labels;
    for (const int rank : ranks) labels.push_back(gpu_label(record.machine, rank));
    return fmt::format("{}", fmt::join(labels, ", "));
  }
  return name_pairs(record.machine, slow_pairs);
}

}  // namespace linkgain
