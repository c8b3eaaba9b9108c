#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/names.hpp"
#include "linkgain/cases/tolerance.hpp"
#include "linkgain/fleet/fleet_record.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

/// What a node is, the worst first.
enum class NodeState {
  wrong_data,    ///< some output was wrong
  faulty,        ///< it lacks parts that its peers have, or hardware failed during its run
  incomplete,    ///< its run lost a job, did not end, or lacks what was asked for
  missing,       ///< it was expected and gave no record
  unreadable,    ///< its record, or the folder that it is in, cannot be read
  other_path,    ///< messages took another path than on its peers, or than its own run allows
  slow,          ///< far slower than its peers in some case that nothing disturbed
  unhealthy,     ///< GPUs were throttled by heat, power supply or cable
  odd_machine,   ///< it has other links than its peers, or fewer than others with the same GPUs
  stale,         ///< its newest record is far older than its peers'
  inconclusive,  ///< it may be slow, was interrupted, lacks cases, or its peers are two groups
  not_judged,    ///< too few machines are like it
  ok,
};

template <>
inline constexpr auto kNames<NodeState> =
    names<NodeState>("state", {{NodeState::wrong_data, "wrong data"},
                               {NodeState::faulty, "faulty"},
                               {NodeState::incomplete, "incomplete"},
                               {NodeState::missing, "missing"},
                               {NodeState::unreadable, "unreadable"},
                               {NodeState::other_path, "other path"},
                               {NodeState::slow, "slow"},
                               {NodeState::unhealthy, "unhealthy"},
                               {NodeState::odd_machine, "odd machine"},
                               {NodeState::stale, "stale"},
                               {NodeState::inconclusive, "inconclusive"},
                               {NodeState::not_judged, "not judged"},
                               {NodeState::ok, "ok"}});

/// Tells whether the machine is to blame: all but missing, unreadable, odd machine, stale,
/// inconclusive, not judged and ok.
bool is_to_drain(NodeState state);

/// A case of a node beside its peers.
struct PeerRatio {
  std::uint32_t name = 0;  ///< in FleetNames
  double ratio = 1.0;      ///< time over the peers' median
};

/// One line of the fleet.
struct FleetNode {
  std::string host;
  /// What tells it from other machines of its name: "GPU-9d44a6fd", its processor; empty where none
  /// has its name.
  std::string mark;
  std::filesystem::path record;  ///< empty where there is none
  std::string started;           ///< UTC; empty where there is no record that can be read
  NodeState state = NodeState::ok;
  std::vector<NodeState> other_states;  ///< less bad ones for which it is to be drained, too
  std::string machine;                  ///< "8 x NVIDIA H200", "4 ranks on AMD EPYC 9654"
  /// How many times longer than its peers' median its worst case takes, of those that are slow, or
  /// if none is of those that may be; absent where there is none.
  std::optional<double> slowdown;
  std::string worst_case;
  std::string worst_variant;
  int slow_cases = 0;
  int judged_cases = 0;
  int split_cases = 0;         ///< not judged: its peers are two groups, and it is not beyond both
  bool is_only_split = false;  ///< inconclusive by these alone
  /// Inconclusive by these and by what is too close to the tolerance: measuring it again would say
  /// no more.
  bool is_settled = false;
  std::vector<PeerRatio> ratios;  ///< of the judged and the split cases
  int disturbed_samples = 0;      ///< taken while others worked
  int level_changes = 0;          ///< cases whose times changed level within a launch
  /// Times that others were newly seen on its GPUs; absent where nobody looked.
  std::optional<int> neighbours;
  std::string disturbed_by{};         ///< codes of its run's warnings that say so, by spaces
  bool has_errors = false;            ///< of links or GPUs, counted during its run
  std::string blame;                  ///< "GPU3", "GPU4, GPU2–GPU6"; empty where none stands out
  std::vector<std::string> findings;  ///< in words, the worst first
};

