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
#include <string_view>
#include <utility>

#include "fleet_kinds.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "linkgain/tables/prometheus.hpp"

namespace linkgain {
namespace {

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

bool is_uuid(std::string_view part) { return part.starts_with("GPU-") || part.starts_with("MIG-"); }

/// Returns the same text for the same GPUs, whatever the host's name; without their UUIDs for the
/// same host. Hosts of one name with other GPUs are different machines.
std::string identity_of(const FleetRecord& record) {
  const std::set<std::string> parts = parts_of(record);
  return fmt::format("{} {}", std::ranges::all_of(parts, is_uuid) ? "" : host_of(record),
                     fmt::join(parts, " "));
}

/// Returns "GPU-9d44a6fd" of a machine with GPUs, else its processor.
std::string mark_of(const FleetRecord& record) {
  const std::string part = *parts_of(record).begin();
  return is_uuid(part) ? part.substr(0, part.find('-', std::string_view("GPU-").size())) : part;
}

/// Tells whether a file is a JSON document of another kind, as directories hold them, too; what is
/// called a record is meant as one.
bool is_left_out(const FleetRecord& record) {
  return record.is_other_document && record.path.filename() != "record.json";
}

/// Tells whether the first was measured before the other; one that is in the future counts as older
/// than any that is not.
bool is_older(const FleetRecord& one, const FleetRecord& other) {
  return std::pair(!is_in_future(one.started), std::string_view(one.started)) <
         std::pair(!is_in_future(other.started), std::string_view(other.started));
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
  } else if (is_older(**place, record)) {
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
    } else if (is_older(*newest[place->second], record)) {
      newest[place->second] = &record;
    }
  }
  for (const FleetRecord& record : records) {
    if (record.problem.empty() && record.machine.ranks.empty()) add_unstarted(newest, record);
  }
  return newest;
}

constexpr double kDay = 86400.0;

/// Takes out of `newest` the records that are far older than those of the same GPUs; returns them
/// with how many days they are older than the median of these.
std::vector<std::pair<const FleetRecord*, double>> take_stale(
    std::vector<const FleetRecord*>& newest) {
  constexpr double kFewestDays = 7.0;
  std::map<std::string, std::vector<double>> days;
  for (const FleetRecord* record : newest) {
    const std::optional<double> started = timestamp_of(record->started);
    if (started) days[model_of(*record)].push_back(*started / kDay);
  }
  std::map<std::string, std::pair<double, double>> usual;
  for (const auto& [model, own] : days) {
    const double centre = median(own);
    usual[model] = {centre, std::max(kFewestDays, kDeviations * deviation_around(centre, own))};
  }
  std::vector<std::pair<const FleetRecord*, double>> stale;
  std::erase_if(newest, [&](const FleetRecord* record) {
    const std::optional<double> started = timestamp_of(record->started);
    if (!started) return false;
    const auto& [centre, most] = usual.at(model_of(*record));
    const double older = centre - *started / kDay;
    if (older > most) stale.emplace_back(record, older);
    return older > most;
  });
  return stale;
}

/// Adds a node for each host that has no other record; returns how many.
std::int64_t add_stale(FleetReport& report,
                       const std::vector<std::pair<const FleetRecord*, double>>& stale) {
  std::set<std::string> hosts;
  for (const FleetNode& node : report.nodes) hosts.insert(node.host);
  std::int64_t added = 0;
  for (const auto& [record, days] : stale) {
    if (!hosts.insert(host_of(*record)).second) continue;
    ++added;
    FleetNode& node = report.nodes.emplace_back();
    node.host = host_of(*record);
    node.record = record->path;
    node.started = record->started;
    node.machine = describe_machine(record->machine);
    node.state = NodeState::stale;
    node.findings = {fmt::format("its newest record is of {}, {:.0f} days older than most",
                                 record->started.substr(0, 10), days)};
  }
  return added;
}

