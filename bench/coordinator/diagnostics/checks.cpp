#include "checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

std::string filled(std::string_view text, const Check::Fill& fill) {
  std::string result(text);
  for (const auto& [name, value] : fill) {
    const std::string place = fmt::format("{{{}}}", name);
    for (std::size_t at = result.find(place); at != std::string::npos;
         at = result.find(place, at)) {
      result.replace(at, place.size(), value);
      at += value.size();
    }
  }
  return result;
}

}  // namespace

Finding Check::found(const Fault& fault, FindingValue value, const Fill& fill) const {
  if (fault.check != entry_.id) throw std::logic_error("a fault of another check");
  Finding result = finding(fault.verdict, std::move(value));
  result.why = filled(fault.why, fill);
  result.advice = filled(fault.advice, fill);
  return result;
}

FindingValue counted_of(std::string name, std::int64_t count, const char* one, const char* more) {
  return {{std::move(name), Unit::count, static_cast<double>(count)}, counted(count, one, more)};
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
