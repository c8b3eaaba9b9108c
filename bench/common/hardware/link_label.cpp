#include "linkgain/hardware/link_label.hpp"

#include <fmt/format.h>

namespace linkgain {
namespace {

constexpr std::string_view kWithoutP2p = " without P2P";

/// What a number of links stands for if the pair's own were not counted.
std::optional<int> links_of_two(const Machine& machine, const PairLink& link) {
  if (machine.ranks.size() != 2) return std::nullopt;
  const RankInfo* rank = find_rank(machine, link.from);
  if (rank == nullptr || !rank->gpu) return std::nullopt;
  const std::optional<int> active = rank->gpu->nvlink_links_active;
  return active.value_or(0) > 0 ? active : std::nullopt;
}

template <typename T>
bool both_known_and_differ(const std::optional<T>& a, const std::optional<T>& b) {
  return a && b && *a != *b;
}

}  // namespace

std::optional<bool> over_nvlink(const PairLink& link) {
  return link.nvlinks ? std::optional(*link.nvlinks > 0) : link.nvlink;
}

std::string way_label(const PairLink& link) {
  const std::optional<bool> nvlink = over_nvlink(link);
  std::string label;
  if (nvlink.value_or(false)) {
    label = "NVLink";
  } else if (link.ancestor) {
    label = label_of(*link.ancestor);
  } else if (nvlink) {
    label = "no NVLink";
  }
  if (!label.empty() && !link.p2p.value_or(true)) label += kWithoutP2p;
  return label;
}

std::string link_label(const Machine& machine, const PairLink& link) {
  if (!over_nvlink(link).value_or(false)) return way_label(link);
  const std::optional<int> count = link.nvlinks ? link.nvlinks : links_of_two(machine, link);
  if (!count) return way_label(link);
  return fmt::format("NV{}{}", *count, link.p2p.value_or(true) ? "" : kWithoutP2p);
}

bool links_differ(const Machine& machine, const PairLink& link, const Machine& other_machine,
                  const PairLink& other) {
  const std::optional<bool> nvlink = over_nvlink(link);
  const std::optional<bool> other_nvlink = over_nvlink(other);
  if (both_known_and_differ(nvlink, other_nvlink)) return true;
  if (both_known_and_differ(link.p2p, other.p2p)) return true;
  if (nvlink.value_or(false) && other_nvlink.value_or(false)) {
    if (link.nvlinks || other.nvlinks) return both_known_and_differ(link.nvlinks, other.nvlinks);
    return both_known_and_differ(links_of_two(machine, link), links_of_two(other_machine, other));
  }
  // What lies beside NVLink is not the way.
  if (nvlink.value_or(false) || other_nvlink.value_or(false)) return false;
  return both_known_and_differ(link.ancestor, other.ancestor);
}

}  // namespace linkgain
