#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "fleet_kinds.hpp"
#include "linkgain/analysis/judgement.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/fleet/fleet.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/warning.hpp"

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

/// Returns the ranks of which two or more pairs were measured and all are slow.
std::vector<int> ranks_to_blame(const std::set<RankPair>& measured,
                                const std::set<RankPair>& slow) {
  std::set<int> ranks;
  for (const RankPair& pair : slow) ranks.insert({pair.first, pair.second});
  std::vector<int> blamed;
  for (const int rank : ranks) {
    const auto with_rank = [rank](const RankPair& pair) { return has_rank(pair, rank); };
    const auto all = std::ranges::count_if(measured, with_rank);
    if (all >= 2 && std::ranges::count_if(slow, with_rank) == all) blamed.push_back(rank);
  }
  return blamed;
}

std::vector<std::string> name_ranks(const Machine& machine, const std::vector<int>& ranks) {
  std::vector<std::string> labels;
  for (const int rank : ranks) labels.push_back(gpu_label(machine, rank));
  return labels;
}

/// Where a finding is.
struct Places {
  std::vector<std::string> names{};  ///< of GPUs and pairs of GPUs
  std::string others{};              ///< "6 pairs", of more than anybody reads
};

Places places_of(const Machine& machine, const std::vector<int>& ranks,
                 const std::set<RankPair>& pairs) {
  Places places{name_ranks(machine, ranks)};
  if (pairs.size() > kMostNamedPairs) {
    places.others = fmt::format("{} pairs", pairs.size());
    return places;
  }
  for (const auto& [from, to] : pairs) {
    places.names.push_back(fmt::format("{}–{}", gpu_label(machine, from), gpu_label(machine, to)));
  }
  return places;
}

/// Says which GPUs and pairs of GPUs these pairs, some of those `measured`, point to: each GPU of
/// which every pair is among them, and the pairs of other GPUs.
Places blame(const Machine& machine, const std::set<RankPair>& measured,
             const std::set<RankPair>& pairs) {
  // Where every pair is among them, no GPU stands out.
  if (pairs.size() == measured.size() && pairs.size() > 1) {
    return {.others = fmt::format("all {} pairs", pairs.size())};
  }
  const std::vector<int> ranks = ranks_to_blame(measured, pairs);
  std::set<RankPair> others = pairs;
  std::erase_if(others, [&](const RankPair& pair) {
    return std::ranges::any_of(ranks, [&](int rank) { return has_rank(pair, rank); });
  });
  return places_of(machine, ranks, others);
}

/// Says to what the slow cases of pairs point. `slow` are numbers of `names`.
Places blame_by_pairs(const FleetRecord& record, const std::vector<std::uint32_t>& slow,
                      const FleetNames& names) {
  std::set<RankPair> slow_pairs;
  for (const std::uint32_t number : slow) {
    if (const auto pair = pair_of(names, number)) slow_pairs.insert(*pair);
  }
  std::set<RankPair> measured;
  for (const FleetValue& value : record.values) {
    if (const auto pair = pair_of(names, value.name)) measured.insert(*pair);
  }
  return blame(record.machine, measured, slow_pairs);
}

Places blame_by_links(const Machine& machine, const PeerDifference& difference) {
  if (difference.pairs.empty()) return {name_ranks(machine, difference.ranks)};
  std::set<RankPair> all;
  for (const PairLink& link : machine.links) {
    all.emplace(std::min(link.from, link.to), std::max(link.from, link.to));
  }
  return blame(machine, all, {difference.pairs.begin(), difference.pairs.end()});
}

/// A node's findings with their weight and what they point to, until they are put in order.
class Findings {
 public:
  void add(NodeState state, std::string text, Places where = {}) {
    findings_.push_back({state, std::move(text), std::move(where)});
  }

  bool has(NodeState state) const {
    return std::ranges::find(findings_, state, &Entry::state) != findings_.end();
  }

  /// Puts the worst first. Where several are reasons to drain the node, it is where each of them
  /// is; else where the worst is that says so.
  void put_into(FleetNode& node) {
    std::ranges::stable_sort(findings_, {}, &Entry::state);
    if (!findings_.empty()) node.state = findings_.front().state;
    Places places;
    for (Entry& each : findings_) {
      const bool is_reason = is_to_drain(each.state);
      if (is_reason && each.state != node.state &&
          std::ranges::count(node.other_states, each.state) == 0) {
        node.other_states.push_back(each.state);
      }
      const bool is_first = places.names.empty() && places.others.empty();
      if (is_first) places.others = each.where.others;
      for (const std::string& name : each.where.names) {
        const bool is_named = std::ranges::count(places.names, name) > 0;
        if (!is_named && (is_first || is_reason)) places.names.push_back(name);
      }
      node.findings.push_back(std::move(each.text));
    }
    if (!places.others.empty()) places.names.push_back(places.others);
    node.blame = fmt::format("{}", fmt::join(places.names, ", "));
  }

