#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "linkgain/fleet/fleet_record.hpp"
#include "linkgain/statistics/launch_shift.hpp"

/// Which machines are like each other, and what they make of each case.
namespace linkgain {

struct FleetNode;
struct FleetOptions;

/// So many machines that are like each other can be compared with their median.
inline constexpr std::size_t kKindSize = 3;
/// Beyond so many deviations of its peers a time may be slow.
inline constexpr double kDeviations = 5.0;

/// How a machine differs from its peers.
struct PeerDifference {
  std::string text;
  bool lacks_links = false;  ///< NVLinks that its peers have
  std::vector<int> ranks;    ///< with other links than on its peers
  std::vector<std::pair<int, int>> pairs;
};
/// Says how a machine differs from `usual`; the text calls those like that one `others`.
PeerDifference difference_of(const Machine& own, const Machine& usual,
                             std::string_view others = "its peers");

/// Tells whether GPUs of the machine, less than half, fell out: its host is like its peers', and
/// nobody chose some GPUs for its run. A machine with half of them may be built so.
bool lacks_gpus(const FleetRecord& own, const Machine& usual);

/// Returns the model of the first GPU, without GPUs the machine, and which program ran on it.
std::string model_of(const FleetRecord& record);

/// Returns the standard deviation that the median absolute deviation stands for.
double deviation_around(double centre, std::vector<double> values);

/// Returns "8 x NVIDIA H200"; without GPUs "4 ranks on AMD EPYC 9654".
std::string describe_machine(const Machine& machine);

/// What the peers of a machine make of one case and variant.
struct PeerFigure {
  int nodes = 0;        ///< with a time
  double median = 0.0;  ///< of the log times
  /// What nodes are judged by: all of them, or where they are two groups the slower one, beside
  /// which whoever is slow is so beside both.
  int peers = 0;
  double centre = 0.0;     ///< median of the peers' log times
  double deviation = 0.0;  ///< standard deviation that the median absolute deviation stands for
  double of_launch = 0.0;  ///< standard deviation that is assumed between launches of one machine
  int usual_launches = 0;  ///< more than half of the nodes have so many or more
  /// Between launches of a node, the median; absent where no node knows it.
  std::optional<LaunchDeviation> between_launches{};
  Path path = Path::unknown;  ///< of two thirds of the nodes or more, else unknown
  /// The least log time of the slower nodes, where these are a group of their own and neither group
  /// has two thirds of all.
  std::optional<double> slower_group{};
  double gap = 0.0;  ///< between the medians of the groups