/// Finds the run that never started and took the record's place; the end of `newest` where none
/// did.
std::size_t unstarted_after(const FleetRecord& record,
                            const std::vector<const FleetRecord*>& newest) {
  const auto place = std::ranges::find_if(
      newest, [&record, is_namesake = is_namesake_of(record)](const FleetRecord* each) {
        return each->machine.ranks.empty() && is_older(record, *each) && is_namesake(each);
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

/// Names each host of such nodes once, as the scheduler has it: of one that was expected with a
/// domain, or without, that is its name.
std::vector<std::string> hosts_of(const FleetReport& report, const FleetOptions& options,
                                  bool (*are_such)(const FleetNode& node)) {
  std::map<std::string, std::string> expected;
  for (const std::string& host : options.expected) expected.try_emplace(short_name(host), host);
  std::set<std::string> named;
  std::vector<std::string> hosts;
  for (const FleetNode& node : report.nodes) {
    if (node.host.empty() || !are_such(node)) continue;
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

/// Names records in the future that would have hidden newer ones; returns how many.
std::int64_t add_future(FleetReport& report, const std::vector<FleetRecord>& records,
                        const std::vector<const FleetRecord*>& newest) {
  std::set<std::string> known;
  for (const FleetRecord* record : newest) {
    if (!is_in_future(record->started)) known.insert(comparable_part(*record));
  }
  std::int64_t count = 0;
  for (const FleetRecord& record : records) {
    if (!record.problem.empty() || !is_in_future(record.started)) continue;
    if (!known.contains(comparable_part(record))) continue;
    ++count;
    report.notes.push_back(fmt::format("left out, as it begins in the future, {}: {}",
                                       record.started.substr(0, 10),
                                       visible(record.path.string())));
  }
  return count;
}

void add_left_out(FleetReport& report, const std::vector<FleetRecord>& records, std::int64_t older,
                  std::int64_t unjudged, std::int64_t others) {
  if (older > 0) {
    const bool has_gpus = std::ranges::any_of(records, [](const FleetRecord& record) {
      return std::ranges::any_of(record.machine.ranks,
                                 [](const RankInfo& rank) { return rank.gpu.has_value(); });
    });
    report.notes.push_back(
        fmt::format("{} left out: a newer one {}", counted(older, "older record", "older records"),
                    has_gpus ? "is of the same machine"
                             : "has the same host name and processor, and no GPUs to tell "
                               "machines apart"));
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

/// Names machines of which records have several names.
void add_renamed(FleetReport& report, const std::vector<FleetRecord>& records,
                 const std::vector<const FleetRecord*>& newest) {
  std::map<std::string, std::string> hosts;
  for (const FleetRecord* record : newest) {
    hosts.emplace(comparable_part(*record), host_of(*record));
  }
  std::map<std::string, std::set<std::string>> others;
  for (const FleetRecord& record : records) {
    const auto host = hosts.find(comparable_part(record));
    if (!record.problem.empty() || host == hosts.end()) continue;
    if (host->second != host_of(record)) others[host->second].insert(host_of(record));
  }
  for (const auto& [host, names] : others) {
    report.notes.push_back(
        fmt::format("{} counts once, by its GPUs' UUIDs: older records name it {}", host,
                    fmt::join(names, ", ")));
  }
}

/// Says of which days the records are, where that is more than one.
void add_days(FleetReport& report, const std::vector<const FleetRecord*>& newest) {
  std::map<double, std::string> days;
  for (const FleetRecord* record : newest) {
    const std::optional<double> started = timestamp_of(record->started);
    if (started) days.emplace(*started, record->started.substr(0, 10));
  }
  if (days.empty() || days.rbegin()->first - days.begin()->first <= kDay) return;
  report.notes.push_back(
      fmt::format("records of {} to {} are compared", days.begin()->second, days.rbegin()->second));
}

bool is_worse(const FleetNode& a, const FleetNode& b) {
  if (a.state != b.state) return a.state < b.state;
  if (a.slowdown != b.slowdown) return a.slowdown.value_or(0.0) > b.slowdown.value_or(0.0);
  return a.host < b.host;
}

}  // namespace

bool is_to_drain(NodeState state) {
  using enum NodeState;
  static constexpr std::array kNotToBlame{missing,      unreadable, odd_machine, stale,
                                          inconclusive, not_judged, ok};
  return std::ranges::find(kNotToBlame, state) == kNotToBlame.end();
}

bool has_judged(const FleetReport& report) {
  return std::ranges::any_of(
      report.nodes, [](const FleetNode& node) { return node.judged_cases + node.split_cases > 0; });
}

ExitCode exit_code_of(const FleetReport& report) {
  const auto read = std::ranges::count_if(
      report.nodes, [](const FleetNode& node) { return node.state != NodeState::unreadable; });
  if (read == 0 && !report.nodes.empty()) return ExitCode::usage;
  const auto has = [&](NodeState state) {
    return std::ranges::find(report.nodes, state, &FleetNode::state) != report.nodes.end();
  };
  const bool trouble = std::ranges::any_of(
      report.nodes, [](const FleetNode& node) { return is_to_drain(node.state); });
  if (trouble || has(NodeState::missing) || has(NodeState::unreadable)) {
    return ExitCode::problem_found;
  }
  const bool told = has_judged(report) && !has(NodeState::odd_machine) && !has(NodeState::stale) &&
                    !has(NodeState::inconclusive) && !has(NodeState::not_judged);
  return told || report.nodes.empty() ? ExitCode::success : ExitCode::inconclusive;
}

FleetReport judge_fleet(const std::vector<FleetRecord>& records, const FleetNames& names,
                        const FleetOptions& options) {
  FleetReport report;
  std::vector<const FleetRecord*> newest = newest_of(records);
  const auto stale = take_stale(newest);
  const Kinds kinds(newest, names, options.tolerance);
  for (const FleetRecord* record : newest) {
    report.nodes.push_back(judge_node(*record, kinds.peers_of(*record), names, options));
  }
  const auto compared = static_cast<std::ptrdiff_t>(newest.size());
  const std::int64_t unjudged = leave_out_unjudged(report, newest);
  tell_namesakes_apart(report, newest);
  name_older(report, records, newest);
  const std::int64_t shown = compared + add_stale(report, stale);
  add_unreadable(report, records);
  const auto others = std::ranges::count_if(records, is_left_out);
  const auto readable = std::ranges::count_if(
      records, [](const FleetRecord& record) { return record.problem.empty(); });
  add_missing(report, options);
  std::ranges::stable_sort(report.nodes, is_worse);
  report.drain =
      hosts_of(report, options, [](const FleetNode& node) { return is_to_drain(node.state); });
  report.measure_again = hosts_of(report, options, [](const FleetNode& node) {
    return node.state == NodeState::stale ||
           (node.state == NodeState::inconclusive && !node.is_settled);
  });
  if (!newest.empty()) report.notes.push_back(kinds.text());
  add_renamed(report, records, newest);
  add_days(report, newest);
  for (std::string& groups : kinds.groups(names, options.tolerance)) {
    report.notes.push_back(std::move(groups));
  }
  for (std::string& faster : kinds.faster(names, options.tolerance)) {
    report.notes.push_back(std::move(faster));
  }
  for (std::string& reach : kinds.reaches(names, options.tolerance)) {
    report.notes.push_back(std::move(reach));
  }
  const std::int64_t future = add_future(report, records, newest);
  add_left_out(report, records, readable - shown - future, unjudged, others);
  return report;
}

}  // namespace linkgain
