#include "linkgain/html/machine_picture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/html/heat_map.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "run_pictures.hpp"
#include "svg.hpp"

namespace linkgain {
namespace {

constexpr double kMargin = 8.0;
constexpr double kInner = kPictureWidth - 2.0 * kMargin;
constexpr double kLinkHeight = 62.0;  ///< above a row of GPUs, for what joins them
constexpr double kGpuHeight = 46.0;
constexpr double kPcieHeight = 46.0;
constexpr double kHostHeight = 40.0;
constexpr double kSmall = 12.0;
constexpr std::size_t kMostInRow = 8;
constexpr std::size_t kMostDashes = 4;

/// Ranks of one host that share processors: no pair of them is known to be further apart than a
/// NUMA node.
using Group = std::vector<const RankInfo*>;

bool is_near(const Machine& machine, const RankInfo& a, const RankInfo& b) {
  const PairLink* const link = find_link(machine, a.rank, b.rank);
  return link == nullptr || link->ancestor != Ancestor::sys;
}

std::vector<Group> groups_of(const Machine& machine, const std::vector<const RankInfo*>& ranks) {
  std::vector<Group> groups;
  for (const RankInfo* rank : ranks) {
    const auto known = std::ranges::find_if(
        groups, [&](const Group& group) { return is_near(machine, *group.front(), *rank); });
    (known == groups.end() ? groups.emplace_back() : *known).push_back(rank);
  }
  return groups;
}

std::vector<std::vector<const RankInfo*>> by_host(const Machine& machine) {
  std::vector<std::vector<const RankInfo*>> hosts;
  for (const RankInfo& rank : machine.ranks) {
    const auto known = std::ranges::find_if(
        hosts, [&](const auto& ranks) { return ranks.front()->host == rank.host; });
    (known == hosts.end() ? hosts.emplace_back() : *known).push_back(&rank);
  }
  return hosts;
}

/// Says "gen 5 x16"; empty where it is not known.
std::string pcie_text(const RankInfo& rank) {
  if (!rank.gpu || !rank.gpu->pcie_generation || !rank.gpu->pcie_width) return {};
  return fmt::format("gen {} x{}", *rank.gpu->pcie_generation, *rank.gpu->pcie_width);
}

/// Says "18 of 18 links"; `brief`: "18/18".
std::string links_text(const RankInfo& rank, bool brief) {
  if (!rank.gpu || rank.gpu->nvlink_links.value_or(0) == 0) return {};
  return brief ? nvlinks_text(*rank.gpu, "/") : nvlinks_text(*rank.gpu) + " links";
}

bool has_dark_links(const RankInfo& rank) { return rank.gpu && has_links_down(*rank.gpu); }

/// Says the rate of a GPU's active links, of all GPUs alike; empty where they differ or are not
/// known.
std::string rate_text(const std::vector<const RankInfo*>& ranks) {
  std::set<std::string> rates;
  for (const RankInfo* rank : ranks) {
    const std::optional<double> rate = rank->gpu ? nvlink_total(*rank->gpu) : std::nullopt;
    rates.insert(rate ? fmt::format("{:.0f} GB/s each way", *rate) : "");
  }
  return rates.size() == 1 ? *rates.begin() : "";
}

/// Finds pairs of these ranks that NVLink joins, by how.
std::map<std::string, std::vector<const PairLink*>> nvlinks_of(
    const Machine& machine, const std::vector<const RankInfo*>& ranks) {
  std::map<std::string, std::vector<const PairLink*>> links;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (std::size_t j = i + 1; j < ranks.size(); ++j) {
      const PairLink* const link = find_link(machine, ranks[i]->rank, ranks[j]->rank);
      if (link != nullptr && joined_by_nvlink(*link).value_or(false)) {
        links[link_label(machine, *link)].push_back(link);
      }
    }
  }
  return links;
}

/// Says "node1: 2 x NVIDIA H200".
std::string title_of(const Machine& machine, const std::string& host) {
  Machine own = machine;
  std::erase_if(own.ranks, [&](const RankInfo& rank) { return rank.host != host; });
  return fmt::format("{}: {}", host, one_line(describe_ranks(own)));
}

/// One host of the machine.
class HostPicture {
 public:
  HostPicture(const Machine& machine, const std::vector<const RankInfo*>& ranks, double top)
      : machine_(machine), ranks_(ranks), groups_(groups_of(machine, ranks)), top_(top) {
    for (const Group& group : groups_) ordered_.insert(ordered_.end(), group.begin(), group.end());
    const double rooms = static_cast<double>(std::min(ordered_.size(), kMostInRow));
    step_ = kInner / rooms;
    width_ = std::min(step_ - 6.0, 150.0);
    links_ = nvlinks_of(machine, ranks);
    has_gpus_ =
        std::ranges::any_of(ranks, [](const RankInfo* rank) { return rank->gpu.has_value(); });
  }

