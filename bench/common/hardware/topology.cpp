#include "linkgain/hardware/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "linkgain/hardware/nvlink.hpp"

namespace linkgain {

std::string_view label_of(Ancestor ancestor) {
  constexpr std::array<std::string_view, 6> kLabels{"X", "PIX", "PXB", "PHB", "NODE", "SYS"};
  return kLabels[static_cast<std::size_t>(ancestor)];
}

Reading<double> rate_of(const NvlinkInfo& nvlink) {
  if (!nvlink.active.measured()) return Reading<double>::missing(nvlink.active.reason());
  if (nvlink.active.value() == 0) return Reading<double>::missing("no link is active");
  if (!nvlink.rate_gb_per_s.measured()) return nvlink.rate_gb_per_s;
  const double full = nvlink.rate_gb_per_s.value();
  double rate = nvlink.active.value() * full;
  for (const SlowNvlink& link : nvlink.slower) rate -= full - link.rate_gb_per_s;
  return rate;
}

Reading<double> payload_limit_of(const NvlinkInfo& nvlink) {
  const Reading<double> rate = rate_of(nvlink);
  if (!rate.measured()) return rate;
  if (!nvlink.version.measured()) return Reading<double>::missing(nvlink.version.reason());
  if (const std::optional<double> share = nvlink_payload_share(nvlink.version.value())) {
    return rate.value() * *share;
  }
  const std::string name = nvlink_version_name(nvlink.version.value());
  return Reading<double>::missing(name.empty()
                                      ? "the coding of this NVLink version is not known here"
                                      : fmt::format("the coding of NVLink {} is not public", name));
}

std::string device_label(const Topology& topology, int device) {
  const int gpus = static_cast<int>(topology.gpus.size());
  if (device >= gpus) return fmt::format("NIC{}", device - gpus);
  return fmt::format("GPU{}", topology.gpus[static_cast<std::size_t>(device)].index);
}

const TopologyPair* find_pair(const Topology& topology, int from, int to) {
  const auto pair =
      std::find_if(topology.pairs.begin(), topology.pairs.end(),
                   [&](const TopologyPair& each) { return each.from == from && each.to == to; });
  return pair != topology.pairs.end() ? &*pair : nullptr;
}

std::string pair_label(std::optional<int> nvlinks, bool over_nvlink,
                       std::optional<Ancestor> ancestor) {
  if (nvlinks.value_or(0) > 0) return fmt::format("NV{}", *nvlinks);
  if (!nvlinks && over_nvlink) return "NV?";
  return ancestor ? std::string(label_of(*ancestor)) : "?";
}

std::string label_of(const TopologyPair& pair) {
  return pair_label(pair.nvlinks.optional(), pair.over_nvlink.value_or(P2pStatus{}).ok,
                    pair.ancestor.optional());
}

}  // namespace linkgain
