#include "linkgain/core/fleet.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "fleet_node.hpp"
#include "fleet_peers.hpp"
#include "linkgain/core/units.hpp"

namespace linkgain {
namespace {

/// Hosts may stand with and without their domain.
std::string short_name(const std::string& host) { return host.substr(0, host.find('.')); }

/// The same host with the same GPUs; hosts of one name with other GPUs are different machines.
std::string identity_of(const Machine& machine) {
  std::string identity = machine.host;
  for (const RankInfo& rank : machine.ranks) {
    if (rank.gpu) identity += " " + rank.gpu->uuid;
  }
  return identity;
}

/// What to call a record that does not say whose it is: "node7/record.json" is node7's.
std::string host_by_path(const std::filesystem::path& path) {
  const std::string stem = path.stem().string();
  const std::string folder = path.parent_path().filename().string();
  return (stem == "record" || stem == "journal") && !folder.empty() ? folder : stem;
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

class Kinds {
 public:
  Kinds(const std::vector<const FleetRecord*>& records, const FleetNames& names) {
    for (const FleetRecord* record : records) {
      Kind& kind = kinds_[kind_of(record->machine)];
      if (kind.members.empty()) {
        kind.machine = describe_ranks(record->machine);
        const auto& ranks = record->machine.ranks;
        kind.model = !ranks.empty() && ranks.front().gpu ? ranks.front().gpu->name : kind.machine;
      }
      kind.members.push_back(record);
    }
    for (auto& [key, kind] : kinds_) {
      summarise(kind, names);
      const Kind*& largest = largest_[kind.model];
      if (largest == nullptr || largest->members.size() < kind.members.size()) largest = &kind;
    }
  }

  NodePeers peers_of(const FleetRecord& record) const {
    const Kind& own = kinds_.at(kind_of(record.machine));
    if (own.members.size() >= kKindSize) return {&own, nullptr};
    const Kind* usual = largest_.at(own.model);
    if (usual->members.size() < kKindSize) return {};
    return {usual->machine == own.machine ? usual : nullptr, usual};
  }

  /// "2 kinds of machines: 31 of 8 x NVIDIA H200, 4 of 4 x NVIDIA L4"
  std::string text() const {
    std::vector<const Kind*> sorted;
    for (const auto& [key, kind] : kinds_) sorted.push_back(&kind);
    std::stable_sort(sorted.begin(), sorted.end(), [](const Kind* a, const Kind* b) {
      return a->members.size() > b->members.size();
    });
    std::vector<std::string> parts;
    for (const Kind* kind : sorted) {
      if (parts.size() == kMostNamed) break;
      parts.push_back(fmt::format("{} of {}", kind->members.size(), kind->machine));
    }
    if (sorted.size() > kMostNamed)
      parts.push_back(fmt::format("{} more", sorted.size() - kMostNamed));
    return fmt::format(
        "{}: {}",
        counted(static_cast<std::int64_t>(sorted.size()), "kind of machine", "kinds of machines"),
        fmt::join(parts, ", "));
  }

 private:
  static constexpr std::size_t kMostNamed = 5;
  std::map<std::string, Kind> kinds_;
  std::map<std::string, const Kind*> largest_;  ///< by model
};

void add_unreadable(FleetReport& report, const std::vector<FleetRecord>& records) {
  for (const FleetRecord& record : records) {
    if (record.problem.empty() || is_left_out(record)) continue;
    FleetNode node;
    node.host = host_by_path(record.path);
    node.record = record.path;
    node.state = NodeState::unreadable;
    node.findings = {record.problem};
    report.nodes.push_back(std::move(node));
  }
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
  add_unreadable(report, records);
  const auto others = std::count_if(records.begin(), records.end(), is_left_out);
  const auto older = static_cast<std::ptrdiff_t>(records.size() - report.nodes.size()) - others;
  add_missing(report, options);
  std::stable_sort(report.nodes.begin(), report.nodes.end(), is_worse);
  for (const FleetNode& node : report.nodes) {
    if (is_to_drain(node.state)) report.drain.push_back(node.host);
  }
  if (!newest.empty()) report.notes.push_back(kinds.text());
  add_left_out(report, older, others);
  return report;
}

}  // namespace linkgain
