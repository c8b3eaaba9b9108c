#include "linkgain/diagnostics/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "checks.hpp"

namespace linkgain {

Finding Check::warning(std::string value, std::string why, std::string advice) const {
  return finding(CheckVerdict::warning, std::move(value), std::move(why), std::move(advice));
}

Finding Check::problem(std::string value, std::string why, std::string advice) const {
  return finding(CheckVerdict::problem, std::move(value), std::move(why), std::move(advice));
}

Finding Check::not_checkable(std::string reason, std::string advice) const {
  return finding(CheckVerdict::not_checkable, std::move(reason), {}, std::move(advice));
}

Finding Check::finding(CheckVerdict verdict, std::string value, std::string why,
                       std::string advice) const {
  return {group_, id_, subject_, verdict, std::move(value), std::move(why), std::move(advice)};
}

std::string subject_of(const GpuSurvey& gpu) { return fmt::format("GPU{}", gpu.index); }

const TopologyGpu* links_of(const Survey& survey, const GpuSurvey& gpu) {
  const auto found = std::ranges::find(survey.topology.gpus, gpu.index, &TopologyGpu::index);
  return found == survey.topology.gpus.end() ? nullptr : &*found;
}

std::vector<GpuSurvey> reachable(const Survey& survey) {
  std::vector<GpuSurvey> gpus;
  std::ranges::copy_if(survey.gpus, std::back_inserter(gpus),
                       [](const GpuSurvey& gpu) { return gpu.lost.empty(); });
  return gpus;
}

std::string subject_of(const Topology& topology, const TopologyPair& pair) {
  return fmt::format("GPU{}-GPU{}", topology.gpus[static_cast<std::size_t>(pair.from)].index,
                     topology.gpus[static_cast<std::size_t>(pair.to)].index);
}

std::vector<TopologyPair> gpu_pairs(const Topology& topology) {
  const int gpus = static_cast<int>(topology.gpus.size());
  std::vector<TopologyPair> pairs;
  std::ranges::copy_if(topology.pairs, std::back_inserter(pairs), [&](const TopologyPair& pair) {
    return pair.from < pair.to && pair.to < gpus;
  });
  return pairs;
}

P2pRefusal p2p_refusal(const Topology& topology, const TopologyPair& pair) {
  P2pRefusal refusal;
  for (const TopologyPair* each : {&pair, find_pair(topology, pair.to, pair.from)}) {
    if (each == nullptr) continue;
    for (const auto* status : {&each->read, &each->write}) {
      const char* what = status == &each->read ? "reads" : "writes";
      if (!status->measured()) {
        refusal.unknown = status->reason();
      } else if (!status->value().ok) {
        return {what, status->value().why_not, {}};
      }
    }
  }
  return refusal;
}

bool may_have_nvlink(const NvlinkInfo& nvlink) {
  // NVML's answer for links that the GPU does not have at all.
  if (nvlink.possible.reason().starts_with("Not Supported")) return false;
  return nvlink.possible.value_or(1) != 0;
}

bool could_be_bridged(const TopologyGpu& a, const TopologyGpu& b) {
  const auto is_free = [](const NvlinkInfo& nvlink) {
    return may_have_nvlink(nvlink) && nvlink.active.value_or(1) == 0;
  };
  return a.name == b.name && is_free(a.nvlink) && is_free(b.nvlink);
}

std::optional<bool> needs_pcie_p2p(const Topology& topology) {
  std::optional<bool> needed = false;
  for (const TopologyPair& pair : gpu_pairs(topology)) {
    const std::optional<bool> joined = joined_by_nvlink(pair);
    if (joined == false) return true;
    if (!joined) needed.reset();
  }
  return needed;
}

Reading<std::uint64_t> all_clock_events(const GpuSurvey& gpu) {
  if (!gpu.load.measured() || !gpu.load.value().clock_events.measured()) return gpu.clock_events;
  return gpu.load.value().clock_events.value() | (gpu.clock_events.value_or(0) & ~kIdle);
}

std::string when_events(const GpuSurvey& gpu) {
  const bool loaded = gpu.load.measured() && gpu.load.value().clock_events.measured();
  return loaded ? kWhileCopying : "now";
}

int visible_gpus(const Survey& survey) {
  const auto& gpus = survey.topology.gpus;
  const auto visible =
      std::ranges::count_if(gpus, [](const TopologyGpu& gpu) { return gpu.cuda_index.measured(); });
  if (visible > 0) return static_cast<int>(visible);
  return static_cast<int>(survey.gpus.size());
}

std::vector<Finding> check_machine(const Survey& survey) {
  Findings findings;
  check_gpus(survey, findings);
  check_power(survey, findings);
  check_cooling(survey, findings);
  check_nvlink(survey, findings);
  check_p2p(survey, findings);
  check_delivery(survey, findings);
  check_pcie(survey, findings);
  check_host(survey, findings);
  check_kernel_log(survey, findings);
  check_software(survey, findings);
  check_nccl_settings(survey, findings);
  check_cuda_variables(survey, findings);
  return findings;
}

}  // namespace linkgain
