#include "fleet_kinds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/hostlist.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/machines/machine_difference.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

std::string describe_machine(const Machine& machine) {
  const std::string ranks = describe_ranks(machine);
  const bool gpus =
      std::ranges::any_of(machine.ranks, [](const RankInfo& rank) { return rank.gpu.has_value(); });
  return gpus || machine.processor.empty() ? ranks
                                           : fmt::format("{} on {}", ranks, machine.processor);
}

namespace {

/// Lists in what a machine is no peer of another.
std::vector<MachineDifference> differences_of(const Machine& own, const Machine& usual) {
  static const Settings kAlike;
  return differences_between({&usual, &kAlike}, {&own, &kAlike}, Weight::machine);
}

bool has_fewer(const PairLink& own, const PairLink& usual) {
  if (own.nvlinks && usual.nvlinks) return *own.nvlinks < *usual.nvlinks;
  return joined_by_nvlink(usual).value_or(false) && !joined_by_nvlink(own).value_or(true);
}

/// Returns "GPU0, GPU1 active NVLinks: 12 of 18 where its peers have 18 of 18; GPU0–GPU1: …": GPUs
/// first, and together what differs alike.
std::string differences_text(std::vector<MachineDifference> all, std::string_view others) {
  const auto pairs = std::ranges::stable_partition(
      all, [](const MachineDifference& each) { return each.what.find("–") == std::string::npos; });
  std::vector<std::string> texts;
  for (auto each = all.begin(); each != all.end();) {
    const bool is_pair = each >= pairs.begin();
    const std::size_t gap = is_pair ? std::string::npos : each->what.find(' ');
    const std::string rest = gap == std::string::npos ? std::string() : each->what.substr(gap);
    std::vector<std::string> subjects;
    const MachineDifference& first = *each;
    for (; each != all.end() && each->before == first.before && each->after == first.after &&
           each->what.ends_with(rest) && (each >= pairs.begin()) == is_pair;
         ++each) {
      subjects.push_back(each->what.substr(0, each->what.size() - rest.size()));
    }
    texts.push_back(fmt::format("{}{}: {} where {} have {}", first_named(subjects), rest,
                                first.after, others, first.before));
  }
  return first_named(texts, 3, "; ");
}

}  // namespace

PeerDifference difference_of(const Machine& own, const Machine& usual, std::string_view others) {
  PeerDifference difference;
  const std::string machine = describe_machine(own);
  if (machine != describe_machine(usual)) {
    difference.text = fmt::format("{} where {} have {}", machine, others, describe_machine(usual));
    return difference;
  }
  for (const RankInfo& rank : own.ranks) {
    const RankInfo* same = find_rank(usual, rank.rank);
    if (!rank.gpu || same == nullptr || !same->gpu) continue;
    const auto& links = rank.gpu->nvlink_links_active;
    const auto& peers = same->gpu->nvlink_links_active;
    if (!links || !peers || *links == *peers) continue;
    difference.ranks.push_back(rank.rank);
    difference.lacks_links = difference.lacks_links || *links < *peers;
  }
  for (const PairLink& link : own.links) {
    const PairLink* same = find_link(usual, link.from, link.to);
    if (same == nullptr || !links_differ(usual, *same, own, link)) continue;
    difference.pairs.emplace_back(std::min(link.from, link.to), std::max(link.from, link.to));
    difference.lacks_links = difference.lacks_links || has_fewer(link, *same);
  }
  const std::vector<MachineDifference> all = differences_of(own, usual);
  difference.text = all.empty() ? fmt::format("links that {} do not have", others)
                                : differences_text(all, others);
  return difference;
}

bool lacks_gpus(const FleetRecord& own, const Machine& usual) {
  const Machine& machine = own.machine;
  return !own.has_chosen_gpus && machine.processor == usual.processor &&
         machine.processors == usual.processors && machine.ranks.size() < usual.ranks.size() &&
         2 * machine.ranks.size() > usual.ranks.size();
}

namespace {

/// Returns what a kind is called: the machine, and which program ran on it.
std::string kind_name(const FleetRecord& record) {
  const std::string machine = describe_machine(record.machine);
  if (record.program.empty()) return machine;
  return fmt::format("{} running {}", machine, visible(record.program));
}

}  // namespace

