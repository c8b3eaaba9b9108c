#include "fleet_kinds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kMostNamed = 5;

/// Records of machines of which the same is known, those first of which most is.
using Group = std::pair<Likeness, std::vector<const FleetRecord*>>;

std::vector<Group> groups_of(const std::vector<const FleetRecord*>& records) {
  std::map<Likeness, std::vector<const FleetRecord*>> sorted;
  for (const FleetRecord* record : records) {
    sorted[likeness_of(record->machine)].push_back(record);
  }
  std::vector<Group> groups(sorted.begin(), sorted.end());
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return unknown_counts(a.first) < unknown_counts(b.first);
  });
  return groups;
}

void begin(Kind& kind, const Machine& machine) {
  kind.machine = describe_machine(machine);
  const auto& ranks = machine.ranks;
  kind.model = !ranks.empty() && ranks.front().gpu ? ranks.front().gpu->name : kind.machine;
}

template <typename T>
void sort_by_size(std::vector<T*>& kinds) {
  std::stable_sort(kinds.begin(), kinds.end(), [](const Kind* a, const Kind* b) {
    return a->members.size() > b->members.size();
  });
}

}  // namespace

Kinds::Kinds(const std::vector<const FleetRecord*>& records, const FleetNames& names) {
  for (const auto& [likeness, members] : groups_of(records)) {
    Kind& kind = kind_for(likeness);
    if (kind.members.empty()) begin(kind, members.front()->machine);
    kind.members.insert(kind.members.end(), members.begin(), members.end());
    for (const FleetRecord* record : members) kind_of_[record] = &kind;
  }
  for (auto& [likeness, kind] : kinds_) {
    summarise(kind, names);
    const Kind*& largest = largest_[kind.model];
    if (largest == nullptr || largest->members.size() < kind.members.size()) largest = &kind;
  }
  name_kinds();
}

Kind& Kinds::kind_for(const Likeness& likeness) {
  Kind* largest = nullptr;
  for (auto& [other, kind] : kinds_) {
    if (!may_be_alike(other, likeness)) continue;
    if (largest == nullptr || largest->members.size() < kind.members.size()) largest = &kind;
  }
  return largest != nullptr ? *largest : kinds_[likeness];
}

void Kinds::name_kinds() {
  std::map<std::string, std::vector<Kind*>> namesakes;
  for (Kind* kind : by_size()) namesakes[kind->machine].push_back(kind);
  for (const auto& [machine, kinds] : namesakes) {
    const Machine& usual = kinds.front()->members.front()->machine;
    for (Kind* kind : kinds) {
      const Machine& own = kind->members.front()->machine;
      const std::string text = kinds.size() == 1       ? std::string()
                               : kind == kinds.front() ? label_of_all_pairs(usual)
                                                       : describe_difference(own, usual);
      kind->name = text.empty() ? machine : fmt::format("{} ({})", machine, text);
    }
  }
}

NodePeers Kinds::peers_of(const FleetRecord& record) const {
  const Kind& own = *kind_of_.at(&record);
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
    texts.push_back(kinds_.size() > 1 ? fmt::format("of {}: {}", kind->name, reach) : reach);
  }
  return texts;
}

std::string Kinds::text() const {
  const std::vector<const Kind*> sorted = by_size();
  std::vector<std::string> parts;
  for (const Kind* kind : sorted) {
    if (parts.size() == kMostNamed) break;
    parts.push_back(fmt::format("{} of {}", kind->members.size(), kind->name));
  }
  if (sorted.size() > kMostNamed) {
    parts.push_back(fmt::format("{} more", sorted.size() - kMostNamed));
  }
  return fmt::format(
      "{}: {}",
      counted(static_cast<std::int64_t>(sorted.size()), "kind of machine", "kinds of machines"),
      fmt::join(parts, ", "));
}

std::vector<Kind*> Kinds::by_size() {
  std::vector<Kind*> sorted;
  for (auto& [likeness, kind] : kinds_) sorted.push_back(&kind);
  sort_by_size(sorted);
  return sorted;
}

std::vector<const Kind*> Kinds::by_size() const {
  std::vector<const Kind*> sorted;
  for (const auto& [likeness, kind] : kinds_) sorted.push_back(&kind);
  sort_by_size(sorted);
  return sorted;
}

}  // namespace linkgain
