#pragma once

#include <string>
#include <vector>

#include "linkgain/hardware/topology.hpp"

/// Made-up machines after those that are known: 2 x H200 behind a switch, 2 x RTX 3090 with a
/// bridge, and one where much is not as it should be.
namespace linkgain::test {

inline Reading<P2pStatus> p2p(const std::string& why_not = {}) {
  return P2pStatus{why_not.empty(), why_not};
}

inline NvlinkInfo nvlink(int version, int active, int possible, double rate, bool switched) {
  NvlinkInfo info;
  info.version = version;
  info.possible = possible;
  info.active = active;
  info.rate_gb_per_s = rate;
  info.switched = switched;
  return info;
}

inline TopologyGpu gpu(int index, const std::string& name, const std::string& pci_bus_id,
                       const NvlinkInfo& links, int pcie_generation) {
  TopologyGpu made;
  made.index = index;
  made.name = name;
  made.uuid = "GPU-" + std::to_string(index);
  made.pci_bus_id = pci_bus_id;
  made.cuda_index = index;
  made.cpus = std::string("0-31");
  made.numa_node = 0;
  made.nvlink = links;
  made.pcie = {pcie_generation, 16, pcie_generation, 16};
  return made;
}

inline TopologyPair pair(int from, int to, Ancestor ancestor, int nvlinks,
                         const std::string& why_not = {}) {
  return {from, to, ancestor, nvlinks, p2p(why_not), p2p(why_not), p2p(why_not), p2p(why_not)};
}

inline TopologyPair nic_pair(int from, int to, Ancestor ancestor) {
  TopologyPair made;
  made.from = from;
  made.to = to;
  made.ancestor = ancestor;
  return made;
}

inline Topology h200_pair() {
  Topology topology;
  topology.host = "node1";
  topology.driver = std::string("580.159.04");
  const NvlinkInfo links = nvlink(6, 18, 18, 26.5625, true);
  topology.gpus = {gpu(0, "NVIDIA H200", "00000000:00:06.0", links, 5),
                   gpu(1, "NVIDIA H200", "00000000:00:07.0", links, 5)};
  topology.pairs = {pair(0, 1, Ancestor::phb, 18), pair(1, 0, Ancestor::phb, 18)};
  return topology;
}

inline Topology ga102_pair() {
  Topology topology = h200_pair();
  const NvlinkInfo links = nvlink(5, 4, 4, 14.0625, false);
  topology.gpus = {gpu(0, "NVIDIA GeForce RTX 3090", "00000000:01:00.0", links, 4),
                   gpu(1, "NVIDIA GeForce RTX 3090", "00000000:41:00.0", links, 4)};
  topology.gpus[0].pcie.generation = 1;
  topology.pairs = {pair(0, 1, Ancestor::sys, 4), pair(1, 0, Ancestor::sys, 4)};
  return topology;
}

constexpr const char* kLost = "GPU is lost (NVML error 15)";

inline TopologyGpu lost_gpu(int index) {
  const auto number = Missing{kLost};
  TopologyGpu gone;
  gone.index = index;
  gone.no_answer = kLost;
  gone.cuda_index = gone.numa_node = number;
  gone.cpus = Missing{kLost};
  gone.nvlink = {number, number, number, Missing{kLost}, Missing{kLost}};
  gone.pcie = {number, number, number, number};
  return gone;
}

inline TopologyPair lost_pair(int from, int to) {
  TopologyPair made{from, to, Missing{kLost}, Missing{kLost}, {}, {}, {}, {}};
  made.read = made.write = made.atomics = made.over_nvlink = Missing{kLost};
  return made;
}

/// Has two bridged GPUs, one without a bridge that CUDA does not see, and a lost one.
inline std::vector<TopologyGpu> troubled_gpus() {
  const NvlinkInfo bridged = nvlink(2, 1, 2, 25.78125, false);
  NvlinkInfo none = nvlink(2, 0, 2, 0, false);
  none.version = Missing{"no link is active"};
  none.rate_gb_per_s = Missing{"no link is active"};
  none.switched = Missing{"no link is active"};
  std::vector<TopologyGpu> gpus{gpu(0, "NVIDIA TITAN RTX", "00000000:06:00.0", bridged, 3),
                                gpu(1, "NVIDIA TITAN RTX", "00000000:07:00.0", bridged, 3),
                                gpu(2, "NVIDIA TITAN RTX", "00000000:81:00.0", none, 3),
                                lost_gpu(3)};
  gpus[2].cuda_index = hidden_from_cuda();
  gpus[2].numa_node = Missing{"the kernel knows of no NUMA node"};
  return gpus;
}

/// Joins two of the GPUs 0 to 3 and the NICs 4 and 5.
inline TopologyPair troubled_pair(int from, int to) {
  if (from == 3 || to == 3) return lost_pair(from, to);
  if (from > 3 || to > 3) return nic_pair(from, to, Ancestor::node);
  const bool bridge = from + to == 1;
  return bridge ? pair(from, to, Ancestor::pix, 1)
                : pair(from, to, Ancestor::sys, 0, "chipset not supported");
}

/// Bridges GPU0 and GPU1 with one of two links; GPU2 has no bridge, GPU3 is lost; adds two NICs.
inline Topology troubled_machine() {
  Topology topology;
  topology.host = "node1";
  topology.driver = std::string("535.54.03");
  topology.gpus = troubled_gpus();
  topology.nics = {{"mlx5_0", "0000:0a:00.0", 0},
                   {"mlx5_1", "0000:8a:00.0", Missing{"no NUMA node"}}};
  for (int from = 0; from < 6; ++from) {
    for (int to = 0; to < 6; ++to) {
      if (from != to) topology.pairs.push_back(troubled_pair(from, to));
    }
  }
  // One way only.
  topology.pairs[5].atomics = p2p("not supported");
  return topology;
}

}  // namespace linkgain::test
