// The NVML double: NVLinks, PCIe, and what lies between two GPUs.
#include <cstdlib>

#include "nvml_double_machine.hpp"

using namespace linkgain::nvml_double;
using linkgain::nvml_api::EnableState;
using linkgain::nvml_api::NvlinkErrorCounter;
using linkgain::nvml_api::P2pCapability;
using linkgain::nvml_api::TopologyLevel;

namespace linkgain::nvml_double {

Result find_link(Handle device, unsigned int link, Gpu*& gpu) {
  const Result result = find(device, gpu);
  if (result != kSuccess) {
    return result;
  }
  const int links = machine().scenario->model.links;
  if (links == 0) {
    return kNotSupported;
  }
  return link < static_cast<unsigned int>(links) ? kSuccess : kInvalidArgument;
}

bool link_active(unsigned int link) {
  const int down = machine().scenario->link_down;
  return down != kAll && static_cast<int>(link) != down;
}

}  // namespace linkgain::nvml_double

namespace {

Result find_pair(Handle from, Handle to) {
  Gpu* gpu = nullptr;
  const Result first = find(from, gpu);
  const Result second = find(to, gpu);
  if (first != kSuccess || second != kSuccess) {
    return first != kSuccess ? first : second;
  }
  return from == to ? kInvalidArgument : kSuccess;
}

TopologyLevel level_between(int from, int to) {
  const Scenario& scenario = *machine().scenario;
  if (scenario.every_level) {  // NVML's numbers are 0, 10, 20, ...
    return TopologyLevel{10 * (std::abs(from - to) - 1)};
  }
  if (scenario.gpus < kMostGpus) {
    return TopologyLevel::host_bridge;
  }
  return from / 4 == to / 4 ? TopologyLevel::node : TopologyLevel::system;  // two sockets
}

}  // namespace

extern "C" {

Result nvmlDeviceGetNvLinkState(Handle device, unsigned int link, EnableState* state) {
  Gpu* gpu = nullptr;
  const Result result = find_link(device, link, gpu);
  if (static_cast<int>(link) == machine().scenario->link_unreadable) {
    return kUnknown;
  }
  if (result == kSuccess) {
    *state = link_active(link) ? EnableState::on : EnableState::off;
  }
  return result;
}

Result nvmlDeviceGetNvLinkVersion(Handle device, unsigned int link, unsigned int* version) {
  return answer_link(device, link, version,
                     [](const Gpu&) { return machine().scenario->model.nvlink_version; });
}

/// The first link has all the errors. A healthy H200 counted 42 here as data errors, where its
/// field 163 (CRC errors) was 0.
Result nvmlDeviceGetNvLinkErrorCounter(Handle device, unsigned int link, NvlinkErrorCounter counter,
                                       unsigned long long* errors) {
  const unsigned int scale = link == 0 ? machine().scenario->link_errors : 0;
  return answer_link(device, link, errors, [&](const Gpu&) -> unsigned long long {
    switch (counter) {
      case NvlinkErrorCounter::replay:
        return 3ULL * scale;
      case NvlinkErrorCounter::recovery:
        return 1ULL * scale;
      case NvlinkErrorCounter::crc_flit:
        return 4ULL * scale;
      case NvlinkErrorCounter::crc_data:
        return machine().scenario->model.nvswitch ? 42ULL : 1ULL * scale;
    }
    return 0;
  });
}

Result nvmlDeviceGetP2PStatus(Handle from, Handle to, P2pCapability capability, P2pStatus* status) {
  const Result result = find_pair(from, to);
  if (result != kSuccess) {
    return result;
  }
  const Scenario& scenario = *machine().scenario;
  switch (capability) {
    case P2pCapability::read:
      *status = scenario.p2p_read;
      break;
    case P2pCapability::write:
      *status = scenario.p2p_write;
      break;
    case P2pCapability::nvlink:
      *status = scenario.p2p_nvlink;
      break;
    case P2pCapability::atomics:
      *status = scenario.p2p_atomics;
      break;
  }
  return scenario.p2p_result;
}

Result nvmlDeviceGetTopologyCommonAncestor(Handle from, Handle to, TopologyLevel* level) {
  const Result result = find_pair(from, to);
  if (result != kSuccess) {
    return result;
  }
  *level = level_between(static_cast<Gpu*>(from)->index, static_cast<Gpu*>(to)->index);
  return kSuccess;
}

Result nvmlDeviceGetCurrPcieLinkGeneration(Handle device, unsigned int* generation) {
  return answer(device, generation, [](const Gpu& gpu) {
    const unsigned int most = machine().scenario->model.pcie_generation;
    return gpu.fault.pcie_generation != 0 ? gpu.fault.pcie_generation : most;
  });
}

Result nvmlDeviceGetCurrPcieLinkWidth(Handle device, unsigned int* width) {
  return answer(device, width, [](const Gpu& gpu) {
    return gpu.fault.pcie_width != 0 ? gpu.fault.pcie_width : 16U;
  });
}

Result nvmlDeviceGetMaxPcieLinkGeneration(Handle device, unsigned int* generation) {
  return answer(device, generation,
                [](const Gpu&) { return machine().scenario->model.pcie_generation; });
}

Result nvmlDeviceGetMaxPcieLinkWidth(Handle device, unsigned int* width) {
  return answer(device, width, [](const Gpu&) { return 16U; });
}

}  // extern "C"
