#include "fleet_likeness.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linkgain/compare/machine_changes.hpp"
#include "linkgain/hardware/machine.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kMostNamed = 3;

void add_links(std::vector<MachineDifference>& all, const Machine& own, const Machine& usual) {
  for (const PairLink& link : own.links) {
    const PairLink* peers = find_link(usual, link.from, link.to);
    if (peers == nullptr || !links_differ(own, link, usual, *peers)) continue;
    all.push_back({fmt::format("{}–{}", gpu_label(own, link.from), gpu_label(own, link.to)),
                   link_label(own, link), link_label(usual, *peers)});
  }
}

void add_gpus(std::vector<MachineDifference>& all, const Machine& own, const Machine& usual) {
  for (std::size_t i = 0; i < std::min(own.ranks.size(), usual.ranks.size()); ++i) {
    if (!own.ranks[i].gpu || !usual.ranks[i].gpu) continue;
    const std::optional<int> active = own.ranks[i].gpu->nvlink_links_active;
    const std::optional<int> peers = usual.ranks[i].gpu->nvlink_links_active;
    if (!active || !peers || *active == *peers) continue;
    all.push_back({gpu_label(own, own.ranks[i].rank), fmt::format("{} active NVLinks", *active),
                   fmt::format("{}", *peers)});
  }
}

}  // namespace

Likeness likeness_of(const Machine& machine) {
  Likeness likeness{describe_machine(machine), {}};
  for (const PairLink& link : machine.links) {
    likeness.machine += fmt::format("|{}-{} {}", link.from, link.to, path_label(link));
    if (over_nvlink(link).value_or(false)) likeness.counts.push_back(link.nvlinks);
  }
  for (const RankInfo& rank : machine.ranks) {
    if (rank.gpu) likeness.counts.push_back(rank.gpu->nvlink_links_active);
  }
  return likeness;
}

int unknown_counts(const Likeness& likeness) {
  return static_cast<int>(
      std::count(likeness.counts.begin(), likeness.counts.end(), std::optional<int>()));
}

bool may_be_alike(const Likeness& a, const Likeness& b) {
  const auto agree = [](std::optional<int> one, std::optional<int> other) {
    return !one || !other || *one == *other;
  };
  return a.machine == b.machine &&
         std::equal(a.counts.begin(), a.counts.end(), b.counts.begin(), b.counts.end(), agree);
}

std::vector<MachineDifference> differences_of(const Machine& own, const Machine& usual) {
  std::vector<MachineDifference> all;
  add_links(all, own, usual);
  add_gpus(all, own, usual);
  return all;
}

std::string describe_machine(const Machine& machine) {
  const std::string ranks = describe_ranks(machine);
  const bool gpus = std::any_of(machine.ranks.begin(), machine.ranks.end(),
                                [](const RankInfo& rank) { return rank.gpu.has_value(); });
  return gpus || machine.processor.empty() ? ranks
                                           : fmt::format("{} on {}", ranks, machine.processor);
}

std::string describe_difference(const Machine& own, const Machine& usual) {
  const std::string label = label_of_all_pairs(own);
  if (!label.empty() && label != label_of_all_pairs(usual)) return label;
  const std::vector<MachineDifference> all = differences_of(own, usual);
  if (all.empty()) return "other links";
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(all.size(), kMostNamed); ++i) {
    texts.push_back(fmt::format("{}: {}", all[i].what, all[i].own));
  }
  const std::string more =
      all.size() > kMostNamed ? fmt::format(" and {} more", all.size() - kMostNamed) : "";
  return fmt::format("{}{}", fmt::join(texts, ", "), more);
}

std::string label_of_all_pairs(const Machine& machine) {
  if (machine.links.empty()) return {};
  const std::string label = link_label(machine, machine.links.front());
  const bool alike =
      std::all_of(machine.links.begin(), machine.links.end(),
                  [&](const PairLink& link) { return link_label(machine, link) == label; });
  return alike ? label : std::string();
}

}  // namespace linkgain
