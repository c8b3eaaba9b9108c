#include "linkgain/fleet/fleet.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "fleet_kinds.hpp"
#include "fleet_node.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

/// Hosts may stand with and without their domain.
std::string short_name(const std::string& host) { return host.substr(0, host.find('.')); }

/// The same host with the same GPUs; hosts of one name with other GPUs are different machines.
std::string identity_of(const Machine& machine) {
  std::set<std::string> gpus;
  for (const RankInfo& rank : machine.ranks) {
    if (rank.gpu) gpus.insert(rank.gpu->uuid);
  }
  return fmt::format("{} {}", machine.host, fmt::join(gpus, " "));
}

/// "node7" of "20261120T164000Z_node7_2xH200", which is how a run names its folder; empty where the
/// name is another one.
std::string host_in_folder(const std::string& folder) {
  constexpr std::size_t kTimeLength = 16;
  const std::size_t last = folder.rfind('_');
  const bool dated = folder.size() > kTimeLength && folder[kTimeLength] == '_' &&
                     folder[8] == 'T' && folder[kTimeLength - 1] == 'Z';
  if (!dated || last <= kTimeLength) return {};
  return folder.substr(kTimeLength + 1, last - kTimeLength - 1);
}

/// What to call a record that does not say whose it is: "node7/record.json" is node7's.
std::string host_by_path(const std::filesystem::path& path) {
  const std::string stem = path.stem().string();
  const std::string folder = path.parent_path().filename().string();
  if ((stem != "record" && stem != "journal") || folder.empty()) return stem;
  const std::string host = host_in_folder(folder);
  return host.empty() ? folder : host;
}

/// Directories hold JSON documents of other kinds, too; what is called a record is meant as one.
bool is_left_out(const FleetRecord& record) {
  return record.is_other_document && record.path.filename() != "record.json";
}

/// The newest readable record of every machine, in the order of their first.
std::vector<const FleetRecord*> newest_of(const std::vector<FleetRecord>& records) {
  std::map<std::string, std::size_t> places;
  std::vector<const FleetRecord*> newest;
  for (const FleetRecord& record : records) {
    if (!record.problem.empty()) continue;
    const auto [place, added] = places.try_emplace(identity_of(record.machine), newest.size());
    if (added) {
      newest.push_back(&record);
    } else if (newest[place->second]->started < record.started) {
      newest[place->second] = &record;
    }
  }
  return newest;
}

FleetNode unreadable_node(const std::string& host, const FleetRecord& record) {
  FleetNode node;
  node.host = host;
  node.record = record.path;
  node.state = NodeState::unreadable;
  node.findings = {record.problem};
  return node;
}

/// Beside what another record says of the node. A state that is to be drained stays.
void add_problem(FleetNode& node, const FleetRecord& record) {
  node.findings.push_back(fmt::format("{}: {}", record.path.string(), record.problem));
  if (!is_to_drain(node.state)) node.state = NodeState::unreadable;
}

void add_unreadable(FleetReport& report, const std::vector<FleetRecord>& records) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < report.nodes.size(); ++i) {
    places.try_emplace(short_name(report.nodes[i].host), i);
  }
  for (const FleetRecord& record : records) {
    if (record.problem.empty() || is_left_out(record)) continue;
    const std::string host = host_by_path(record.path);
    const auto [place, added] = places.try_emplace(short_name(host), report.nodes.size());
    if (added) {
      report.nodes.push_back(unreadable_node(host, record));
    } else {
      add_problem(report.nodes[place->second], record);
    }
  }
}

/// Says which is which where machines share a name.
void tell_namesakes_apart(FleetReport& report) {
  std::map<std::string, int> counts;
  for (const FleetNode& node : report.nodes) ++counts[node.host];
  for (FleetNode& node : report.nodes) {
    const int count = counts[node.host];
    if (count < 2) continue;
    node.findings.push_back(fmt::format("one of {} machines of this name, with other GPUs: {}",
                                        count, node.record.string()));
  }
}

/// Each name once: a scheduler knows no more than names.
std::vector<std::string> hosts_to_drain(const FleetReport& report) {
  std::set<std::string> named;
  std::vector<std::string> hosts;
  for (const FleetNode& node : report.nodes) {
    if (is_to_drain(node.state) && named.insert(node.host).second) hosts.push_back(node.host);
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

void add_left_out(FleetReport& report, std::int64_t older, std::int64_t others) {
  if (older > 0) {
    report.notes.push_back(fmt::format("{} of the same machines left out",
                                       counted(older, "older record", "older records")));
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
  switch (state) {
    case NodeState::wrong_data:
    case NodeState::incomplete:
    case NodeState::other_path:
    case NodeState::slow:
    case NodeState::unhealthy:
    case NodeState::odd_machine:
      return true;
    case NodeState::missing:
    case NodeState::unreadable:
    case NodeState::not_judged:
    case NodeState::ok:
      return false;
  }
  throw std::invalid_argument("no such state");
}

std::string_view name_of(NodeState state) {
  switch (state) {
    case NodeState::wrong_data:
      return "wrong data";
    case NodeState::incomplete:
      return "incomplete";
    case NodeState::missing:
      return "missing";
    case NodeState::unreadable:
      return "unreadable";
    case NodeState::other_path:
      return "other path";
    case NodeState::slow:
      return "slow";
    case NodeState::unhealthy:
      return "unhealthy";
    case NodeState::odd_machine:
      return "odd machine";
    case NodeState::not_judged:
      return "not judged";
    case NodeState::ok:
      return "ok";
  }
  throw std::invalid_argument("no such state");
}

FleetReport judge_fleet(const std::vector<FleetRecord>& records, const FleetNames& names,
                        const FleetOptions& options) {
  FleetReport report;
  const std::vector<const FleetRecord*> newest = newest_of(records);
  const Kinds kinds(newest, names);
  for (const FleetRecord* record : newest) {
    report.nodes.push_back(judge_node(*record, kinds.peers_of(*record), names, options));
  }
  tell_namesakes_apart(report);
  add_unreadable(report, records);
  const auto others = std::count_if(records.begin(), records.end(), is_left_out);
  const auto readable =
      std::count_if(records.begin(), records.end(),
                    [](const FleetRecord& record) { return record.problem.empty(); });
  const auto older = readable - static_cast<std::ptrdiff_t>(newest.size());
  add_missing(report, options);
  std::stable_sort(report.nodes.begin(), report.nodes.end(), is_worse);
  report.drain = hosts_to_drain(report);
  if (!newest.empty()) report.notes.push_back(kinds.text());
  for (std::string& reach : kinds.reaches(names, options.tolerance)) {
    report.notes.push_back(std::move(reach));
  }
  add_left_out(report, older, others);
  return report;
}

}  // namespace linkgain
