#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "checks.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

constexpr CheckGroup kGroup = CheckGroup::gpus;

Finding check_driver(const Survey& survey) {
  const Check check(kGroup, "gpu-driver", kHost);
  if (!survey.gpus.empty()) {
    return check.ok(fmt::format("{}, driver {}", counted(std::ssize(survey.gpus), "GPU", "GPUs"),
                                survey.topology.driver.value_or("of unknown version")));
  }
  const std::string reason =
      survey.topology.no_gpus.empty() ? "the driver knows no GPU" : survey.topology.no_gpus;
  const std::int64_t on_bus = std::ssize(survey.host.nvidia_devices.value_or({}));
  if (on_bus == 0) return check.not_checkable("no GPU: " + reason);
  return check.problem(
      fmt::format("{} on PCIe, none usable: {}", counted(on_bus, "NVIDIA GPU", "NVIDIA GPUs"),
                  reason),
      "nothing can run on them",
      "install or load the driver (nvidia-smi must list them), after an update restart the "
      "machine; in a container, start it with --gpus all");
}

Finding check_present(const Survey& survey) {
  const Check check(kGroup, "gpus-present", kHost);
  const auto& on_bus = survey.host.nvidia_devices;
  if (!on_bus.measured()) return check.not_checkable(on_bus.reason());
  const std::size_t present = on_bus.value().size();
  const std::size_t known = survey.gpus.size();
  if (present < known) {
    return check.not_checkable(
        fmt::format("the kernel shows {} of the {} that the driver knows", present, known));
  }
  if (present == known) return check.ok(fmt::format("the driver knows all {} on PCIe", known));
  return check.warning(
      fmt::format("the driver knows {} of {} on PCIe", known, present),
      "the others failed to start, serve a virtual machine, or are kept from this container",
      "look for \"NVRM\" in the kernel log; in a container, start it with --gpus all");
}

Finding check_responds(const GpuSurvey& gpu) {
  const Check check(kGroup, "gpu-responds", subject_of(gpu));
  if (gpu.lost.empty()) {
    if (!gpu.name.empty()) return check.ok(gpu.name);
    if (gpu.temperature_c.measured()) return check.ok("yes; the driver does not say its model");
    return check.not_checkable(gpu.temperature_c.reason());
  }
  return check.problem(gpu.lost,
                       "the GPU fell off the bus: its work is lost, and jobs over all GPUs hang",
                       "restart the machine; if it comes again, check its power cables, its seat "
                       "in the slot or riser, and its cooling");
}

Finding check_memory(const GpuSurvey& gpu) {
  const Check check(kGroup, "memory-rows", subject_of(gpu));
  if (!gpu.memory_remap_pending.measured()) {
    return check.not_checkable(gpu.memory_remap_pending.reason());
  }
  if (!gpu.memory_remap_pending.value()) return check.ok("none waits to be replaced");
  return check.problem("broken rows wait to be replaced, or cannot be",
                       "further errors in them end programs or spoil data",
                       "stop all work and reset the GPU (nvidia-smi --gpu-reset); if this stays, "
                       "have the GPU replaced");
}

Finding check_compute_mode(const GpuSurvey& gpu) {
  const Check check(kGroup, "compute-mode", subject_of(gpu));
  if (!gpu.compute_mode.measured()) return check.not_checkable(gpu.compute_mode.reason());
  const std::string advice = fmt::format("nvidia-smi -i {} -c DEFAULT", gpu.index);
  const std::string why =
      "two jobs cannot hold the GPU at once: linkgain runs its variants one after the other, and "
      "drift no longer cancels out";
  switch (gpu.compute_mode.value()) {
    case ComputeModeName::shared:
      return check.ok("default: processes may share it");
    case ComputeModeName::exclusive_thread:
      return check.warning("exclusive to one thread", why, advice);
    case ComputeModeName::exclusive_process:
      return check.warning("exclusive to one process", why, advice);
    case ComputeModeName::prohibited:
      return check.problem("prohibited", "no program may use the GPU", advice);
  }
  return check.not_checkable("a mode that is not known here");
}