std::string model_of(const FleetRecord& record) {
  const std::string name = kind_name(record);
  const std::vector<RankInfo>& ranks = record.machine.ranks;
  if (ranks.empty() || !ranks.front().gpu) return name;
  return ranks.front().gpu->name + name.substr(describe_machine(record.machine).size());
}

double deviation_around(double centre, std::vector<double> values) {
  constexpr double kNormalPerDeviation = 1.4826;
  for (double& value : values) value = std::abs(value - centre);
  return kNormalPerDeviation * median(values);
}

namespace {

/// Returns whether the record may be of this kind: nothing that is known of both differs.
bool may_be_of(const Kind& kind, const FleetRecord& record, const std::string& name) {
  const FleetRecord& known = *kind.members.front();
  return kind.machine == name && known.program == record.program &&
         known.machine.links.size() == record.machine.links.size() &&
         differences_of(known.machine, record.machine).empty();
}

/// Counts what is not known of a machine's links.
std::ptrdiff_t unknown_counts(const FleetRecord& record) {
  return std::ranges::count_if(record.machine.links,
                               [](const PairLink& link) {
                                 return joined_by_nvlink(link).value_or(true) && !link.nvlinks;
                               }) +
         std::ranges::count_if(record.machine.ranks, [](const RankInfo& rank) {
           return rank.gpu && !rank.gpu->nvlink_links_active;
         });
}

/// Returns "NV18" where all pairs have the same label, else empty.
std::string label_of_all_pairs(const Machine& machine) {
  if (machine.links.empty()) return {};
  const std::string label = link_label(machine, machine.links.front());
  const bool alike = std::ranges::all_of(
      machine.links, [&](const PairLink& link) { return link_label(machine, link) == label; });
  return alike ? label : std::string();
}

/// Says how `own` differs from `usual`, briefly: "NV17" where that is so of all its pairs,
/// or "GPU0–GPU1: NV9".
std::string describe_difference(const Machine& own, const Machine& usual) {
  const std::string label = label_of_all_pairs(own);
  if (!label.empty() && label != label_of_all_pairs(usual)) return label;
  const std::vector<MachineDifference> all = differences_of(own, usual);
  if (all.empty()) return "other links";
  std::vector<std::string> texts;
  for (const MachineDifference& each : all) {
    texts.push_back(fmt::format("{}: {}", each.what, each.after));
  }
  return first_named(texts);
}

/// Times and paths of one case and variant over the members.
struct Column {
  std::vector<double> logs;
  std::vector<double> deviations;  ///< between launches, of those that know it
  std::map<Path, std::size_t> paths{};
  std::vector<int> launches;  ///< of each member
};

std::vector<Column> columns_of(const Kind& kind, std::size_t names) {
  std::vector<Column> columns(names);
  for (const FleetRecord* member : kind.members) {
    for (const FleetValue& value : member->values) {
      if (!(value.seconds > 0.0F) || value.wrong_data) continue;
      Column& column = columns.at(value.name);
      column.logs.push_back(std::log(static_cast<double>(value.seconds)));
      if (value.deviation > 0.0F) column.deviations.push_back(value.deviation);
      ++column.paths[value.path];
      column.launches.push_back(launches_of(*member, value));
    }
  }
  return columns;
}

Path path_of(const Column& column) {
  for (const auto& [path, nodes] : column.paths) {
    if (3 * nodes >= 2 * column.logs.size()) return path;
  }
  return Path::unknown;
}

/// Looks for two groups of nodes, each with more than a third of all, whose medians lie further
/// apart than nodes within a group, with an empty space of half of that between them. The slower
/// one's median stays within it, however slow some of them are: those beyond are less than a third.
void look_for_groups(std::vector<double> logs, double tolerance, PeerFigure& figure) {
  std::ranges::sort(logs);
  std::size_t split = 0;
  double widest = 0.0;
  for (std::size_t i = logs.size() / 3 + 1; 3 * (logs.size() - i) > logs.size(); ++i) {
    if (logs[i] - logs[i - 1] <= widest) continue;
    widest = logs[i] - logs[i - 1];
    split = i;
  }
  if (split == 0) return;
  const auto middle = logs.begin() + static_cast<std::ptrdiff_t>(split);
  const std::vector<double> fast(logs.begin(), middle);
  const std::vector<double> slow(middle, logs.end());
  const double centres[] = {median(fast), median(slow)};
  const double deviation =
      std::max(deviation_around(centres[0], fast), deviation_around(centres[1], slow));
  const double assumed = figure.of_launch / std::sqrt(static_cast<double>(figure.usual_launches));
  figure.gap = centres[1] - centres[0];
  if (2.0 * widest > figure.gap &&
      figure.gap > std::max(std::log1p(tolerance), kDeviations * std::max(deviation, assumed))) {
    figure.slower_group = slow.front();
    figure.peers = static_cast<int>(slow.size());
    figure.centre = centres[1];
    figure.deviation = deviation;
  }
}

PeerFigure figure_of(Column column, const FleetNames::Name& name, double tolerance) {
  PeerFigure figure;
  figure.nodes = static_cast<int>(column.logs.size());
  if (column.logs.size() < kKindSize) return figure;
  const auto usual = column.launches.begin() + (std::ssize(column.launches) - 1) / 2;
  std::ranges::nth_element(column.launches, usual);
  figure.usual_launches = std::max(1, *usual);
  if (!column.deviations.empty()) {
    figure.between_launches = LaunchDeviation{.deviation = median(column.deviations)};
  }
  figure.path = path_of(column);
  figure.median = median(column.logs);
  figure.peers = figure.nodes;
  figure.centre = figure.median;
  figure.deviation = deviation_around(figure.centre, column.logs);
  figure.of_launch = assumed_deviation(parse_case_name(name.case_name).size);
  look_for_groups(column.logs, tolerance, figure);
  return figure;
}

/// Fills `figures`, by the number of `names`; for fewer than kKindSize members they stay empty.
void summarise(Kind& kind, const FleetNames& names, double tolerance) {
  for (const FleetRecord* member : kind.members) {
    if (!measured_in(*member).empty()) ++kind.measuring;
    ++kind.drivers[member->machine.software.driver.value_or("")];
    ++kind.nccls[member->machine.software.nccl_library.value_or("")];
    for (const auto& [variable, value] : member->variables) ++kind.variables[variable][value];
    for (const RankInfo& rank : member->machine.ranks) {
      for (std::size_t i = 0; rank.gpu && i < kGpuLinks.size(); ++i) {
        ++kind.links[i][rank.rank][kGpuLinks[i].value(*rank.gpu).value_or(0.0)];
      }
    }
  }
  for (auto& [variable, values] : kind.variables) {
    int without = static_cast<int>(kind.members.size());
    for (const auto& [value, count] : values) without -= count;
    values[kNoValue] += without;
  }
  if (kind.members.size() < kKindSize) return;
  std::vector<Column> columns = columns_of(kind, names.all().size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    kind.figures.push_back(figure_of(std::move(columns[i]), names.all()[i], tolerance));
  }
}

}  // namespace