  double bottom() const { return hosts_top() + kHostHeight; }

  std::string svg() const { return links() + gpus() + pcie() + processors(); }

 private:
  std::size_t rows() const { return divide_up(ordered_.size(), kMostInRow); }
  double gpus_top() const { return top_ + 24.0 + (has_gpus_ ? kLinkHeight : 0.0); }
  double gpus_bottom() const {
    return gpus_top() + static_cast<double>(rows()) * (kGpuHeight + 6.0) - 6.0;
  }
  double hosts_top() const { return gpus_bottom() + (has_gpus_ ? kPcieHeight : 20.0); }

  double middle_of(std::size_t place) const {
    return kMargin + (static_cast<double>(place % kMostInRow) + 0.5) * step_;
  }
  std::size_t place_of(int rank) const {
    return static_cast<std::size_t>(std::ranges::find(ordered_, rank, &RankInfo::rank) -
                                    ordered_.begin());
  }

  /// Tells whether every pair is joined by as many links: then one line stands for all of them.
  bool are_alike() const {
    return links_.size() == 1 &&
           links_.begin()->second.size() == ordered_.size() * (ordered_.size() - 1) / 2;
  }

  std::string links() const {
    if (!has_gpus_) return {};
    const double y = top_ + 50.0;
    if (links_.empty()) {
      return svg_text(kPictureWidth / 2.0, y, Anchor::middle,
                      ranks_.size() < 2 ? "" : text_without_nvlink());
    }
    return are_alike() ? bus(y) : arcs();
  }

  /// Says "no NVLink between these GPUs: PHB without P2P", the end where all pairs are alike.
  std::string text_without_nvlink() const {
    std::set<std::string> labels;
    for (const PairLink& link : machine_.links) labels.insert(link_label(machine_, link));
    if (labels.empty()) return "links between GPUs not known";
    const bool are_known = labels.size() == 1 && !labels.begin()->empty();
    return "no NVLink between these GPUs" + (are_known ? ": " + *labels.begin() : "");
  }

  /// Draws a line above all GPUs that joins each with each.
  std::string bus(double y) const {
    const std::string& label = links_.begin()->first;
    const std::string rate = rate_text(ranks_);
    const std::string name =
        fmt::format("{}NVLink{}{}{}", ordered_.size() > 2 ? "every pair: " : "",
                    label == "NVLink" ? "" : " " + label, rate.empty() ? "" : ", ", rate);
    std::string text =
        svg_text(kPictureWidth / 2.0, y - 8.0, Anchor::middle, fitted(name, kInner), "title");
    const std::size_t last = std::min(ordered_.size(), kMostInRow) - 1;
    text += svg_line(middle_of(0), y, middle_of(last), y, "nvlink");
    for (std::size_t i = 0; i <= last; ++i) {
      text += svg_line(middle_of(i), y, middle_of(i), gpus_top(), "nvlink");
    }
    return text;
  }

  /// Draws a bow for each pair, its dashes by the number of links.
  std::string arcs() const {
    std::string text;
    std::string legend;
    std::size_t kind = 0;
    for (const auto& [label, pairs] : links_) {
      static constexpr const char* kDashNames[kMostDashes] = {"solid", "dashed", "dotted",
                                                              "dash-dot"};
      const std::size_t dash = std::min(kind++, kMostDashes - 1);
      legend += fmt::format("{}{}: {}", legend.empty() ? "" : ", ", kDashNames[dash], label);
      for (const PairLink* pair : pairs) {
        const double from = middle_of(place_of(pair->from));
        const double to = middle_of(place_of(pair->to));
        const double height = 10.0 + 46.0 * std::abs(to - from) / kInner;
        text += fmt::format(
            "<path class=\"nvlink d{}\" d=\"M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}\"/>\n", dash,
            from, gpus_top(), (from + to) / 2.0, gpus_top() - 2.0 * height + 10.0, to, gpus_top());
      }
    }
    return svg_text(kPictureWidth / 2.0, top_ + 32.0, Anchor::middle,
                    fitted("NVLink: " + legend, kInner), "title") +
           text;
  }

