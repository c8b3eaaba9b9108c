#include "fleet_kinds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "linkgain/analysis/launch_statistics.hpp"
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

}  // namespace

std::string difference_of(const Machine& own, const Machine& usual) {
  const std::string machine = describe_machine(own);
  if (machine != describe_machine(usual)) {
    return fmt::format("{} where its peers have {}", machine, describe_machine(usual));
  }
  const std::vector<MachineDifference> all = differences_of(own, usual);
  if (all.empty()) return "links that its peers do not have";
  return fmt::format("{}: {} where its peers have {}", all.front().what, all.front().after,
                     all.front().before);
}

namespace {

/// Returns what a kind is called: the machine, and which program ran on it.
std::string kind_name(const FleetRecord& record) {
  const std::string machine = describe_machine(record.machine);
  if (record.program.empty()) return machine;
  return fmt::format("{} running {}", machine, visible(record.program));
}

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

constexpr double kNormalPerDeviation = 1.4826;
constexpr std::size_t kPaths = 6;

/// Times and paths of one case and variant over the members.
struct Column {
  std::vector<double> logs;
  std::array<int, kPaths> paths{};
  int launches = 0;  ///< the fewest of a member
};

std::vector<Column> columns_of(const Kind& kind, std::size_t names) {
  std::vector<Column> columns(names);
  for (const FleetRecord* member : kind.members) {
    for (const FleetValue& value : member->values) {
      if (!(value.seconds > 0.0F) || value.wrong_data) continue;
      Column& column = columns.at(value.name);
      column.logs.push_back(std::log(static_cast<double>(value.seconds)));
      ++column.paths.at(static_cast<std::size_t>(value.path));
      const int launches = value.launches > 0 ? value.launches : member->launches;
      column.launches = column.launches == 0 ? launches : std::min(column.launches, launches);
    }
  }
  return columns;
}

/// Returns what a machine's own launches are known to differ by: a quiet fleet must not make
/// outliers of it.
double least_deviation(const FleetNames::Name& name, int launches) {
  const double single = assumed_deviation(parse_case_name(name.case_name).size);
  return single / std::sqrt(static_cast<double>(std::max(1, launches)));
}

Path path_of(const Column& column) {
  const auto most = std::ranges::max_element(column.paths);
  return 3 * static_cast<std::size_t>(*most) >= 2 * column.logs.size()
             ? static_cast<Path>(most - column.paths.begin())
             : Path::unknown;
}

PeerFigure figure_of(Column& column, const FleetNames::Name& name) {
  PeerFigure figure;
  figure.nodes = static_cast<int>(column.logs.size());
  if (column.logs.size() < kKindSize) return figure;
  figure.launches = column.launches;
  figure.path = path_of(column);
  figure.centre = median(column.logs);
  for (double& log : column.logs) log = std::abs(log - figure.centre);
  figure.deviation =
      std::max(kNormalPerDeviation * median(column.logs), least_deviation(name, column.launches));
  return figure;
}

/// Fills `figures`, by the number of `names`; for fewer than kKindSize members they stay empty.
void summarise(Kind& kind, const FleetNames& names) {
  for (const FleetRecord* member : kind.members) {
    ++kind.drivers[member->machine.software.driver.value_or("")];
    ++kind.nccls[member->machine.software.nccl_library.value_or("")];
  }
  if (kind.members.size() < kKindSize) return;
  std::vector<Column> columns = columns_of(kind, names.all().size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    kind.figures.push_back(figure_of(columns[i], names.all()[i]));
  }
}

}  // namespace

std::string majority(const std::map<std::string, int>& counts) {
  int all = 0;
  for (const auto& [name, count] : counts) all += count;
  for (const auto& [name, count] : counts) {
    if (2 * count > all) return name;
  }
  return {};
}

Question question_of(double excess, const PeerFigure& figure, double tolerance) {
  const double half = kDeviations * figure.deviation;
  return {.log = excess,
          .interval = Interval{excess - half, excess + half},
          .tolerance = {.lower = std::nullopt, .upper = tolerance}};
}

