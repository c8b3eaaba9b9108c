#include "linkgain/plan/same_path.hpp"

#include <fmt/format.h>

#include <utility>

#include "linkgain/hardware/nccl_choice.hpp"

namespace linkgain {
namespace {

/// Returns NCCL's choice where all pairs take the path through host memory; else absent.
std::optional<NcclChoice> staging_of(const Topology& topology, const NcclSettings& settings) {
  std::optional<NcclChoice> staging;
  for (const NcclSetting& setting : settings.in_force) {
    if (setting.name == "NCCL_SHM_DISABLE" && setting.value != "0") return std::nullopt;
  }
  for (const TopologyPair& pair : seen_pairs(topology)) {
    NcclChoice choice = nccl_choice(topology, pair, p2p_variables(settings));
    const bool may_join = joined_by_nvlink(pair).value_or(true);
    if (may_join || choice.path != NcclChoice::Path::host_memory) return std::nullopt;
    if (!staging || choice.leaves_p2p) staging = std::move(choice);
  }
  return staging;
}

/// Says what to do instead of measuring one path by several variants.
std::string advice_for(const NcclChoice& choice, const NcclSettings& settings,
                       const Variant& variant) {
  const NcclSetting* const forbidding = forbidding_p2p(settings);
  if (choice.leaves_p2p && forbidding != nullptr) return removal_of(*forbidding);
  return choice.leaves_p2p ? "--variant host --variant p2p-sys compares P2P"
                           : fmt::format("--variant {} alone takes less time", variant.name);
}

}  // namespace

std::vector<TopologyPair> seen_pairs(const Topology& topology) {
  std::vector<TopologyPair> pairs = gpu_pairs(topology);
  std::erase_if(pairs, [&](const TopologyPair& pair) {
    const auto is_seen = [&](int place) {
      return topology.gpus[static_cast<std::size_t>(place)].cuda_index.measured();
    };
    return !is_seen(pair.from) || !is_seen(pair.to);
  });
  return pairs;
}

std::optional<SamePath> same_path(const std::vector<Variant>& variants,
                                  const std::vector<NcclSettings>& settings,
                                  const Topology& topology) {
  SamePath same;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::optional<NcclChoice> choice = staging_of(topology, settings.at(i));
    if (choice) same.variants.emplace_back(variants[i].name);
    if (i > 0) continue;
    if (!choice) return std::nullopt;
    same.why = choice->why;
    same.advice = advice_for(*choice, settings[i], variants[i]);
  }
  if (same.variants.size() < 2) return std::nullopt;
  return same;
}

}  // namespace linkgain
