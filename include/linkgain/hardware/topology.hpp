#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/names.hpp"
#include "linkgain/base/reading.hpp"

namespace linkgain {

/// Returns payload per direction that a link of this NVLink version (NVML's number) carries of its
/// rate. NVLink 2: 64b/66b coding, 32/33; NVLink 4 and 5: 256b/257b and Reed-Solomon (544,514),
/// 16/17 (26.5625 → 25 GB/s, 53.125 → 50 GB/s). Absent for versions whose coding is not published.
std::optional<double> nvlink_payload_share(int version);

/// Returns "4.0" for NVML's version 6, as the product sheets name it: 1 → 1.0, 2 → 2.0, 3 → 2.2, 4
/// → 3.0, 5 → 3.1, 6 → 4.0, 7 → 5.0, 8 → 6.0. Empty for a number not known here.
std::string nvlink_version_name(int nvml_version);

/// Returns what the NVLink bridges of a GPU carry in one direction, all of its links together, 1e9
/// B/s: half of the total on NVIDIA's product sheets. `model` is NVML's name. Absent for a GPU that
/// takes no bridge or is not known here.
std::optional<double> bridge_rate(std::string_view model);

/// The nearest thing that two devices have in common, by PCIe, as `nvidia-smi topo -m` names it.
enum class Ancestor { self, pix, pxb, phb, node, sys };

template <>
inline constexpr auto kNames<Ancestor> = names<Ancestor>("ancestor", {{Ancestor::self, "X"},
                                                                      {Ancestor::pix, "PIX"},
                                                                      {Ancestor::pxb, "PXB"},
                                                                      {Ancestor::phb, "PHB"},
                                                                      {Ancestor::node, "NODE"},
                                                                      {Ancestor::sys, "SYS"}});

/// An active NVLink whose rate is below that of others of its GPU.
struct SlowNvlink {
  int link = 0;
  double rate_gb_per_s = 0.0;
  bool operator==(const SlowNvlink&) const = default;
};

/// The GPU's NVLinks taken together.
struct NvlinkInfo {
  Reading<int> version;              ///< NVML's number; nvlink_version_name() for people
  Reading<int> possible;             ///< links the GPU has
  Reading<int> active;               ///< of them
  Reading<double> rate_gb_per_s;     ///< of one active link, one direction, 1e9 B/s; the fastest's
  Reading<bool> switched;            ///< the links lead to a switch, not to another GPU
  Reading<std::vector<int>> dark{};  ///< numbers of the links that are not active
  std::vector<SlowNvlink> slower{};  ///< active links below rate_gb_per_s
  /// PCI ids, each once, of the GPUs that active links lead to, as far as the driver names them.
  std::vector<std::string> peers{};
};

/// Returns the rate of all active links together, one direction, 1e9 B/s: their rate, and what of
/// it is payload.
Reading<double> rate_of(const NvlinkInfo& nvlink);
Reading<double> payload_limit_of(const NvlinkInfo& nvlink);

/// PCIe link: generation and lanes, now and at most (of GPU and slot together).
struct PcieInfo {
  Reading<int> generation;
  Reading<int> width;
  Reading<int> most_generation;
  Reading<int> most_width;
};

/// A PCIe link on the way from a GPU to the CPU, by one of its two ends.
struct PcieHop {
  std::string pci_bus_id;  ///< "0000:02:00.0": the GPU, a bridge of a switch, the root port
  Reading<int> width;      ///< lanes, now
  Reading<int> most_width;
  Reading<double> most_rate;  ///< of a lane, in GT/s
};

/// Says that CUDA does not see a GPU, in the place of its CUDA index.
inline Reading<int> hidden_from_cuda() {
  return Missing{"hidden by CUDA_VISIBLE_DEVICES", WhyMissing::hidden};
}

struct TopologyGpu {
  int index = 0;  ///< as nvidia-smi numbers it
  /// Why the GPU cannot be asked, in NVML's words; empty where it answers. Without an answer the
  /// next three are empty.
  std::string no_answer;
  std::string name;
  std::string uuid;
  std::string pci_bus_id;  ///< "00000000:00:06.0"
  /// Under CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER; where missing hidden_from_cuda(), or it
  /// says why it is not known.
  Reading<int> cuda_index;
  Reading<std::string> cpus;  ///< near it: "0-31"
  Reading<int> numa_node;
  NvlinkInfo nvlink;
  PcieInfo pcie;
  /// From the GPU itself over the bridges up to the root port; empty where the kernel does not show
  /// where the GPU is.
  std::vector<PcieHop> path{};
  Reading<std::int64_t> bar1_bytes{};  ///< what others can address of its memory over PCIe
  Reading<std::int64_t> memory_bytes{};
  Reading<bool> mig_mode{};  ///< split into instances, which use neither NVLink nor P2P
};

struct TopologyNic {
  std::string name;  ///< "mlx5_0"
  std::string pci_bus_id;
  Reading<int> numa_node;
};

/// Whether one GPU may use another's memory in some way: yes, or why not ("chipset not supported").
struct P2pStatus {
  bool ok = false;
  std::string why_not;      ///< empty where ok
  bool of_machine = false;  ///< the driver blames the chipset or how the slots are joined
  bool operator==(const P2pStatus&) const = default;
};

/// What lies between two devices. `from` and `to` count GPUs first, then NICs.
struct TopologyPair {
  int from = 0;
  int to = 0;
  Reading<Ancestor> ancestor;
  /// The rest for two GPUs only. Links that join them: directly, or all of the GPU's where both are
  /// on a switch; 0 where they are not joined.
  Reading<int> nvlinks;
  Reading<P2pStatus> read;
  Reading<P2pStatus> write;
  Reading<P2pStatus> atomics;
  Reading<P2pStatus> over_nvlink;
};

/// The devices of a machine and the paths between them.
struct Topology {
  std::string host;
  Reading<std::string> driver;
  bool has_amd_cpu = false;
  /// The hypervisor under this system, by the name that the firmware gives, or "unknown
  /// hypervisor"; absent where there is none.
  std::optional<std::string> hypervisor{};
  /// Why there are no GPUs: no driver, no library; empty where there are.
  std::string no_gpus;
  std::string no_gpus_advice;  ///< what to do then, where that is more than to install the driver
  std::vector<TopologyGpu> gpus;
  std::vector<TopologyNic> nics;
  std::vector<TopologyPair> pairs;  ///< both directions, no self
};

/// Returns "GPU1", or "NIC0" for a number beyond the GPUs'.
std::string device_label(const Topology& topology, int device);

/// Returns "GPU0-GPU1".
std::string device_labels(const Topology& topology, const TopologyPair& pair);

/// Returns the path from one device to another; null where it is not known. It lives as long as
/// `topology`.
const TopologyPair* find_pair(const Topology& topology, int from, int to);

/// Returns the pairs of two GPUs, each once.
std::vector<TopologyPair> gpu_pairs(const Topology& topology);

/// Returns whether the GPU has NVLink, or the driver does not say.
bool may_have_nvlink(const NvlinkInfo& nvlink);

/// Returns whether the active links are as many as three bridges carry: 12 of the 18 of H100 NVL
/// and H100 PCIe.
bool are_all_of_bridges(std::string_view model, int active, int possible);

/// Tells the same, and that of each six links the last two, which lead nowhere, are those that are
/// not active.
bool has_all_of_bridges(const TopologyGpu& gpu);

/// Returns whether links of the GPU are down that could be up.
bool has_links_down(const TopologyGpu& gpu);

/// Returns whether a bridge could join two GPUs: both are of one model with NVLink, and have no
/// link active.
bool could_be_bridged(const TopologyGpu& a, const TopologyGpu& b);

/// Returns whether the driver grants P2P over PCIe to two GeForce RTX, which NVIDIA's own refuses.
bool is_patched(const Topology& topology, const TopologyPair& pair);

enum class P2pUse { reads, writes };

template <>
inline constexpr auto kNames<P2pUse> = names<P2pUse>("use", {{P2pUse::reads, "reads"},
                                                             {P2pUse::writes, "writes"}});

/// Whether reads or writes between two GPUs are refused, in one direction or both.
struct P2pRefusal {
  P2pUse use = P2pUse::reads;
  std::string why_not;      ///< empty where nothing is refused
  std::string unknown;      ///< why it is not known of some; empty where it is
  bool of_machine = false;  ///< P2pStatus's
};
P2pRefusal p2p_refusal(const Topology& topology, const TopologyPair& pair);

/// Returns whether NVLink joins two GPUs: by the links counted for them, else as the driver says of
/// P2P. Absent where neither is known.
std::optional<bool> joined_by_nvlink(std::optional<int> nvlinks, std::optional<bool> driver);
std::optional<bool> joined_by_nvlink(const TopologyPair& pair);

/// Returns whether messages between GPUs go over PCIe: a pair is not joined by NVLink. Absent where
/// that is not known of a pair and no other needs PCIe.
std::optional<bool> needs_pcie_p2p(const Topology& topology);

/// Returns the matrix entry of a pair: "NV18", "PHB", "NV?" where NVLink joins the pair but the
/// links could not be counted, or "?" where nothing is known. `nvlinks`: absent where not counted.
std::string pair_label(std::optional<int> nvlinks, std::optional<bool> driver,
                       std::optional<Ancestor> ancestor);
std::string label_of(const TopologyPair& pair);

/// What joins two devices, as matrices name it (pair_label()).
struct LinkLabel {
  std::string_view label;
  std::string_view meaning;
};

/// From the longest path to the shortest.
inline constexpr std::array kLinkLabels{
    LinkLabel{"SYS", "PCIe and the link between NUMA nodes (UPI, Infinity Fabric)"},
    LinkLabel{"NODE", "PCIe and what joins the host bridges of one NUMA node"},
    LinkLabel{"PHB", "PCIe and one host bridge, usually the CPU's own"},
    LinkLabel{"PXB", "several PCIe switches, no host bridge"},
    LinkLabel{"PIX", "one PCIe switch at most"},
    LinkLabel{"NV#", "# NVLinks, straight to the other GPU or through a switch"},
};

/// Returns whether a label of a matrix is of this kind: "NV18" is called "NV#", "NV?" is not.
inline bool is_called(const LinkLabel& kind, std::string_view label) {
  const bool nvlink = label.starts_with("NV") && label != "NV?";
  return nvlink ? kind.label == "NV#" : kind.label == label;
}

/// Writes one JSON document, schema "linkgain.topology/1". What was not measured is an object
/// {"not_measured": reason}.
std::string to_json(const Topology& topology);

}  // namespace linkgain