 private:
  struct Entry {
    NodeState state;
    std::string text;
    Places where;
  };
  std::vector<Entry> findings_;
};

void look_at_run(const FleetRecord& record, Findings& findings) {
  const auto wrong = std::ranges::count_if(record.values, &FleetValue::wrong_data);
  if (wrong > 0) {
    findings.add(NodeState::wrong_data,
                 fmt::format("wrong data in {}", counted(wrong, "case", "cases")));
  }
  if (record.wrong_path) findings.add(NodeState::other_path, "its own run found a wrong path");
  if (record.status == RunStatus::interrupted) {
    findings.add(NodeState::inconclusive, "its run was interrupted");
  } else if (record.is_out_of_time) {
    findings.add(NodeState::inconclusive, "its time budget ended before anything was measured");
  } else if (record.status != RunStatus::complete) {
    findings.add(
        NodeState::incomplete,
        fmt::format("its run {}{}{}",
                    record.status == RunStatus::job_lost ? "lost a job" : "is not complete",
                    record.cause.empty() ? "" : ": ", record.cause));
  }
}

void look_at_health(const FleetRecord& record, Findings& findings) {
  std::int64_t samples = 0;
  std::int64_t unhealthy = 0;
  for (const FleetValue& value : record.values) {
    samples += value.samples;
    unhealthy += value.unhealthy_samples;
  }
  if (unhealthy == 0) return;
  const bool often =
      static_cast<double>(unhealthy) >= kUnhealthyShare * static_cast<double>(samples);
  HealthSummary health;
  std::vector<int> ranks;
  for (const auto& [rank, reasons] : record.throttled) {
    health.clock_event_reasons = health.clock_event_reasons.value_or(0) | reasons;
    ranks.push_back(rank);
  }
  const std::vector<std::string> gpus = name_ranks(record.machine, ranks);
  findings.add(often ? NodeState::unhealthy : NodeState::ok,
               fmt::format("throttled in {} of {} samples{}", unhealthy, samples,
                           gpus.empty() ? ""
                                        : fmt::format(" ({}: {})", fmt::join(gpus, ", "),
                                                      throttled_by(health))),
               {gpus});
}

/// Looks for what broke during the run. Packets that were sent again are told alone: a link does
/// that by itself.
void look_at_errors(const FleetRecord& record, Findings& findings) {
  for (const CountedErrors& each : record.errors) {
    const ErrorCounter& counter = each.counter;
    const bool broke = counter.kind == ErrorKind::xid || counter.kind == ErrorKind::nvlink_outages;
    findings.add(broke ? NodeState::faulty : NodeState::ok,
                 errors_text(counter, each.growth) + " during its run",
                 {{counter.peer ? fmt::format("GPU{}–GPU{}", counter.gpu, *counter.peer)
                                : fmt::format("GPU{}", counter.gpu)}});
  }
}

/// Looks for GPUs with fewer PCIe lanes, slower NVLinks, or less power, than the same ones of most
/// peers.
void look_at_links(const FleetRecord& record, const Kind& peers, Findings& findings) {
  constexpr double kRounding = 0.99;  ///< drivers round rates
  for (std::size_t i = 0; i < kGpuLinks.size(); ++i) {
    const GpuLink& link = kGpuLinks[i];
    std::map<std::string, std::vector<int>> ranks;
    for (const RankInfo& rank : record.machine.ranks) {
      const auto known = peers.links[i].find(rank.rank);
      const std::optional<double> own = rank.gpu ? link.value(*rank.gpu) : std::nullopt;
      if (!own || known == peers.links[i].end()) continue;
      const double usual = majority(known->second);
      if (*own >= kRounding * usual) continue;
      ranks[fmt::format("{}: {} where its peers have {}", link.what, link.text(*own),
                        link.text(usual))]
          .push_back(rank.rank);
    }
    for (const auto& [text, own] : ranks) {
      const std::vector<std::string> gpus = name_ranks(record.machine, own);
      findings.add(link.is_fault ? NodeState::faulty : NodeState::ok,
                   fmt::format("{} {}", fmt::join(gpus, ", "), text), {gpus});
    }
  }
}

