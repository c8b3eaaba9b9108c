#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/hardware/nccl_settings.hpp"
#include "linkgain/hardware/topology.hpp"
#include "linkgain/record/variants.hpp"

namespace linkgain {

/// The first variant and others with which NCCL moves everything through host memory: they differ
/// in nothing that says what P2P is worth.
struct SamePath {
  std::vector<std::string_view> variants;  ///< two or more, of those that were given
  std::string why;                         ///< of NCCL: "the driver refuses P2P"
  std::string advice;
};

/// Finds it by what the driver grants, before anything runs; `settings` are NCCL's of each variant.
/// Absent where NVLink joins GPUs that CUDA sees, where a pair may take P2P, or where that is not
/// known.
std::optional<SamePath> same_path(const std::vector<Variant>& variants,
                                  const std::vector<NcclSettings>& settings,
                                  const Topology& topology);

/// Lists the pairs of which CUDA sees both GPUs.
std::vector<TopologyPair> seen_pairs(const Topology& topology);

}  // namespace linkgain
