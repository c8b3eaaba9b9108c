#include "linkgain/fleet/fleet.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "fleet_kinds.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/hardware/machine.hpp"

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

bool covers(const std::vector<int>& ranks, const std::set<RankPair>& pairs) {
  return std::ranges::all_of(pairs, [&](const RankPair& pair) {
    return std::ranges::any_of(ranks, [&](int rank) { return has_rank(pair, rank); });
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

/// Says which GPU or pair of GPUs the slow cases of pairs point to: a GPU of which every measured
/// pair is slow, where such GPUs have part in all slow pairs; else the slow pairs. `slow` are
/// numbers of `names`. Empty where no pair is slow.
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

/// A node's findings with their weight, until they are put in order.
class Findings {
 public:
  void add(NodeState state, std::string text) { findings_.emplace_back(state, std::move(text)); }

  void put_into(FleetNode& node) {
    std::ranges::stable_sort(findings_,
                             [](const auto& a, const auto& b) { return a.first < b.first; });
    if (!findings_.empty()) node.state = findings_.front().first;
    for (auto& [state, text] : findings_) node.findings.push_back(std::move(text));
  }

 private:
  std::vector<std::pair<NodeState, std::string>> findings_;
};

void look_at_run(const FleetRecord& record, Findings& findings) {
  const auto wrong = std::ranges::count_if(record.values, &FleetValue::wrong_data);
  if (wrong > 0) {
    findings.add(NodeState::wrong_data,
                 fmt::format("wrong data in {}", counted(wrong, "case", "cases")));
  } else if (record.exit_code == static_cast<int>(ExitCode::wrong_data)) {
    findings.add(NodeState::wrong_data, "its own run found wrong data");
  }
  if (record.exit_code == static_cast<int>(ExitCode::wrong_path)) {
    findings.add(NodeState::other_path, "its own run found a wrong path");
  }
  if (record.status == RunStatus::interrupted) {
    findings.add(NodeState::ok, "its run was interrupted");
  } else if (record.status != RunStatus::complete) {
    findings.add(NodeState::incomplete,
                 fmt::format("its run is not complete ({})", name_of(record.status)));
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
  findings.add(often ? NodeState::unhealthy : NodeState::ok,
               fmt::format("throttled in {} of {} samples", unhealthy, samples));
}

/// Tells of others' work, which explains what is slow, and is nothing against the node.
void look_at_disturbance(const FleetRecord& record, FleetNode& node, Findings& findings) {
  node.neighbours = record.neighbours;
  for (const FleetValue& value : record.values) {
    node.disturbed_samples += value.disturbed_samples;
    node.level_changes += value.level_changed ? 1 : 0;
  }
  if (node.neighbours.value_or(0) > 0) findings.add(NodeState::ok, "others were seen on its GPUs");
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
/// paths.
void look_at_paths(const FleetRecord& record, const Kind& peers, const FleetNames& names,
                   Findings& findings) {
  std::map<std::string, int> counts;
  for (const FleetValue& value : record.values) {
    const Path usual = peers.figures.at(value.name).path;
    if (!(value.seconds > 0.0F) || value.path == usual) continue;
    if (value.path == Path::unknown || usual == Path::unknown) continue;
    ++counts[fmt::format("{}: {} where its peers take {}", names.all().at(value.name).variant,
                         name_of(value.path), name_of(usual))];
  }
  for (const auto& [text, count] : counts) {
    findings.add(NodeState::other_path,
                 fmt::format("{} ({})", text, counted(count, "case", "cases")));
  }
}

/// Returns what was measured, by numbers of names.
std::set<std::uint32_t> measured_in(const FleetRecord& record) {
  std::set<std::uint32_t> measured;
  for (const FleetValue& value : record.values) {
    if (value.seconds > 0.0F || value.wrong_data) measured.insert(value.name);
  }
  return measured;
}

/// Looks for cases that most of its peers have and that this run did not measure.
void look_for_gaps(const FleetRecord& record, const Kind& peers, Findings& findings) {
  const std::set<std::uint32_t> measured = measured_in(record);
  int usual = 0;
  int lacking = 0;
  for (std::uint32_t name = 0; name < peers.figures.size(); ++name) {
    const auto nodes = static_cast<std::size_t>(peers.figures[name].nodes);
    if (nodes < kKindSize || 3 * nodes < 2 * peers.members.size()) continue;
    ++usual;
    if (!measured.contains(name)) ++lacking;
  }
  if (lacking == 0) return;
  findings.add(NodeState::incomplete, fmt::format("lacks {} of {} that its peers have", lacking,
                                                  counted(usual, "case", "cases")));
}

void look_at_times(const FleetRecord& record, const Kind& peers, const FleetNames& names,
                   const FleetOptions& options, FleetNode& node, Findings& findings) {
  std::vector<Question> questions;
  for (const FleetValue& value : record.values) {
    const PeerFigure& figure = peers.figures.at(value.name);
    if (!(value.seconds > 0.0F) || static_cast<std::size_t>(figure.nodes) < kKindSize) continue;
    const double excess = std::log(static_cast<double>(value.seconds)) - figure.centre;
    node.ratios.push_back({value.name, std::exp(excess)});
    questions.push_back(question_of(excess, figure, options.tolerance));
  }
  node.judged_cases = static_cast<int>(questions.size());
  const std::vector<Judgement> judgements = judge(questions, Claim::change);
  std::vector<std::uint32_t> slow;
  double worst = 0.0;
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    if (judgements[i].verdict != Verdict::slower) continue;
    slow.push_back(node.ratios[i].name);
    if (*judgements[i].shift <= worst) continue;
    worst = *judgements[i].shift;
    node.worst_case = names.all().at(slow.back()).case_name;
    node.worst_variant = names.all().at(slow.back()).variant;
  }
  node.slow_cases = static_cast<int>(slow.size());
  if (slow.empty()) return;
  node.slowdown = std::exp(worst);
  node.blame = blame_by_pairs(record, slow, names);
  findings.add(NodeState::slow,
               fmt::format("slow in {} of {} (the worst {:.2f}x: {} with {})", slow.size(),
                           counted(node.judged_cases, "case", "cases"), *node.slowdown,
                           node.worst_case, node.worst_variant));
}

void look_at_software(const FleetRecord& record, const Kind& peers, Findings& findings) {
  const auto look = [&](const char* what, const std::optional<std::string>& own,
                        const std::map<std::string, int>& all) {
    const std::string usual = majority(all);
    if (usual.empty() || !own || *own == usual) return;
    findings.add(NodeState::ok,
                 fmt::format("{} {} where most of its peers have {}", what, *own, usual));
  };
  look("driver", record.machine.software.driver, peers.drivers);
  look("NCCL", record.machine.software.nccl_library, peers.nccls);
}

/// Makes the line of one machine. Its findings stand in the order of their weight.
FleetNode judge_node(const FleetRecord& record, const NodePeers& peers, const FleetNames& names,
                     const FleetOptions& options) {
  FleetNode node;
  node.host = host_of(record);
  node.record = record.path;
  node.started = record.started;
  node.machine = describe_machine(record.machine);
  Findings findings;
  look_at_run(record, findings);
  look_at_health(record, findings);
  look_at_disturbance(record, node, findings);
  if (peers.usual != nullptr) {
    const Machine& usual = peers.usual->members.front()->machine;
    // A run on some of the GPUs only says nothing against the node.
    const bool other_gpus = describe_machine(record.machine) != describe_machine(usual);
    findings.add(other_gpus ? NodeState::not_judged : NodeState::odd_machine,
                 difference_of(record.machine, usual));
  }
  if (peers.judges != nullptr) {
    look_for_gaps(record, *peers.judges, findings);
    look_at_paths(record, *peers.judges, names, findings);
    look_at_times(record, *peers.judges, names, options, node, findings);
    if (node.judged_cases == 0) {
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

/// Returns the host without its domain, with which it may stand or not.
std::string short_name(const std::string& host) { return host.substr(0, host.find('.')); }

/// Returns what tells the record's machine from others of its name, sorted: its GPUs' UUIDs;
/// without GPUs the processor.
std::set<std::string> parts_of(const FleetRecord& record) {
  std::set<std::string> parts;
  for (const RankInfo& rank : record.machine.ranks) {
    if (rank.gpu) parts.insert(rank.gpu->uuid);
  }
  if (parts.empty()) parts.insert(record.machine.processor);
  return parts;
}

/// Returns the same text for the same host with the same GPUs; hosts of one name with other GPUs
/// are different machines.
std::string identity_of(const FleetRecord& record) {
  return fmt::format("{} {}", host_of(record), fmt::join(parts_of(record), " "));
}

/// Returns "GPU-9d44a6fd" of a machine with GPUs, else its processor.
std::string mark_of(const FleetRecord& record) {
  const std::string part = *parts_of(record).begin();
  const bool is_uuid = part.starts_with("GPU-") || part.starts_with("MIG-");
  return is_uuid ? part.substr(0, part.find('-', std::string_view("GPU-").size())) : part;
}

/// Tells whether a file is a JSON document of another kind, as directories hold them, too; what is
/// called a record is meant as one.
bool is_left_out(const FleetRecord& record) {
  return record.is_other_document && record.path.filename() != "record.json";
}

/// Tells whether another record is of a machine of this one's name and of its program.
auto is_namesake_of(const FleetRecord& record) {
  return [&record, host = host_of(record)](const FleetRecord* each) {
    return host_of(*each) == host && each->program == record.program;
  };
}

/// Adds a run whose jobs never started, which does not say what GPUs it had: it is of the machine
/// of its name and of this program, where that is one.
void add_unstarted(std::vector<const FleetRecord*>& newest, const FleetRecord& record) {
  const auto is_namesake = is_namesake_of(record);
  const auto place = std::ranges::find_if(newest, is_namesake);
  if (std::ranges::count_if(newest, is_namesake) != 1) {
    newest.push_back(&record);
  } else if ((*place)->started < record.started) {
    *place = &record;
  }
}

/// Names the machine, its ranks and the program if it ran one: what records that can be compared
/// have in common. Links are left out: where one was lost or repaired, what was before no longer
/// counts.
std::string comparable_part(const FleetRecord& record) {
  return fmt::format("{}\n{}\n{}", identity_of(record), describe_machine(record.machine),
                     record.program);
}

/// Returns the newest readable records of every machine, in the order of their first: one of each
/// kind of run that cannot be compared with the others.
std::vector<const FleetRecord*> newest_of(const std::vector<FleetRecord>& records) {
  std::map<std::string, std::size_t> places;
  std::vector<const FleetRecord*> newest;
  for (const FleetRecord& record : records) {
    if (!record.problem.empty() || record.machine.ranks.empty()) continue;
    const auto [place, added] = places.try_emplace(comparable_part(record), newest.size());
    if (added) {
      newest.push_back(&record);
    } else if (newest[place->second]->started < record.started) {
      newest[place->second] = &record;
    }
  }
  for (const FleetRecord& record : records) {
    if (record.problem.empty() && record.machine.ranks.empty()) add_unstarted(newest, record);
  }
  return newest;
}

/// Finds the run that never started and took the record's place; the end of `newest` where none
/// did.
std::size_t unstarted_after(const FleetRecord& record,
                            const std::vector<const FleetRecord*>& newest) {
  const auto place = std::ranges::find_if(
      newest, [&record, is_namesake = is_namesake_of(record)](const FleetRecord* each) {
        return each->machine.ranks.empty() && record.started < each->started && is_namesake(each);
      });
  return static_cast<std::size_t>(place - newest.begin());
}

/// Names an older record that is passed over, which must not be silent where it has cases that the
/// newest lacks. Nodes stand in the order of `newest`.
void name_older(FleetReport& report, const std::vector<FleetRecord>& records,
                const std::vector<const FleetRecord*>& newest) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < newest.size(); ++i) places.emplace(comparable_part(*newest[i]), i);
  std::map<std::size_t, const FleetRecord*> older;
  for (const FleetRecord& record : records) {
    if (!record.problem.empty()) continue;
    const auto own = places.find(comparable_part(record));
    const std::size_t place = own != places.end() ? own->second : unstarted_after(record, newest);
    if (place == newest.size() || newest[place] == &record) continue;
    if (std::ranges::includes(measured_in(*newest[place]), measured_in(record))) continue;
    const FleetRecord*& latest = older[place];
    if (latest == nullptr || latest->started < record.started) latest = &record;
  }
  for (const auto& [place, record] : older) {
    report.nodes[place].findings.push_back(
        fmt::format("an older record has cases that this one lacks: {}", record->path.string()));
  }
}

FleetNode unreadable_node(const std::string& host, const FleetRecord& record) {
  FleetNode node;
  node.host = host;
  node.record = record.path;
  node.state = NodeState::unreadable;
  node.findings = {record.problem};
  return node;
}

/// Adds a problem beside what another record says of the node. A state that is to be drained stays.
void add_problem(FleetNode& node, const FleetRecord& record) {
  node.findings.push_back(
      fmt::format("{}: {}", visible(record.path.string()), visible(record.problem)));
  if (!is_to_drain(node.state)) node.state = NodeState::unreadable;
}

void add_unreadable(FleetReport& report, const std::vector<FleetRecord>& records) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < report.nodes.size(); ++i) {
    places.try_emplace(short_name(report.nodes[i].host), i);
  }
  for (const FleetRecord& record : records) {
    if (record.problem.empty() || is_left_out(record)) continue;
    const std::string host = host_of(record);
    const auto [place, added] = places.try_emplace(short_name(host), report.nodes.size());
    if (added) {
      report.nodes.push_back(unreadable_node(host, record));
    } else {
      add_problem(report.nodes[place->second], record);
    }
  }
}

/// Leaves out a record that is not judged where another one of the same machine is; returns how
/// many. Nodes stand in the order of `newest`, before and after.
std::int64_t leave_out_unjudged(FleetReport& report, std::vector<const FleetRecord*>& newest) {
  std::set<std::string> judged;
  for (std::size_t i = 0; i < newest.size(); ++i) {
    if (report.nodes[i].judged_cases > 0) judged.insert(identity_of(*newest[i]));
  }
  std::vector<FleetNode> nodes;
  std::vector<const FleetRecord*> kept;
  for (std::size_t i = 0; i < newest.size(); ++i) {
    if (report.nodes[i].state == NodeState::not_judged &&
        judged.contains(identity_of(*newest[i]))) {
      continue;
    }
    nodes.push_back(std::move(report.nodes[i]));
    kept.push_back(newest[i]);
  }
  const std::size_t left_out = newest.size() - kept.size();
  report.nodes = std::move(nodes);
  newest = std::move(kept);
  return static_cast<std::int64_t>(left_out);
}

/// Says which is which where machines share a name, or a machine has several records. Nodes stand
/// in the order of `newest`.
void tell_namesakes_apart(FleetReport& report, const std::vector<const FleetRecord*>& newest) {
  std::map<std::string, int> counts;
  std::map<std::string, std::set<std::string>> machines;
  for (const FleetRecord* record : newest) {
    ++counts[host_of(*record)];
    machines[host_of(*record)].insert(mark_of(*record));
  }
  for (std::size_t i = 0; i < newest.size(); ++i) {
    FleetNode& node = report.nodes[i];
    const int count = counts[node.host];
    const std::size_t others = machines[node.host].size();
    if (count < 2) continue;
    if (others > 1) node.mark = mark_of(*newest[i]);
    node.findings.push_back(
        others > 1
            ? fmt::format("one of {} machines named {}: {}", others, node.host,
                          node.record.string())
            : fmt::format("one of {} records of it that cannot be compared with each other: {}",
                          count, node.record.string()));
  }
}

/// Names each once, as the scheduler has it: of a host that was expected with a domain, or without,
/// that is its name.
std::vector<std::string> hosts_to_drain(const FleetReport& report, const FleetOptions& options) {
  std::map<std::string, std::string> expected;
  for (const std::string& host : options.expected) expected.try_emplace(short_name(host), host);
  std::set<std::string> named;
  std::vector<std::string> hosts;
  for (const FleetNode& node : report.nodes) {
    if (node.host.empty() || !is_to_drain(node.state)) continue;
    const auto known = expected.try_emplace(short_name(node.host), node.host).first;
    if (named.insert(known->second).second) hosts.push_back(known->second);
  }
  return hosts;
}

void add_missing(FleetReport& report, const FleetOptions& options) {
  std::set<std::string> present;
  for (const FleetNode& node : report.nodes) present.insert(short_name(node.host));
  for (const std::string& host : options.expected) {
    if (!present.insert(short_name(host)).second) continue;
    FleetNode node;
    node.host = host;
    node.state = NodeState::missing;
    node.findings = {"no record of it was given"};
    report.nodes.push_back(std::move(node));
  }
}

void add_left_out(FleetReport& report, const std::vector<FleetRecord>& records, std::int64_t older,
                  std::int64_t unjudged, std::int64_t others) {
  if (older > 0) {
    const bool has_gpus = std::ranges::any_of(records, [](const FleetRecord& record) {
      return std::ranges::any_of(record.machine.ranks,
                                 [](const RankInfo& rank) { return rank.gpu.has_value(); });
    });
    report.notes.push_back(
        fmt::format("{} left out: a newer one has the same host name and {}",
                    counted(older, "older record", "older records"),
                    has_gpus ? "GPUs" : "processor, and no GPUs to tell machines apart"));
  }
  if (unjudged > 0) {
    report.notes.push_back(fmt::format("{} of judged machines left out: too few are like {}",
                                       counted(unjudged, "further record", "further records"),
                                       unjudged == 1 ? "it" : "them"));
  }
  if (others > 0) {
    report.notes.push_back(fmt::format(
        "{} left out",
        counted(others, "JSON document that is no record", "JSON documents that are no records")));
  }
}

bool is_worse(const FleetNode& a, const FleetNode& b) {
  if (a.state != b.state) return a.state < b.state;
  if (a.slowdown != b.slowdown) return a.slowdown.value_or(0.0) > b.slowdown.value_or(0.0);
  return a.host < b.host;
}

}  // namespace

bool is_to_drain(NodeState state) {
  using enum NodeState;
  static constexpr std::array kNotToBlame{missing, unreadable, not_judged, ok};
  return std::ranges::find(kNotToBlame, state) == kNotToBlame.end();
}

bool has_judged(const FleetReport& report) {
  return std::ranges::any_of(report.nodes,
                             [](const FleetNode& node) { return node.judged_cases > 0; });
}

ExitCode exit_code_of(const FleetReport& report) {
  const auto read = std::ranges::count_if(
      report.nodes, [](const FleetNode& node) { return node.state != NodeState::unreadable; });
  if (read == 0 && !report.nodes.empty()) return ExitCode::usage;
  const bool trouble = std::ranges::any_of(report.nodes, [](const auto& node) {
    return node.state != NodeState::ok && node.state != NodeState::not_judged;
  });
  if (trouble) return ExitCode::problem_found;
  return has_judged(report) || report.nodes.empty() ? ExitCode::success : ExitCode::inconclusive;
}

FleetReport judge_fleet(const std::vector<FleetRecord>& records, const FleetNames& names,
                        const FleetOptions& options) {
  FleetReport report;
  std::vector<const FleetRecord*> newest = newest_of(records);
  const Kinds kinds(newest, names);
  for (const FleetRecord* record : newest) {
    report.nodes.push_back(judge_node(*record, kinds.peers_of(*record), names, options));
  }
  const auto compared = static_cast<std::ptrdiff_t>(newest.size());
  const std::int64_t unjudged = leave_out_unjudged(report, newest);
  tell_namesakes_apart(report, newest);
  name_older(report, records, newest);
  add_unreadable(report, records);
  const auto others = std::ranges::count_if(records, is_left_out);
  const auto readable = std::ranges::count_if(
      records, [](const FleetRecord& record) { return record.problem.empty(); });
  add_missing(report, options);
  std::ranges::stable_sort(report.nodes, is_worse);
  report.drain = hosts_to_drain(report, options);
  if (!newest.empty()) report.notes.push_back(kinds.text());
  for (std::string& reach : kinds.reaches(names, options.tolerance)) {
    report.notes.push_back(std::move(reach));
  }
  add_left_out(report, records, readable - compared, unjudged, others);
  return report;
}

}  // namespace linkgain