/// Tells of others' work, which explains what is slow, and is nothing against the node.
void look_at_disturbance(const FleetRecord& record, FleetNode& node, Findings& findings) {
  node.neighbours = record.neighbours;
  node.disturbed_by = disturbed_by(record.disturbing);
  for (const FleetValue& value : record.values) {
    node.disturbed_samples += value.disturbed_samples;
    node.level_changes += value.level_changed ? 1 : 0;
  }
  if (node.neighbours.value_or(0) > 0) findings.add(NodeState::ok, "others were seen on its GPUs");
  std::vector<std::string> texts;
  for (const Warning& each : record.disturbing) {
    if (!is(each, WarningCode::busy_gpu)) texts.push_back(each.text);  // the others that were seen
  }
  if (!texts.empty()) {
    findings.add(NodeState::ok,
                 fmt::format("what may make it slower: {}", fmt::join(texts, ", and ")));
  }
  if (node.disturbed_samples > 0) {
    findings.add(NodeState::ok, fmt::format("other processes were active in {}",
                                            counted(node.disturbed_samples, "sample", "samples")));
  }
  if (node.level_changes > 0) {
    findings.add(NodeState::ok, fmt::format("times changed level within a launch in {}",
                                            counted(node.level_changes, "case", "cases")));
  }
}

/// Says "p2p: host-memory where its peers take nvlink (44 cases)", for each variant and pair of
/// paths. One that is not known may be the usual one.
void look_at_paths(const FleetRecord& record, const Kind& peers, const FleetNames& names,
                   Findings& findings) {
  std::map<std::pair<NodeState, std::string>, int> counts;
  for (const FleetValue& value : record.values) {
    const Path usual = peers.figures.at(value.name).path;
    if (!(value.seconds > 0.0F) || value.path == usual) continue;
    if (usual == Path::unknown) continue;
    const NodeState state =
        value.path == Path::unknown ? NodeState::inconclusive : NodeState::other_path;
    ++counts[{state,
              fmt::format("{}: {} where its peers take {}", names.all().at(value.name).variant,
                          name_of(value.path), name_of(usual))}];
  }
  for (const auto& [finding, count] : counts) {
    findings.add(finding.first,
                 fmt::format("{} ({})", finding.second, counted(count, "case", "cases")));
  }
}

/// Looks for cases that this run did not measure. Those of more than half of the peers that
/// measured anything are a gap, those of fewer another selection.
void look_for_gaps(const FleetRecord& record, const Kind& peers, Findings& findings) {
  const std::set<std::uint32_t> measured = measured_in(record);
  int usual = 0;
  int lacking = 0;
  int of_few = 0;
  for (std::uint32_t name = 0; name < peers.figures.size(); ++name) {
    const int nodes = peers.figures[name].nodes;
    if (static_cast<std::size_t>(nodes) < kKindSize) continue;
    const bool is_usual = 2 * nodes > peers.measuring;
    if (is_usual) ++usual;
    if (!measured.contains(name)) ++(is_usual ? lacking : of_few);
  }
  if (lacking > 0) {
    findings.add(NodeState::inconclusive, fmt::format("lacks {} of {} that its peers have", lacking,
                                                      counted(usual, "case", "cases")));
  }
  if (of_few > 0) {
    findings.add(NodeState::ok, fmt::format("lacks {} that some of its peers have",
                                            counted(of_few, "case", "cases")));
  }
}

/// Cases of a node that are slow, or that may be, by numbers of FleetNames.
struct SlowCases {
  std::vector<std::uint32_t> names{};
  double worst = 0.0;  ///< log time over the peers' median
  std::uint32_t worst_name = 0;

  void add(std::uint32_t name, double shift) {
    names.push_back(name);
    if (shift <= worst) return;
    worst = shift;
    worst_name = name;
  }
};

