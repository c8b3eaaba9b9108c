#include "fleet_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include "fleet_blame.hpp"
#include "fleet_likeness.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

/// A node's findings with their weight, until they are put in order.
class Findings {
 public:
  void add(NodeState state, std::string text) { findings_.emplace_back(state, std::move(text)); }

  void put_into(FleetNode& node) {
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (!findings_.empty()) node.state = findings_.front().first;
    for (auto& [state, text] : findings_) node.findings.push_back(std::move(text));
  }

 private:
  std::vector<std::pair<NodeState, std::string>> findings_;
};

void look_at_run(const FleetRecord& record, Findings& findings) {
  const auto wrong = std::count_if(record.values.begin(), record.values.end(),
                                   [](const FleetValue& value) { return value.wrong_data; });
  if (wrong > 0) {
    findings.add(NodeState::wrong_data,
                 fmt::format("wrong data in {}", counted(wrong, "case", "cases")));
  } else if (record.exit_code == static_cast<int>(ExitCode::wrong_data)) {
    findings.add(NodeState::wrong_data, "its own run found wrong data");
  }
  if (record.exit_code == static_cast<int>(ExitCode::wrong_path)) {
    findings.add(NodeState::other_path, "its own run found a wrong path");
  }
  if (record.status == "interrupted") {
    findings.add(NodeState::ok, "its run was interrupted");
  } else if (record.status != "complete") {
    findings.add(NodeState::incomplete, fmt::format("its run is not complete ({})", record.status));
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
               fmt::format("held back in {} of {} samples", unhealthy, samples));
}

/// "p2p: host-memory where its peers take nvlink (44 cases)", for each variant and pair of paths.
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

/// Cases that most of its peers have and that this run did not measure.
void look_for_gaps(const FleetRecord& record, const Kind& peers, Findings& findings) {
  std::set<std::uint32_t> measured;
  for (const FleetValue& value : record.values) {
    if (value.seconds > 0.0F || value.wrong_data) measured.insert(value.name);
  }
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
  std::vector<std::uint32_t> slow;
  double worst = 0.0;
  for (const FleetValue& value : record.values) {
    const PeerFigure& figure = peers.figures.at(value.name);
    if (!(value.seconds > 0.0F) || static_cast<std::size_t>(figure.nodes) < kKindSize) continue;
    ++node.judged_cases;
    const double excess = std::log(static_cast<double>(value.seconds)) - figure.centre;
    if (excess <= slow_bound(figure, options.tolerance)) continue;
    slow.push_back(value.name);
    if (excess <= worst) continue;
    worst = excess;
    node.worst_case = names.all().at(value.name).case_name;
    node.worst_variant = names.all().at(value.name).variant;
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

/// The first thing that is otherwise, and of what kind.
std::string difference_of(const Machine& own, const Machine& usual) {
  const std::string machine = describe_machine(own);
  if (machine != describe_machine(usual)) {
    return fmt::format("{} where its peers have {}", machine, describe_machine(usual));
  }
  const std::vector<MachineDifference> all = differences_of(own, usual);
  if (!all.empty()) {
    return fmt::format("{}: {} where its peers have {}", all.front().what, all.front().own,
                       all.front().usual);
  }
  return "links that its peers do not have";
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

}  // namespace

FleetNode judge_node(const FleetRecord& record, const NodePeers& peers, const FleetNames& names,
                     const FleetOptions& options) {
  FleetNode node;
  node.host = record.machine.host;
  node.record = record.path;
  node.machine = describe_machine(record.machine);
  Findings findings;
  look_at_run(record, findings);
  look_at_health(record, findings);
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
    look_at_software(record, *peers.judges, findings);
  } else if (peers.usual == nullptr) {
    findings.add(NodeState::not_judged,
                 fmt::format("fewer than {} machines are like it", kKindSize));
  }
  findings.put_into(node);
  return node;
}

}  // namespace linkgain