  std::string gpus() const {
    constexpr double kRoomForWords = 100.0;
    std::string text;
    for (std::size_t i = 0; i < ordered_.size(); ++i) {
      const RankInfo& rank = *ordered_[i];
      const double x = middle_of(i) - width_ / 2.0;
      const double y = gpus_top() + static_cast<double>(i / kMostInRow) * (kGpuHeight + 6.0);
      text += fmt::format(
          "<rect class=\"box{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
          "rx=\"4\"/>\n",
          has_dark_links(rank) ? " dark" : "", x, y, width_, kGpuHeight);
      const std::string links = links_text(rank, width_ < kRoomForWords);
      text += svg_text(middle_of(i), y + (links.empty() ? 28.0 : 19.0), Anchor::middle,
                       fitted(gpu_label(machine_, rank.rank), width_ + 6.0, kSmall),
                       width_ < kRoomForWords ? "small" : "title");
      if (!links.empty()) {
        text += svg_text(middle_of(i), y + 36.0, Anchor::middle, links, "small");
      }
    }
    return text;
  }

  double left_of(const Group& group) const {
    return middle_of(place_of(group.front()->rank)) - step_ / 2.0 + 3.0;
  }
  double right_of(const Group& group) const {
    return middle_of(place_of(group.back()->rank)) + step_ / 2.0 - 3.0;
  }
  bool is_one_row() const { return rows() == 1; }

  std::string pcie() const {
    std::string text;
    const std::size_t last = std::min(ordered_.size(), kMostInRow);
    for (std::size_t i = 0; i < last; ++i) {
      text += svg_line(middle_of(i), gpus_bottom(), middle_of(i), hosts_top(), "pcie");
    }
    if (!has_gpus_) return text;
    std::set<std::string> kinds;
    for (const RankInfo* rank : ordered_) kinds.insert(pcie_text(*rank));
    const double y = gpus_bottom() + kPcieHeight / 2.0 + 4.0;
    if (kinds.size() == 1) {
      const std::string& kind = *kinds.begin();
      const std::string label = kind.empty() ? "PCIe" : "PCIe " + kind + (last > 1 ? " each" : "");
      return text + svg_text(kPictureWidth / 2.0, y, Anchor::middle, label, "halo");
    }
    for (std::size_t i = 0; i < last; ++i) {
      const std::string kind = pcie_text(*ordered_[i]);
      text += svg_text(middle_of(i), y, Anchor::middle, kind.empty() ? "?" : kind.substr(4),
                       "halo small");
    }
    return text;
  }

  /// Says "CPUs 0-31", of all ranks of the group alike.
  static std::string cpus_of(const Group& group) {
    std::set<std::string> lists;
    for (const RankInfo* rank : group) lists.insert(rank->cpus);
    return lists.size() == 1 && !lists.begin()->empty() ? "CPUs " + *lists.begin() : "CPUs";
  }

  std::string processors() const {
    std::string text;
    for (const Group& group : groups_) {
      const double left = is_one_row() ? left_of(group) : kMargin + 3.0;
      const double right = is_one_row() ? right_of(group) : kPictureWidth - kMargin - 3.0;
      text += fmt::format(
          "<rect class=\"box host\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
          "height=\"{:.1f}\" rx=\"4\"/>\n",
          left, hosts_top(), right - left, kHostHeight);
      const std::string name =
          groups_.size() == 1 ? processor_text(group) : "NUMA node, " + cpus_of(group);
      text += svg_text((left + right) / 2.0, hosts_top() + 24.0, Anchor::middle,
                       fitted(name, right - left - 8.0, kSmall), "small");
      if (!is_one_row()) break;
    }
    for (std::size_t i = 1; is_one_row() && i < groups_.size(); ++i) {
      const double y = hosts_top() + kHostHeight / 2.0;
      text += svg_line(right_of(groups_[i - 1]), y, left_of(groups_[i]), y, "pcie");
    }
    return text;
  }

  std::string processor_text(const Group& group) const {
    const std::string cpus = cpus_of(group);
    return machine_.processor.empty() ? cpus : fmt::format("{}, {}", machine_.processor, cpus);
  }

