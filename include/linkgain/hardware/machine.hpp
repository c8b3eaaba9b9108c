#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/names.hpp"
#include "linkgain/hardware/topology.hpp"

namespace linkgain {

/// What carried the bytes. Found from evidence, never assumed.
enum class Path {
  nvlink,
  pcie_p2p,
  p2p,  ///< P2P by what the library says; over which link was not seen
  host_memory,
  network,
  engine,  ///< an engine's own kernels by its word; over which link was not seen
  mixed,
  unknown
};

template <>
inline constexpr auto kNames<Path> = names<Path>("path", {{Path::nvlink, "nvlink"},
                                                          {Path::pcie_p2p, "pcie-p2p"},
                                                          {Path::p2p, "p2p"},
                                                          {Path::host_memory, "host-memory"},
                                                          {Path::network, "network"},
                                                          {Path::engine, "engine"},
                                                          {Path::mixed, "mixed"},
                                                          {Path::unknown, "unknown"}});

/// Returns "NVLink", "PCIe P2P", "P2P, link not seen", "host memory", "network", "engine's own
/// kernels", "mixed", "unknown".
std::string_view readable_path(Path path);

/// One GPU as a rank sees it. Absent means not measured.
struct GpuInfo {
  int cuda_index = 0;
  std::string name;
  std::string uuid;
  std::string pci_bus_id;  ///< "00000000:00:06.0", lower case
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  int multiprocessors = 0;
  std::string compute_capability;     ///< "9.0"
  std::optional<int> nvlink_version;  ///< NVML's number: 6 is NVLink 4
  std::optional<int> nvlink_links;
  std::optional<int> nvlink_links_active;
  /// The rate of one link, the slowest active one, one direction, as the driver says.
  std::optional<double> nvlink_rate_gb_per_s;
  /// The rate of all active links together; absent in older records.
  std::optional<double> nvlink_total_gb_per_s;
  std::optional<int> pcie_generation;
  std::optional<int> pcie_width;
  /// What may hold the GPU back, as the driver says at the job's start. Clocks locked by nvidia-smi
  /// -lgc have no reading: the highest clock of the samples tells of those.
  std::optional<int> most_sm_clock_mhz;            ///< that the GPU can run at
  std::optional<int> application_clock_mhz;        ///< set for graphics and SMs; not of all drivers
  std::optional<int> most_custom_boost_clock_mhz;  ///< up to which a user lets it boost
  std::optional<double> power_limit_w;             ///< in force, whoever set it
};

/// Returns the rate of all active NVLinks together, one direction; for older records, which lack
/// it, that of as many links of the rate of one. Absent where no link is active or the rate is not
/// known.
std::optional<double> nvlink_total(const GpuInfo& gpu);

/// Returns whether NVLinks of the GPU are down that could be up. H100 NVL and H100 PCIe with as
/// many as three bridges carry have none.
bool has_links_down(const GpuInfo& gpu);

/// Returns how many NVLinks are active, "17 of 18"; "12" where three bridges carry no more. Empty
/// for a GPU without NVLink.
std::string nvlinks_text(const GpuInfo& gpu, std::string_view of = " of ");

/// Returns whether the active NVLinks are known to have different rates.
bool has_unequal_nvlinks(const GpuInfo& gpu);

/// Copies between pinned host memory and a GPU, 1e9 B/s, one way at a time.
struct CopyRates {
  double to_gpu_gb_per_s = 0.0;
  double from_gpu_gb_per_s = 0.0;
  bool operator==(const CopyRates&) const = default;
};

/// The same of a rank's GPU while all ranks copy, and while no other rank of its host does: where
/// the memory of the host is what they share, the second is the higher one.
struct HostCopyRates {
  double to_gpu_gb_per_s = 0.0;
  double from_gpu_gb_per_s = 0.0;
  std::optional<CopyRates> alone{};  ///< absent in older records
  CopyRates at_once() const { return {to_gpu_gb_per_s, from_gpu_gb_per_s}; }
  bool operator==(const HostCopyRates&) const = default;
};

/// One process of a job.
struct RankInfo {
  int rank = 0;
  std::string host;
  int pid = 0;
  std::string cpus;  ///< the CPU list it is bound to, "0-15"
  std::optional<GpuInfo> gpu;
  std::optional<HostCopyRates> host_copy;  ///< measured in this run; absent where it was not
};

/// What the driver says of the path between the GPUs of two ranks.
struct PairLink {
  int from = 0;
  int to = 0;
  std::optional<bool> p2p;             ///< reads and writes of the peer's memory are possible
  std::optional<bool> nvlink;          ///< the peers are connected by NVLink
  std::optional<Ancestor> ancestor{};  ///< what they have in common by PCIe
  /// NVLinks that join them, directly or through a switch; absent where they were not counted.
  std::optional<int> nvlinks{};
};

/// Returns "NV18", "PHB", …, as the topology's matrix names the pair (pair_label()).
std::string label_of(const PairLink& link);

/// Returns CUDA's integer 12040 as "12.4".
std::string cuda_version_text(int version);

/// Throws MachineError where a driver for CUDA `driver` ("12.4") starts no program that was built
/// with CUDA `built` ("13.0"), as one of a lower major version does not (NVIDIA's release notes of
/// the CUDA toolkit, "CUDA minor version compatibility"). Either may be empty: unknown.
void require_driver_for(std::string_view built, std::string_view driver);

/// Says why there are not the two GPUs that the nccl backend needs, and what to do, of which the
/// driver's `advice` may be empty.
MachineError without_two_gpus(std::string_view reason, std::string_view advice);

/// Versions and build of the software that measured.
struct Software {
  std::string linkgain;
  std::string build;  ///< "nccl+mpi, sm_90, RelWithDebInfo"
  std::string mpi;
  std::optional<std::string> driver;
  std::optional<std::string> cuda_driver;
  std::optional<std::string> cuda_runtime;
  std::optional<std::string> nccl_header;
  std::optional<std::string> nccl_library;
  std::optional<std::string> nccl_build{};     ///< "2.28.9+cuda13.0", as its file has it
  std::optional<std::string> nccl_path{};      ///< its file; absent in older records
  std::optional<std::string> nccl_found_by{};  ///< what named it, "LINKGAIN_NCCL" or "loader"
  std::optional<std::string> nccl_missing{};   ///< why none was opened
  bool operator==(const Software&) const = default;
};

struct Machine {
  std::string host;
  std::string kernel;
  std::string processor;
  int processors = 0;
  Software software;
  std::vector<RankInfo> ranks;
  std::vector<PairLink> links;
};

/// Returns the GPUs of a machine as ranks, by their numbers in the topology, and what joins them.
Machine machine_of(const Topology& topology);

/// Returns whether every rank has the same GPU, or none, in both.
bool same_gpus(const Machine& a, const Machine& b);

/// Returns whether all ranks are on the same host, as where there are none.
bool on_one_host(const Machine& machine);

/// Returns the rank of this number; null if there is none. It lives as long as `machine`.
const RankInfo* find_rank(const Machine& machine, int rank);

/// Returns what the driver says of two ranks, in whichever order; null where it was not asked. It
/// lives as long as `machine`.
const PairLink* find_link(const Machine& machine, int rank, int other);

/// Returns whether NVLink joins the pair: by the links counted for it, else as the driver says.
/// Absent where neither is known.
std::optional<bool> joined_by_nvlink(const PairLink& link);
/// Returns whether the ranks can read and write each other's memory; absent where it is not known.
std::optional<bool> allows_p2p(const PairLink& link);

/// One of these two.
using PairQuestion = std::optional<bool> (*)(const PairLink&);

/// Returns whether `holds` says yes of every pair; nothing if it is not known of one or there are
/// no pairs.
std::optional<bool> all_pairs(const std::vector<PairLink>& links, PairQuestion what);

/// Returns what the driver says alike of every pair; absent where it is not known of one, differs
/// between them, or there are no pairs.
std::optional<bool> same_for_all_pairs(const std::vector<PairLink>& links, PairQuestion what);

/// Returns whether the driver says of every pair that it allows no P2P.
bool refuses_p2p(const Machine& machine);

/// Returns how the pair is joined, whatever the number of its links: "NVLink", or the nearest thing
/// in common by PCIe, "PHB"; with " without P2P" where the driver says so. Empty where nothing is
/// known.
std::string path_label(const PairLink& link);

/// Returns path_label() with the number of links, "NV4": as counted for the pair; if that was not
/// done, as the GPU has active if the machine's two GPUs are all there are; else it stays "NVLink".
std::string link_label(const Machine& machine, const PairLink& link);

/// Returns whether two machines' paths between the same ranks differ in something that is known of
/// both. A number counted for one pair and not for the other is no difference.
bool links_differ(const Machine& machine, const PairLink& link, const Machine& other_machine,
                  const PairLink& other);

/// Returns "GPU0", by CUDA index; "rank 0" if the rank has no GPU or is not known.
std::string gpu_label(const Machine& machine, int rank);

/// Returns "GPU" where ranks are GPUs of one host and have their numbers, else "rank".
std::string_view word_for_ranks(const Machine& machine);

/// Returns "2 x NVIDIA H200", "NVIDIA H200 + NVIDIA L4", or "4 ranks" without GPUs; "no GPUs" if
/// there are no ranks either.
std::string describe_ranks(const Machine& machine);

}  // namespace linkgain