int launches_of(const FleetRecord& record, const FleetValue& value) {
  return value.launches > 0 ? value.launches : record.launches;
}

namespace {

/// Says of a kind in which cases its nodes are two groups; empty where they are in none. Nodes that
/// are slower than both belong to neither.
std::string groups_of(const Kind& kind, const FleetNames& names, double tolerance) {
  std::size_t split = 0;
  std::size_t judged = 0;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < kind.figures.size(); ++i) {
    const PeerFigure& figure = kind.figures[i];
    judged += figure.has_median() ? 1 : 0;
    if (!figure.slower_group) continue;
    if (split++ == 0 || figure.gap > kind.figures[widest].gap) widest = i;
  }
  if (split == 0) return {};
  const PeerFigure& figure = kind.figures[widest];
  std::vector<std::string> slower;
  for (const FleetRecord* member : kind.members) {
    const auto value = std::ranges::find(member->values, widest, &FleetValue::name);
    if (value == member->values.end() || !(value->seconds > 0.0F) || value->wrong_data) continue;
    const double log_time = std::log(static_cast<double>(value->seconds));
    const double bound = least_excess(figure, launches_of(*member, *value), tolerance);
    if (log_time < *figure.slower_group || log_time - figure.centre > bound) continue;
    slower.push_back(host_of(*member));
  }
  const std::size_t count = slower.size();
  return fmt::format(
      "two groups in {} of {}: {} of {} nodes take {:.2f}x as long as {} others ({} with {}): {}. "
      "Neither group can be called the standard: in these cases a node is slow only where it is "
      "slower than both",
      split, counted(static_cast<std::int64_t>(judged), "case", "cases"), count, figure.nodes,
      std::exp(figure.gap), figure.nodes - figure.peers, names.all()[widest].case_name,
      names.all()[widest].variant, compress_hostlist(std::move(slower)));
}