namespace {

/// Returns how much more of the log time than its peers' median it takes to be slow.
double slow_bound(const PeerFigure& figure, double tolerance) {
  return std::max(std::log1p(tolerance), kDeviations * figure.deviation);
}

/// Slowdowns, as shares of the time, from which cases of one class count as slow.
struct Reach {
  double least = 0.0;
  double most = 0.0;
  int launches = 0;  ///< the fewest
  bool empty() const { return launches == 0; }
};

Reach reach_of_class(const Kind& kind, const FleetNames& names, double tolerance, bool steady) {
  Reach reach;
  for (std::size_t i = 0; i < kind.figures.size(); ++i) {
    const PeerFigure& figure = kind.figures[i];
    if (static_cast<std::size_t>(figure.nodes) < kKindSize) continue;
    if ((parse_case_name(names.all()[i].case_name).size >= kSteadySize) != steady) continue;
    const double share = std::expm1(slow_bound(figure, tolerance));
    const int launches = std::max(1, figure.launches);
    reach.least = reach.empty() ? share : std::min(reach.least, share);
    reach.most = std::max(reach.most, share);
    reach.launches = reach.empty() ? launches : std::min(reach.launches, launches);
  }
  return reach;
}

std::string percent(double share) {
  const double value = 100.0 * share;
  return value < 9.95 ? fmt::format("{:.2g} %", value) : fmt::format("{:.0f} %", value);
}

/// Returns "7.8 %", "7.8 % to 12 % (by case)".
std::string reach_text(const Reach& reach) {
  const std::string least = percent(reach.least);
  const std::string most = percent(reach.most);
  return least == most ? least : fmt::format("{} to {} (by case)", least, most);
}

std::string both_classes(const Reach& steady, const Reach& small) {
  if (small.empty()) return reach_text(steady) + " slower than its peers or more";
  if (steady.empty()) return reach_text(small) + " slower than its peers or more";
  if (reach_text(steady) == reach_text(small))
    return reach_text(steady) + " slower than its peers or more";
  return fmt::format("{} slower than its peers or more from 1 MiB on, {} below", reach_text(steady),
                     reach_text(small));
}

/// Says what slowdown is found in machines of this kind, by class of size where they differ; the
/// tolerance may be finer than their launches can tell. Empty for fewer than kKindSize
/// machines.
std::string reach_of(const Kind& kind, const FleetNames& names, double tolerance) {
  const Reach steady = reach_of_class(kind, names, tolerance, true);
  const Reach small = reach_of_class(kind, names, tolerance, false);
  if (kind.members.size() < kKindSize) return {};
  if (steady.empty() && small.empty()) {
    return fmt::format("no case was measured on {} of them: whether one is slow is not known",
                       kKindSize);
  }
  const int launches = steady.empty()  ? small.launches
                       : small.empty() ? steady.launches
                                       : std::min(steady.launches, small.launches);
  constexpr double kRounding = 1e-9;
  constexpr int kUsual = 8;
  const bool coarse = std::max(steady.most, small.most) > tolerance + kRounding;
  return fmt::format("finds a node that is {} ({} each{})", both_classes(steady, small),
                     counted(launches, "launch", "launches"),
                     coarse ? fmt::format("; the tolerance of {} takes more of them, run "
                                          "--launches {}",
                                          percent(tolerance), std::max(kUsual, 2 * launches))
                            : "");
}

constexpr std::size_t kMostNamedKinds = 5;

}  // namespace

Kinds::Kinds(const std::vector<const FleetRecord*>& records, const FleetNames& names) {
  std::vector<const FleetRecord*> ordered = records;
  std::ranges::stable_sort(ordered, {},
                           [](const FleetRecord* each) { return unknown_counts(*each); });
  for (const FleetRecord* record : ordered) {
    Kind& kind = kind_for(*record);
    kind.members.push_back(record);
    kind_of_[record] = &kind;
  }
  for (Kind& kind : kinds_) {
    summarise(kind, names);
    by_size_.push_back(&kind);
  }
  std::ranges::sort(by_size_, [](const Kind* a, const Kind* b) {
    const std::size_t sizes[] = {a->members.size(), b->members.size()};
    return sizes[0] != sizes[1] ? sizes[0] > sizes[1] : a->machine < b->machine;
  });
  for (const Kind* kind : by_size_) largest_.try_emplace(kind->model, kind);
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
  kind.machine = kind.model = name;
  const std::vector<RankInfo>& ranks = record.machine.ranks;
  if (ranks.empty() || !ranks.front().gpu) return kind;
  kind.model = ranks.front().gpu->name + name.substr(describe_machine(record.machine).size());
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

NodePeers Kinds::peers_of(const FleetRecord& record) const {
  const Kind& own = *kind_of_.at(&record);
  if (own.members.size() >= kKindSize) return {&own, nullptr};
  const Kind* usual = largest_.at(own.model);
  if (usual->members.size() < kKindSize) return {};
  return {usual->machine == own.machine ? usual : nullptr, usual};
}

std::vector<std::string> Kinds::reaches(const FleetNames& names, double tolerance) const {
  std::vector<std::string> texts;
  for (const Kind* kind : by_size_) {
    if (texts.size() == kMostNamedKinds) break;
    const std::string reach = reach_of(*kind, names, tolerance);
    if (reach.empty()) continue;
    texts.push_back(kinds_.size() > 1 ? fmt::format("of {}: {}", kind->name, reach) : reach);
  }
  return texts;
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