/// Returns the host, with its mark where it has one: "vm (GPU-9d44a6fd)".
std::string shown_name(const FleetNode& node);

struct FleetOptions {
  double tolerance = kDefaultTolerance;  ///< what a node may be slower than its peers
  std::vector<std::string> expected;     ///< hosts that must have a record; empty: not known
};

/// A fleet's nodes, the worst first.
struct FleetReport {
  std::vector<FleetNode> nodes;
  /// Hosts of nodes that are to be drained.
  std::vector<std::string> drain;
  /// Hosts of nodes that are stale, or inconclusive and not settled.
  std::vector<std::string> measure_again;
  std::vector<std::string> notes;  ///< what the reader must know of the whole
};

/// Judges each machine beside those like it. Machines are like each other where GPU model, count
/// and the matrix of links are the same as far as they are known, or without GPUs count and
/// processor; of these kKindSize or more are compared with their median. A case may be slow where
/// its log time is above the peers' median by more than the tolerance and by more than kDeviations
/// times their deviation: 1.4826 times the median absolute deviation, or what as many launches of
/// one machine are known to differ by if that is more; a note says what this finds. It is slow
/// where nothing disturbed it and its 95 % interval, wider where its launches differ by more than
/// its peers', lies beyond the tolerance. One launch has no interval: beside peers with more it may
/// be slow at most, beside peers with one each their deviation alone judges it, as a note says.
/// Where fewer than two thirds of its peers agree on a case and the others are a second group, it
/// is judged beside the slower one: a note says which these are; another one names nodes that are
/// faster by as much as makes one slow. Of several records of a machine the newest counts, of each
/// program that ran and each number of ranks; one that is not judged is left out where another one
/// is. A record is stale that is older than the median of those of the same GPUs by more than a
/// week and by more than kDeviations times their deviation: it is left out where its host has
/// another one. What cannot be read stands with the node that its path names.
FleetReport judge_fleet(const std::vector<FleetRecord>& records, const FleetNames& names,
                        const FleetOptions& options);

/// Tells whether some node was compared with its peers.
bool has_judged(const FleetReport& report);

/// Returns problem_found where a node is to blame, missing or unreadable; else inconclusive where
/// one is, is odd or stale or was not judged, else success; usage, which stands for input that
/// cannot be read, where all nodes are unreadable.
ExitCode exit_code_of(const FleetReport& report);

/// A smaller share of samples that were throttled is told, but is no reason to drain.
inline constexpr double kUnhealthyShare = 0.01;

/// Whether nodes that are ok, or inconclusive by two groups alone, have a row each, or one line
/// names them all without their notes: where a page has these, too, it needs no option.
enum class ShownNodes { not_ok, not_ok_on_page, all };

/// Writes a line for each of these nodes, the worst first; then which to drain, with Slurm's
/// command, and counts.
Document fleet_report(const FleetReport& report, ShownNodes shown = ShownNodes::not_ok);

/// Writes the parts of fleet_report(), for a page that gives the result first, with a picture.
Document fleet_nodes(const FleetReport& report, ShownNodes shown = ShownNodes::not_ok);
Document fleet_result(const FleetReport& report, const std::string& picture = {});

/// Makes fleet_report() a page that stands alone, the result first, with a heat map of nodes and
/// cases.
std::string fleet_page(const FleetReport& report, const FleetNames& names,
                       ShownNodes shown = ShownNodes::not_ok);

/// Writes a row for each node; units stand in the names, all digits are kept.
std::string fleet_csv(const FleetReport& report);

/// Writes Prometheus' text format, for node_exporter's textfile collector: exit status, nodes by
/// state, and for each node its state, whether to drain it, slowdown, cases, others' work, and when
/// its run began. What is not known has no series.
std::string fleet_prometheus(const FleetReport& report);

/// Writes one JSON document, schema "linkgain.fleet/1".
std::string to_json(const FleetReport& report);

}  // namespace linkgain