/// Names the nodes of a kind that are faster by as much as makes one slow; empty where none is.
std::string faster_of(const Kind& kind, const FleetNames& names, double tolerance) {
  std::vector<std::string> faster;
  std::set<std::uint32_t> cases;
  double most = 0.0;
  std::uint32_t widest = 0;
  for (const FleetRecord* member : kind.members) {
    bool is_faster = false;
    for (const FleetValue& value : member->values) {
      if (kind.figures.empty() || !(value.seconds > 0.0F) || value.wrong_data) continue;
      const PeerFigure& figure = kind.figures.at(value.name);
      if (!figure.is_standard()) continue;
      const double lead = figure.centre - std::log(static_cast<double>(value.seconds));
      if (lead <= least_excess(figure, launches_of(*member, value), tolerance)) continue;
      is_faster = true;
      cases.insert(value.name);
      if (lead > most) widest = value.name;
      most = std::max(most, lead);
    }
    if (is_faster) faster.push_back(host_of(*member));
  }
  if (faster.empty()) return {};
  const std::size_t count = faster.size();
  // Where most became slow, those that did not agree with each other, and are not one by itself.
  constexpr std::size_t kLeastShare = 10;
  const bool is_group = count > 1 && kLeastShare * count >= kind.members.size();
  return fmt::format(
      "{} of {} {} faster than the others in {}, up to {:.2f}x as fast ({} with {}): {}{}", count,
      counted(std::ssize(kind.members), "node", "nodes"), count == 1 ? "is" : "are",
      counted(std::ssize(cases), "case", "cases"), std::exp(most), names.all()[widest].case_name,
      names.all()[widest].variant, compress_hostlist(std::move(faster)),
      is_group ? ". The others may be slow: look for what differs" : "");
}

/// Tells whether GPUs of one machine have different numbers of active NVLinks, as none is built.
bool has_uneven_links(const Machine& machine) {
  std::set<int> counts;
  for (const RankInfo& rank : machine.ranks) {
    if (rank.gpu && rank.gpu->nvlink_links_active) counts.insert(*rank.gpu->nvlink_links_active);
  }
  return counts.size() > 1;
}

/// Returns the largest kind with the same GPUs and NVLinks that the machines of `own` lack, where
/// it lacks none of theirs; else null.
const Kind* kind_with_more_links(const Kind& own, const std::vector<Kind*>& by_size) {
  const Machine& machine = own.members.front()->machine;
  const auto found = std::ranges::find_if(by_size, [&](const Kind* kind) {
    const Machine& other = kind->members.front()->machine;
    return kind->machine == own.machine && difference_of(machine, other).lacks_links &&
           !difference_of(other, machine).lacks_links;
  });
  return found == by_size.end() ? nullptr : *found;
}

constexpr std::size_t kMostNamedKinds = 5;

}  // namespace

