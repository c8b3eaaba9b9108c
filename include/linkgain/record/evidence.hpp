#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/cases/case.hpp"
#include "linkgain/cases/traffic.hpp"
#include "linkgain/hardware/health.hpp"
#include "linkgain/hardware/link_counters.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/neighbours.hpp"

namespace linkgain {

/// What the links' counters say of some batches of one variant of a case.
struct TrafficEvidence {
  TransferPlan plan;
  std::int64_t operations = 0;  ///< in the counted batches
  /// Summed over the ranks' GPUs. Absent where one of them was not measured.
  std::optional<std::int64_t> nvlink_sent;
  std::optional<std::int64_t> nvlink_received;
  /// Absent too where one GPU's messages could have brought its counters round to zero.
  std::optional<std::int64_t> pcie_sent;
  std::optional<std::int64_t> pcie_received;
  /// Bytes that all GPUs together must send for the counted operations if NVLink carries every
  /// message. Absent where the plan is not known or nothing is known of its traffic.
  std::optional<double> expected;
  /// Why nvlink_sent or `expected` is absent, or why the share is not judged; empty where it is.
  std::string reason;
  /// Why pcie_sent or pcie_received is absent; empty where both are there, and in older records.
  std::string pcie_reason;

  /// Returns nvlink_sent / expected.
  std::optional<double> nvlink_share() const;
  /// Whether the share may be compared with the bands below: both known, and messages large enough
  /// that headers, flags and neighbours' barriers do not count.
  bool judged = false;
  /// Returns the share, where it may be compared with the bands.
  std::optional<double> judged_share() const;
  bool operator==(const TrafficEvidence&) const = default;
};

/// From this size on messages go by protocol Simple and counters are exact to a percent.
inline constexpr Bytes kJudgedSize{std::int64_t{16} << 20};
/// A share above this means that NVLink carried all messages; below kNoNvlink, none of them.
inline constexpr double kAllNvlink = 0.90;
inline constexpr double kNoNvlink = 0.001;
/// A share above this means that somebody else used the links too.
inline constexpr double kDisturbed = 1.05;

/// Why nothing is known of an operation's algorithm.
inline constexpr std::string_view kNoAlgorithmNamed = "NCCL's log named no algorithm";
/// Within a process such an NCCL cannot be made to log its calls (has_log_switch()).
inline constexpr std::string_view kCallsNotLogged = "NCCL before 2.24";

/// Returns the protocol that NCCL uses for the messages of an operation that is made of such, of
/// which its log says nothing: Simple where each is of kJudgedSize or more, else unknown (empty).
TransferPlan default_plan(const Case& c);

/// Puts the growth of every rank's counters over batches of `operations` together with what they
/// must have moved. `several_hosts`: NVLink cannot have carried all messages, so nothing is
/// expected of it. `why_no_algorithm`: the reason where the plan of an operation that has one lacks
/// it.
TrafficEvidence assess(const Case& c, const TransferPlan& plan, std::int64_t operations,
                       const std::vector<LinkCounters>& growth_by_rank, bool several_hosts,
                       std::string_view why_no_algorithm = kNoAlgorithmNamed);

/// Returns the sum of two sets of counted batches of one variant of a case; a default
/// TrafficEvidence adds nothing. What only one of them knows is absent, judged is what both are.
TrafficEvidence combine(const TrafficEvidence& a, const TrafficEvidence& b);

/// Returns the path that the transport lines spoke of, corrected by the counters where they may
/// judge: all over NVLink → nvlink; none → pcie_p2p where the lines said nvlink; some → mixed.
Path path_by_evidence(Path by_transport, const TrafficEvidence& evidence);

/// What one GPU did while a command ran.
struct GpuEvidence {
  int gpu = 0;  ///< as nvidia-smi numbers it
  /// By how many bytes its counters grew. Absent is what was not measured.
  LinkCounters traffic{};
  std::string nvlink_reason{};  ///< why NVLink's bytes are absent; empty where both are there
  std::string pcie_reason{};    ///< the same of PCIe
  HealthSummary health{};       ///< of samples a second apart
  bool used = false;            ///< the driver listed a process of the command on it
  bool operator==(const GpuEvidence&) const = default;
};

/// A libnccl that processes of a command had mapped.
struct MappedNccl {
  std::string path{};     ///< as the kernel names it, without " (deleted)"
  std::string version{};  ///< "2.28.9+cuda13.0"; empty where its file does not say
  bool deleted = false;   ///< the file was removed or replaced while it was in use
  int processes = 0;
  bool operator==(const MappedNccl&) const = default;
};

/// A connection of NCCL's by its log, of any channels.
struct NcclConnection {
  std::string transport{};  ///< "P2P/CUMEM", "SHM/direct/direct", "NVLS"
  /// Devices as NCCL numbers them, ranks in older versions; absent where it joins no pair.
  std::optional<int> from{};
  std::optional<int> to{};
  auto operator<=>(const NcclConnection&) const = default;
};

/// What was seen from outside of one run of a command.
struct RunEvidence {
  std::string no_gpus{};  ///< why no GPU was looked at; empty where `gpus` has any
  std::vector<GpuEvidence> gpus{};
  /// In the order of their paths; a process may have several. Empty with processes_looked: NCCL was
  /// linked statically or is not used.
  std::vector<MappedNccl> nccl{};
  int processes_looked = 0;                   ///< whose mappings could be read at least once
  std::vector<NcclConnection> connections{};  ///< each once
  std::vector<std::string> engine_says{};     ///< what it moves its data by, as far as it says
  /// What NCCL logged of algorithms: "rings", "NCCL_ALGO=Ring" (TransportLines::algorithms).
  std::vector<std::string> algorithms{};
  std::string nccl_logged{};         ///< the version that NCCL logged: "2.28.9+cuda13.0"
  std::string connections_reason{};  ///< why NCCL's log was not read; empty where it was
  /// Functions of the driver that refused peer access, by no-p2p's library.
  std::vector<std::string> refused{};
  std::string refused_reason{};  ///< why that library's log was not read; empty where it was
  Neighbours neighbours{};       ///< times count from the run's begin
  /// Processor time of looking and reading, and the time in which the program waited for a reader.
  double cost_s = 0.0;
  bool operator==(const RunEvidence&) const = default;
};

}  // namespace linkgain