/// Adds "slow in 3 of 40 cases (the worst 1.31x: … with p2p)"; a node's worst case is of what was
/// found first. `rest` ends what stands in brackets.
void add_slow(NodeState state, std::string_view what, const SlowCases& slow,
              const FleetRecord& record, const Kind& peers, const FleetNames& names,
              FleetNode& node, Findings& findings, std::string_view rest = {}) {
  if (slow.names.empty()) return;
  const FleetNames::Name& worst = names.all().at(slow.worst_name);
  if (!node.slowdown) {
    node.slowdown = std::exp(slow.worst);
    node.worst_case = worst.case_name;
    node.worst_variant = worst.variant;
  }
  findings.add(
      state,
      fmt::format("{} in {} of {} (the worst {:.2f}x{}: {} with {}{})", what, slow.names.size(),
                  counted(node.judged_cases, "case", "cases"), std::exp(slow.worst),
                  peers.figures.at(slow.worst_name).slower_group
                      ? " as long as the slower of two groups"
                      : "",
                  worst.case_name, worst.variant, rest),
      blame_by_pairs(record, slow.names, names));
}

/// Tells whether it is of one launch, which has no interval, and most peers' are of more. Where
/// these have one each, too, what they differ by is all that there is to judge it by.
bool lacks_launches(const PeerFigure& figure, const FleetRecord& record, const FleetValue& value) {
  return launches_of(record, value) < kFewestOfASide && figure.usual_launches >= kFewestOfASide;
}

/// Returns what is known of how launches of a case differ.
std::optional<LaunchDeviation> between_launches(const FleetValue& value) {
  if (!(value.deviation > 0.0F)) return std::nullopt;
  return LaunchDeviation{value.deviation, value.degrees_of_freedom};
}

/// Asks whether a case of so many launches may be slow whose log time is by so much above its
/// peers' median: they are the reference, and kDeviations of them its interval.
Question question_of(double excess, const PeerFigure& figure, int launches, double tolerance) {
  const double half = kDeviations * deviation_of(figure, launches);
  return {.log = excess,
          .interval = Interval{excess - half, excess + half},
          .tolerance = {.lower = std::nullopt, .upper = tolerance}};
}

/// A finer one is not advised.
constexpr double kFinestTolerance = 0.001;

/// Returns "; slow at --tolerance 4.3%": what decides of a log time that is by so much above its
/// peers' median for sure. More launches of this node alone would not.
std::string tolerance_advice(double least) {
  const double steps = std::floor(std::expm1(least) / kFinestTolerance);
  return fmt::format("; slow at --tolerance {:.1f}%", 100.0 * kFinestTolerance * steps);
}

/// Cases of a node that are slower than its peers', by what that says of it.
struct SlowerCases {
  SlowCases slow{};
  SlowCases disturbed{};
  SlowCases launched_once{};
  SlowCases scattered{};
  SlowCases close{};
  double least = 0.0;  ///< log time over the peers' median for sure, of the worst that is close

  void add(const FleetRecord& record, const FleetValue& value, const PeerFigure& figure,
           double tolerance);
};

void SlowerCases::add(const FleetRecord& record, const FleetValue& value, const PeerFigure& figure,
                      double tolerance) {
  const double bound = std::log1p(tolerance);
  const LaunchShift shift = shift_from(figure, std::log(static_cast<double>(value.seconds)),
                                       launches_of(record, value), between_launches(value));
  LaunchShift by_peers = shift;
  by_peers.parts.resize(1);
  ShiftQuantiles quantiles;
  const double low = interval_of(shift, quantiles).low;
  const bool is_scattered = low < kFinestTolerance || interval_of(by_peers, quantiles).low > bound;
  SlowCases& found = value.disturbed_samples > 0 || value.level_changed ? disturbed
                     : lacks_launches(figure, record, value)            ? launched_once
                     : low > bound                                      ? slow
                     : is_scattered                                     ? scattered
                                                                        : close;
  found.add(value.name, shift.log);
  if (&found == &close) least = std::max(least, low);
}

