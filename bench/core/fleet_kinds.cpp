#include "fleet_kinds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linkgain/core/units.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kMostNamed = 5;

}  // namespace

Kinds::Kinds(const std::vector<const FleetRecord*>& records, const FleetNames& names) {
  for (const FleetRecord* record : records) {
    Kind& kind = kinds_[kind_of(record->machine)];
    if (kind.members.empty()) {
      kind.machine = describe_machine(record->machine);
      const auto& ranks = record->machine.ranks;
      kind.model = !ranks.empty() && ranks.front().gpu ? ranks.front().gpu->name : kind.machine;
    }
    kind.members.push_back(record);
  }
  for (auto& [key, kind] : kinds_) {
    summarise(kind, names);
    const Kind*& largest = largest_[kind.model];
    if (largest == nullptr || largest->members.size() < kind.members.size()) largest = &kind;
  }
}

NodePeers Kinds::peers_of(const FleetRecord& record) const {
  const Kind& own = kinds_.at(kind_of(record.machine));
  if (own.members.size() >= kKindSize) return {&own, nullptr};
  const Kind* usual = largest_.at(own.model);
  if (usual->members.size() < kKindSize) return {};
  return {usual->machine == own.machine ? usual : nullptr, usual};
}

std::vector<std::string> Kinds::reaches(const FleetNames& names, double tolerance) const {
  std::vector<std::string> texts;
  for (const Kind* kind : by_size()) {
    if (texts.size() == kMostNamed) break;
    const std::string reach = reach_of(*kind, names, tolerance);
    if (reach.empty()) continue;
    texts.push_back(kinds_.size() > 1 ? fmt::format("of {}: {}", kind->machine, reach) : reach);
  }
  return texts;
}

std::string Kinds::text() const {
  const std::vector<const Kind*> sorted = by_size();
  std::vector<std::string> parts;
  for (const Kind* kind : sorted) {
    if (parts.size() == kMostNamed) break;
    parts.push_back(fmt::format("{} of {}", kind->members.size(), kind->machine));
  }
  if (sorted.size() > kMostNamed) {
    parts.push_back(fmt::format("{} more", sorted.size() - kMostNamed));
  }
  return fmt::format(
      "{}: {}",
      counted(static_cast<std::int64_t>(sorted.size()), "kind of machine", "kinds of machines"),
      fmt::join(parts, ", "));
}

std::vector<const Kind*> Kinds::by_size() const {
  std::vector<const Kind*> sorted;
  for (const auto& [key, kind] : kinds_) sorted.push_back(&kind);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Kind* a, const Kind* b) {
    return a->members.size() > b->members.size();
  });
  return sorted;
}

}  // namespace linkgain