  bool has_median() const { return static_cast<std::size_t>(nodes) >= kKindSize; }
  /// Tells whether the peers are all nodes.
  bool is_standard() const { return has_median() && !slower_group; }
};

/// What makes a GPU slower where it has less of it than on most peers.
struct GpuLink {
  bool is_fault;  ///< and no setting
  const char* what;
  std::string (*text)(double value);
  std::optional<double> (*value)(const GpuInfo& gpu);
};
inline constexpr std::array kGpuLinks{
    GpuLink{true, "PCIe", [](double lanes) { return fmt::format("x{:.0f}", lanes); },
            [](const GpuInfo& gpu) { return std::optional<double>(gpu.pcie_width); }},
    GpuLink{true, "slowest NVLink", [](double rate) { return fmt::format("{:.4g} GB/s", rate); },
            [](const GpuInfo& gpu) { return gpu.nvlink_rate_gb_per_s; }},
    GpuLink{false, "power limit", [](double watts) { return fmt::format("{:.4g} W", watts); },
            [](const GpuInfo& gpu) { return gpu.power_limit_w; }},
    GpuLink{false, "application clock", [](double mhz) { return fmt::format("{:.0f} MHz", mhz); },
            [](const GpuInfo& gpu) { return std::optional<double>(gpu.application_clock_mhz); }},
};

/// Stands for a variable that is not set.
inline const std::string kNoValue = "none";

/// Machines that are like each other.
struct Kind {
  std::string machine;  ///< describe_machine(), and which program ran on it
  /// The same, and where another kind has that too what tells them apart: "2 x NVIDIA H200 (NV17)".
  std::string name;
  std::string model;  ///< model_of() the members
  std::vector<const FleetRecord*> members;
  int measuring = 0;                   ///< members that measured a case
  std::map<std::string, int> drivers;  ///< how many members have which
  std::map<std::string, int> nccls;
  /// By variable that some member sets, how many have which value, or kNoValue.
  std::map<std::string, std::map<std::string, int>> variables;
  /// By number of kGpuLinks and rank, how many have which value; 0 is not known.
  std::array<std::map<int, std::map<double, int>>, kGpuLinks.size()> links;
  std::vector<PeerFigure> figures;  ///< by number of FleetNames
  /// Another kind with the same GPUs and NVLinks that this one lacks; null where there is none.
  const Kind* with_more_links = nullptr;
};

/// Returns the launches of a case and variant.
int launches_of(const FleetRecord& record, const FleetValue& value);

/// Returns what nodes of so many launches deviate by: as their peers do, and by what launches of
/// one machine are known to differ by if that is more, or a quiet fleet would make outliers of it.
double deviation_of(const PeerFigure& figure, int launches);

/// Returns how much more of the log time than its peers' median it takes for a node of so many
/// launches to be slow or inconclusive.
double least_excess(const PeerFigure& figure, int launches, double tolerance);

/// Measures how far a node of such launches lies from its peers, as check does of a run beside a
/// baseline of several: launches that differ by more than the peers' widen the interval. One launch
/// beside peers with one each is judged by what the peers differ by alone.
LaunchShift shift_from(const PeerFigure& figure, double log_time, int launches,
                       std::optional<LaunchDeviation> between_launches);

/// Returns the entry that most have, where it is more than half of all; empty where there is none.
template <typename Entry>
Entry majority(const std::map<Entry, int>& counts) {
  int all = 0;
  for (const auto& [entry, count] : counts) all += count;
  for (const auto& [entry, count] : counts) {
    if (2 * count > all) return entry;
  }
  return {};
}

/// Says from which slowdown on a node of this kind is called slow, and from which inconclusive, by
/// class of size where they differ; the tolerance may be finer than their launches can tell. Empty
/// for fewer than kKindSize machines, and where all of its cases have two groups.
std::string reach_of(const Kind& kind, const FleetNames& names, double tolerance);

/// What a readable record is compared with.
struct NodePeers {
  /// Whose figures count; null where no kind is large enough.
  const Kind* judges = nullptr;
  /// The usual kind of this model where this machine differs from it, else null.
  const Kind* usual = nullptr;
};

/// The kinds of machines of a fleet, apart for each program that ran on them. A machine of which
/// less is known counts to the largest kind that it may be of. Points to the records, which must
/// outlive it.
class Kinds {
 public:
  Kinds(const std::vector<const FleetRecord*>& records, const FleetNames& names, double tolerance);

  /// Returns what one of the records is compared with.
  NodePeers peers_of(const FleetRecord& record) const;

  /// Says of each kind in which cases its nodes are two groups, and which are the slower ones.
  std::vector<std::string> groups(const FleetNames& names, double tolerance) const;

  /// Says of each kind which of its nodes are faster than the others, and by how much.
  std::vector<std::string> faster(const FleetNames& names, double tolerance) const;

  /// Returns reach_of() each kind, the largest first.
  std::vector<std::string> reaches(const FleetNames& names, double tolerance) const;

  /// Returns "2 kinds of machines: 31 nodes with 8 x NVIDIA H200, 1 node with 4 x NVIDIA L4"; what
  /// is alike by
  /// GPUs and count is told apart by its links.
  std::string text() const;

 private:
  Kind& kind_for(const FleetRecord& record);
  void name_kinds();
  std::vector<std::string> each(const std::function<std::string(const Kind& kind)>& text) const;

  std::deque<Kind> kinds_;
  std::vector<Kind*> by_size_;  ///< the largest first
  std::unordered_map<const FleetRecord*, const Kind*> kind_of_;
  std::map<std::string, const Kind*> largest_;  ///< by model
};

/// Returns what was measured, by numbers of names.
std::set<std::uint32_t> measured_in(const FleetRecord& record);

/// Makes the line of one machine. Its findings stand in the order of their weight.
FleetNode judge_node(const FleetRecord& record, const NodePeers& peers, const FleetNames& names,
                     const FleetOptions& options);

}  // namespace linkgain