  const Machine& machine_;
  const std::vector<const RankInfo*>& ranks_;
  std::vector<Group> groups_;
  std::vector<const RankInfo*> ordered_;  ///< group by group
  double top_;
  double step_ = 0.0;
  double width_ = 0.0;
  std::map<std::string, std::vector<const PairLink*>> links_;
  bool has_gpus_ = false;
};

std::string yes_or_no(std::optional<bool> known) {
  return !known ? "not known" : *known ? "yes" : "no";
}

/// Says what the picture shows, in sentences.
std::string description_of(const Machine& machine) {
  std::vector<std::string> sentences;
  for (const auto& ranks : by_host(machine)) {
    sentences.push_back(
        fmt::format("Host {} has {}.", ranks.front()->host,
                    counted(static_cast<std::int64_t>(ranks.size()), "rank", "ranks")));
    for (const auto& [label, pairs] : nvlinks_of(machine, ranks)) {
      sentences.push_back(
          fmt::format("{} joins {}.", label,
                      counted(static_cast<std::int64_t>(pairs.size()), "pair", "pairs")));
    }
    for (const RankInfo* rank : ranks) {
      if (!has_dark_links(*rank)) continue;
      sentences.push_back(fmt::format("Only {} of {} are active.", links_text(*rank, false),
                                      gpu_label(machine, rank->rank)));
    }
  }
  if (!machine.links.empty()) {
    sentences.push_back(fmt::format("P2P possible between all pairs: {}.",
                                    yes_or_no(all_pairs(machine.links, allows_p2p))));
  }
  return fmt::format("{}", fmt::join(sentences, " "));
}

/// Ranks what joins a pair, the longest path first; without P2P all are alike.
std::optional<double> strength_of(const PairLink& link) {
  const std::string label = label_of(link);
  const auto kind = std::ranges::find_if(
      kLinkLabels, [&](const LinkLabel& each) { return is_called(each, label); });
  if (kind == kLinkLabels.end()) return std::nullopt;
  if (!allows_p2p(link).value_or(true)) return 0.0;
  return 1.0 + static_cast<double>(kind - kLinkLabels.begin());
}

/// Says what joins by PCIe what NVLink joins, and that there is no P2P: "PHB, without P2P".
std::string note_of(const PairLink& link) {
  std::vector<std::string_view> parts;
  if (joined_by_nvlink(link).value_or(false) && link.ancestor) {
    parts.push_back(name_of(*link.ancestor));
  }
  if (!allows_p2p(link).value_or(true)) parts.emplace_back("without P2P");
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Shows what joins each pair, as `linkgain topo` names it.
std::string link_matrix(const Machine& machine) {
  if (machine.links.empty()) return {};
  HeatMap map{.caption =
                  "What joins each pair, and below NVLinks what does by PCIe. A stronger shade is "
                  "a shorter path.",
              .corner = "from \\ to",
              .full = static_cast<double>(kLinkLabels.size()),
              .none = 0.0};
  for (const RankInfo& from : machine.ranks) {
    map.columns.push_back(gpu_label(machine, from.rank));
    map.rows.push_back(gpu_label(machine, from.rank));
    auto& cells = map.cells.emplace_back();
    for (const RankInfo& to : machine.ranks) {
      const PairLink* const link =
          from.rank == to.rank ? nullptr : find_link(machine, from.rank, to.rank);
      if (link == nullptr) {
        cells.push_back({from.rank == to.rank ? "–" : "?"});
      } else {
        cells.push_back({label_of(*link), strength_of(*link), note_of(*link)});
      }
    }
  }
  return heat_map_table(map);
}

Picture picture_of(const Machine& machine) {
  std::string content;
  const auto hosts = by_host(machine);
  const bool is_one = hosts.size() == 1;
  constexpr double kTitleHeight = 20.0;
  double bottom = is_one ? -kTitleHeight : 0.0;
  for (const auto& ranks : hosts) {
    if (!is_one) {
      content += svg_text(kMargin, bottom + 14.0, Anchor::start,
                          fitted(title_of(machine, ranks.front()->host), kInner), "title");
    }
    const HostPicture host(machine, ranks, bottom);
    content += host.svg();
    if (&ranks != &hosts.back()) {
      content += svg_text(kPictureWidth / 2.0, host.bottom() + 18.0, Anchor::middle, "network");
    }
    bottom = host.bottom() + 30.0;
  }
  return {
      .title = is_one ? title_of(machine, hosts.front().front()->host) : "GPUs and what joins them",
      .description = description_of(machine),
      .height = bottom - 22.0,
      .content = content,
      .table = link_matrix(machine)};
}

}  // namespace

std::string machine_figure(const Machine& machine, std::string_view id) {
  return machine.ranks.empty() ? "" : figure(picture_of(machine), id);
}

std::string machine_svg(const Machine& machine, const std::string& sentence) {
  Picture picture = picture_of(machine);
  picture.title.clear();
  return svg_file({sentence, {}}, one_line(describe_ranks(machine)) + ". Drawn by linkgain topo.",
                  {picture});
}

}  // namespace linkgain