Kinds::Kinds(const std::vector<const FleetRecord*>& records, const FleetNames& names,
             double tolerance) {
  std::vector<const FleetRecord*> ordered = records;
  std::ranges::stable_sort(ordered, {},
                           [](const FleetRecord* each) { return unknown_counts(*each); });
  for (const FleetRecord* record : ordered) {
    Kind& kind = kind_for(*record);
    kind.members.push_back(record);
    kind_of_[record] = &kind;
  }
  for (Kind& kind : kinds_) {
    summarise(kind, names, tolerance);
    by_size_.push_back(&kind);
  }
  std::ranges::sort(by_size_, [](const Kind* a, const Kind* b) {
    const std::size_t sizes[] = {a->members.size(), b->members.size()};
    if (sizes[0] != sizes[1]) return sizes[0] > sizes[1];
    const bool uneven[] = {has_uneven_links(a->members.front()->machine),
                           has_uneven_links(b->members.front()->machine)};
    return uneven[0] != uneven[1] ? uneven[1] : a->machine < b->machine;
  });
  for (Kind* kind : by_size_) {
    largest_.try_emplace(kind->model, kind);
    if (kind->members.size() < kKindSize) continue;
    kind->with_more_links = kind_with_more_links(*kind, by_size_);
  }
  name_kinds();
}

Kind& Kinds::kind_for(const FleetRecord& record) {
  const std::string name = kind_name(record);
  Kind* largest = nullptr;
  for (Kind& kind : kinds_) {
    const bool is_larger = largest == nullptr || largest->members.size() < kind.members.size();
    if (is_larger && may_be_of(kind, record, name)) largest = &kind;
  }
  if (largest != nullptr) return *largest;
  Kind& kind = kinds_.emplace_back();
  kind.machine = name;
  kind.model = model_of(record);
  return kind;
}

void Kinds::name_kinds() {
  std::map<std::string, std::vector<Kind*>> namesakes;
  for (Kind* kind : by_size_) namesakes[kind->machine].push_back(kind);
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

namespace {

/// Tells whether a kind, however many machines are of it, is what the usual kind of its model
/// becomes by one fault on each: what may break makes no kind of its own.
bool is_broken(const Kind& own, const Kind& usual) {
  if (&own == &usual) return false;
  const bool is_rare = 2 * own.members.size() < usual.members.size();
  const FleetRecord& record = *own.members.front();
  const Machine& machine = usual.members.front()->machine;
  if (own.machine != usual.machine) return is_rare && lacks_gpus(record, machine);
  return (is_rare || has_uneven_links(record.machine)) &&
         difference_of(record.machine, machine).lacks_links;
}

}  // namespace

NodePeers Kinds::peers_of(const FleetRecord& record) const {
  const Kind& own = *kind_of_.at(&record);
  const Kind* usual = largest_.at(own.model);
  if (usual->members.size() < kKindSize) return {};
  if (own.members.size() >= kKindSize && !is_broken(own, *usual)) return {&own, nullptr};
  return {usual->machine == own.machine ? usual : nullptr, usual};
}

std::vector<std::string> Kinds::each(
    const std::function<std::string(const Kind& kind)>& text) const {
  std::vector<std::string> texts;
  for (const Kind* kind : by_size_) {
    if (texts.size() == kMostNamedKinds) break;
    const std::string own = text(*kind);
    if (own.empty()) continue;
    texts.push_back(kinds_.size() > 1 ? fmt::format("of {}: {}", kind->name, own) : own);
  }
  return texts;
}

std::vector<std::string> Kinds::groups(const FleetNames& names, double tolerance) const {
  return each([&](const Kind& kind) { return groups_of(kind, names, tolerance); });
}

std::vector<std::string> Kinds::faster(const FleetNames& names, double tolerance) const {
  return each([&](const Kind& kind) { return faster_of(kind, names, tolerance); });
}

std::vector<std::string> Kinds::reaches(const FleetNames& names, double tolerance) const {
  return each([&](const Kind& kind) { return reach_of(kind, names, tolerance); });
}

std::string Kinds::text() const {
  std::vector<std::string> parts;
  for (const Kind* kind : by_size_) {
    if (parts.size() == kMostNamedKinds) break;
    parts.push_back(
        fmt::format("{} with {}", counted(std::ssize(kind->members), "node", "nodes"), kind->name));
  }
  if (by_size_.size() > kMostNamedKinds) {
    parts.push_back(fmt::format("{} more", by_size_.size() - kMostNamedKinds));
  }
  return fmt::format(
      "{}: {}",
      counted(static_cast<std::int64_t>(by_size_.size()), "kind of machine", "kinds of machines"),
      fmt::join(parts, ", "));
}

}  // namespace linkgain