Finding check_persistence(const GpuSurvey& gpu) {
  const Check check(kGroup, "persistence", subject_of(gpu));
  if (!gpu.persistence_mode.measured()) return check.not_checkable(gpu.persistence_mode.reason());
  if (gpu.persistence_mode.value()) return check.ok("on");
  return check.warning("off",
                       "the driver unloads between programs: each start takes seconds longer, and "
                       "limits that were set are forgotten",
                       "run nvidia-persistenced, or nvidia-smi -pm 1");
}

/// Why it is not known of a GPU that answers whether CUDA sees it, or of all where none answers;
/// empty where it is known.
std::string visibility_unknown(const std::vector<TopologyGpu>& gpus) {
  bool answers = false;
  for (const TopologyGpu& gpu : gpus) {
    if (!gpu.no_answer.empty()) continue;
    answers = true;
    if (!gpu.cuda_index.measured() && gpu.cuda_index.reason() != kHiddenFromCuda) {
      return gpu.cuda_index.reason();
    }
  }
  return answers ? std::string() : gpus.front().no_answer;
}

Finding check_visible(const Survey& survey) {
  const Check check(kGroup, "cuda-visible", kHost);
  const auto& gpus = survey.topology.gpus;
  const auto visible =
      std::ranges::count_if(gpus, [](const TopologyGpu& gpu) { return gpu.cuda_index.measured(); });
  if (const std::string unknown = visibility_unknown(gpus); !unknown.empty()) {
    return check.not_checkable(unknown);
  }
  const std::string setting =
      survey.visible_devices ? "CUDA_VISIBLE_DEVICES=" + *survey.visible_devices : "";
  const std::string value = fmt::format("{} of {} GPUs{}", visible, gpus.size(),
                                        setting.empty() ? "" : fmt::format(" with {}", setting));
  if (visible == 0) {
    return check.problem(value, "CUDA sees no GPU", "unset CUDA_VISIBLE_DEVICES or correct it");
  }
  if (visible == 1) {
    return check.warning(value, "a link has two ends: nothing can be measured with one GPU",
                         setting.empty() ? "run where there are two GPUs"
                                         : "unset CUDA_VISIBLE_DEVICES or add GPUs to it");
  }
  if (visible == std::ssize(gpus)) return check.ok(value);
  return check.warning(value,
                       "the others are left out of every run; an unknown entry hides all "
                       "that come after it",
                       "unset CUDA_VISIBLE_DEVICES unless it is meant");
}

Finding check_order(const Survey& survey) {
  const Check check(kGroup, "cuda-order", kHost);
  int last = -1;
  for (const TopologyGpu& gpu : survey.topology.gpus) {
    if (!gpu.cuda_index.measured()) continue;
    if (gpu.cuda_index.value() < last) {
      return check.warning(
          fmt::format("CUDA's device {} is GPU{}", gpu.cuda_index.value(), gpu.index),
          "CUDA and nvidia-smi number the GPUs differently: --gpus and CUDA_VISIBLE_DEVICES may "
          "name others than you think, such as a pair without a bridge",
          "set CUDA_DEVICE_ORDER=PCI_BUS_ID, and list CUDA_VISIBLE_DEVICES in ascending order");
    }
    last = gpu.cuda_index.value();
  }
  if (last < 0) return check.not_checkable("it is not known which GPUs CUDA sees");
  return check.ok("CUDA numbers the GPUs as nvidia-smi does");
}

}  // namespace

void check_gpus(const Survey& survey, Findings& findings) {
  findings.push_back(check_driver(survey));
  if (survey.gpus.empty()) return;
  findings.push_back(check_present(survey));
  for (const GpuSurvey& gpu : survey.gpus) findings.push_back(check_responds(gpu));
  for (const GpuSurvey& gpu : reachable(survey)) {
    findings.push_back(check_memory(gpu));
    findings.push_back(check_compute_mode(gpu));
    findings.push_back(check_persistence(gpu));
  }
  if (!survey.load_failure.empty()) {
    findings.push_back(
        Check(kGroup, "load", kHost)
            .not_checkable("the GPUs could not be put to work: " + survey.load_failure,
                           "linkgain-bench --load 5"));
  }
  if (survey.topology.gpus.empty()) return;
  findings.push_back(check_visible(survey));
  findings.push_back(check_order(survey));
}

}  // namespace linkgain
