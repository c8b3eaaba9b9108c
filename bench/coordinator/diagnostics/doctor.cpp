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