void look_at_times(const FleetRecord& record, const Kind& peers, const FleetNames& names,
                   const FleetOptions& options, FleetNode& node, Findings& findings) {
  std::vector<Question> questions;
  std::vector<const FleetValue*> asked;
  for (const FleetValue& value : record.values) {
    const PeerFigure& figure = peers.figures.at(value.name);
    if (!(value.seconds > 0.0F) || !figure.has_median()) continue;
    const double log_time = std::log(static_cast<double>(value.seconds));
    node.ratios.push_back({value.name, std::exp(log_time - figure.median)});
    questions.push_back(question_of(log_time - figure.centre, figure, launches_of(record, value),
                                    options.tolerance));
    asked.push_back(&value);
  }
  const std::vector<Judgement> judgements = judge(questions, Claim::change);
  SlowerCases slower;
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    const PeerFigure& figure = peers.figures.at(asked[i]->name);
    const bool is_slower = judgements[i].verdict == Verdict::slower;
    ++(figure.slower_group && !is_slower ? node.split_cases : node.judged_cases);
    if (is_slower) slower.add(record, *asked[i], figure, options.tolerance);
  }
  node.slow_cases = static_cast<int>(slower.slow.names.size());
  const auto add = [&](NodeState state, std::string_view what, const SlowCases& cases,
                       std::string_view rest = {}) {
    add_slow(state, what, cases, record, peers, names, node, findings, rest);
  };
  add(NodeState::slow, "slow", slower.slow);
  add(NodeState::inconclusive, "may be slow, but disturbed,", slower.disturbed);
  add(NodeState::inconclusive, "may be slow, but has one launch, where its peers have more,",
      slower.launched_once);
  add(NodeState::inconclusive, "may be slow, but its launches differ by more than its peers',",
      slower.scattered);
  node.is_settled = !findings.has(NodeState::inconclusive);
  add(NodeState::inconclusive, "may be slow, but too close to the tolerance to tell,", slower.close,
      tolerance_advice(slower.least));
  if (node.split_cases == 0) return;
  node.is_only_split = !findings.has(NodeState::inconclusive);
  findings.add(NodeState::inconclusive, fmt::format("its peers are two groups in {}",
                                                    counted(node.split_cases, "case", "cases")));
}

void look_at_software(const FleetRecord& record, const Kind& peers, Findings& findings) {
  const auto look = [&](const std::string& what, const std::optional<std::string>& own,
                        const std::map<std::string, int>& all) {
    const std::string usual = majority(all);
    if (usual.empty() || !own || *own == usual) return;
    findings.add(NodeState::ok,
                 fmt::format("{} {} where most of its peers have {}", what, *own, usual));
  };
  look("driver", record.machine.software.driver, peers.drivers);
  look("NCCL", record.machine.software.nccl_library, peers.nccls);
  for (const auto& [variable, all] : peers.variables) {
    const auto own = record.variables.find(variable);
    look(variable + ":", own == record.variables.end() ? kNoValue : own->second, all);
  }
}

}  // namespace

std::set<std::uint32_t> measured_in(const FleetRecord& record) {
  std::set<std::uint32_t> measured;
  for (const FleetValue& value : record.values) {
    if (value.seconds > 0.0F || value.wrong_data) measured.insert(value.name);
  }
  return measured;
}

FleetNode judge_node(const FleetRecord& record, const NodePeers& peers, const FleetNames& names,
                     const FleetOptions& options) {
  FleetNode node;
  node.host = host_of(record);
  node.record = record.path;
  node.started = record.started;
  node.machine = describe_machine(record.machine);
  node.has_errors = !record.errors.empty();
  Findings findings;
  look_at_run(record, findings);
  look_at_errors(record, findings);
  look_at_health(record, findings);
  look_at_disturbance(record, node, findings);
  if (peers.usual != nullptr) {
    const Machine& usual = peers.usual->members.front()->machine;
    const bool other_gpus = describe_machine(record.machine) != describe_machine(usual);
    const PeerDifference difference = difference_of(record.machine, usual);
    const bool lacks_parts = other_gpus ? lacks_gpus(record, usual) : difference.lacks_links;
    findings.add(lacks_parts  ? NodeState::faulty
                 : other_gpus ? NodeState::not_judged
                              : NodeState::odd_machine,
                 difference.text, blame_by_links(record.machine, difference));
  } else if (peers.judges != nullptr && peers.judges->with_more_links != nullptr) {
    const PeerDifference difference =
        difference_of(record.machine, peers.judges->with_more_links->members.front()->machine,
                      "other nodes with the same GPUs");
    if (difference.lacks_links) {
      findings.add(NodeState::odd_machine, difference.text,
                   blame_by_links(record.machine, difference));
    }
  }
  if (peers.judges != nullptr) {
    look_at_links(record, *peers.judges, findings);
    look_for_gaps(record, *peers.judges, findings);
    look_at_paths(record, *peers.judges, names, findings);
    look_at_times(record, *peers.judges, names, options, node, findings);
    if (node.judged_cases + node.split_cases == 0) {
      findings.add(NodeState::not_judged,
                   fmt::format("no case was measured on {} machines like it", kKindSize));
    }
    look_at_software(record, *peers.judges, findings);
  } else if (peers.usual == nullptr) {
    findings.add(NodeState::not_judged,
                 fmt::format("fewer than {} machines are like it", kKindSize));
  }
  findings.put_into(node);
  return node;
}

}  // namespace linkgain
