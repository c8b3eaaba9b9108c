#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "checks.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

constexpr CheckGroup kGroup = CheckGroup::connectivity;
/// One bridge carries all links of GPUs with so many (TU102 2, GA102 4); those with more may be
/// joined by several bridges or to several GPUs, and need not use all.
constexpr int kOneBridge = 4;
/// NVML's answer for links that the GPU does not have at all.
constexpr std::string_view kNotSupported = "Not Supported";

bool any_switched(const Survey& survey) {
  return std::ranges::any_of(survey.topology.gpus, [](const TopologyGpu& gpu) {
    return gpu.nvlink.active.value_or(0) > 0 && gpu.nvlink.switched.value_or(false);
  });
}

/// ": 3, 7" where it is known which links are not active.
std::string which(const NvlinkInfo& nvlink) {
  if (!nvlink.dark.measured() || nvlink.dark.value().empty()) return {};
  return fmt::format(", not active: {}", fmt::join(nvlink.dark.value(), ", "));
}

std::string reseat(bool switched) {
  return switched ? "look at nvidia-fabricmanager's log and at the kernel log (Xid, SXid); restart "
                    "the machine; if it stays, have the baseboard looked at"
                  : "switch off, reseat the bridge until both ends click, clean its contacts; then "
                    "look at nvidia-smi nvlink --status";
}

Finding judge_inactive(const Check& check, const Survey& survey, const std::string& value) {
  if (survey.gpus.size() < 2) return check.ok(value + ": no second GPU to join");
  if (any_switched(survey)) {
    return check.problem(value, "other GPUs of this machine reach the switch, this one does not",
                         reseat(true));
  }
  return check.warning(value,
                       "the GPU has NVLink and nothing is at its other end: no bridge, a bridge "
                       "half in its socket, or links that are turned off",
                       "fit a bridge of this GPU generation or reseat it; where there is none to "
                       "fit, this is how the machine is");
}

/// Some links are active, some not.
Finding judge_partial(const Check& check, const Survey& survey, const TopologyGpu& gpu,
                      const std::string& value) {
  const bool switched = gpu.nvlink.switched.value_or(false);
  const bool others_differ = std::ranges::any_of(survey.topology.gpus, [&](const auto& other) {
    const int active = other.nvlink.active.value_or(0);  // a GPU without a bridge does not count
    return active > 0 && active != gpu.nvlink.active.value();
  });
  const std::string why =
      "links that are down carry nothing: the bandwidth is lower by their share";
  if (switched || others_differ || gpu.nvlink.possible.value() <= kOneBridge) {
    return check.problem(value, why, reseat(switched));
  }
  return check.warning(value,
                       why + ", unless this machine was built with fewer bridges than would fit",
                       "count the bridges; where all are fitted: " + reseat(false));
}

Finding check_links(const Survey& survey, const GpuSurvey& gpu, const TopologyGpu& links) {
  const Check check(kGroup, "nvlink-links", subject_of(gpu));
  const NvlinkInfo& nvlink = links.nvlink;
  if (nvlink.possible.reason().starts_with(kNotSupported)) return check.ok("the GPU has no NVLink");
  if (!nvlink.possible.measured()) return check.not_checkable(nvlink.possible.reason());
  const int possible = nvlink.possible.value();
  if (possible == 0) return check.ok("the GPU has no NVLink");
  if (!nvlink.active.measured()) return check.not_checkable(nvlink.active.reason());
  const int active = nvlink.active.value();
  const std::string value =
      fmt::format("{} of {} links active{}", active, possible,
                  active > 0 && active < possible ? which(nvlink) : std::string());
  if (active == possible) return check.ok(value);
  if (active == 0) return judge_inactive(check, survey, value);
  return judge_partial(check, survey, links, value);
}

/// "link 3 at 13.2812, link 7 at 13.2812 of 26.5625 GB/s"
std::string slower_than(const NvlinkInfo& nvlink) {
  std::vector<std::string> slower;
  for (const SlowNvlink& link : nvlink.slower) {
    slower.push_back(fmt::format("link {} at {:.4f}", link.link, link.rate_gb_per_s));
  }
  return fmt::format("{} of {:.4f} GB/s", fmt::join(slower, ", "), nvlink.rate_gb_per_s.value());
}

Finding check_rate(const GpuSurvey& gpu, const NvlinkInfo& nvlink) {
  const Check check(kGroup, "nvlink-rate", subject_of(gpu));
  if (!nvlink.rate_gb_per_s.measured()) return check.not_checkable(nvlink.rate_gb_per_s.reason());
  if (nvlink.slower.empty()) {
    return check.ok(fmt::format("{:.4f} GB/s on every link", nvlink.rate_gb_per_s.value()));
  }
  return check.warning(slower_than(nvlink),
                       "a link that trained at a lower rate carries less, and what is spread "
                       "evenly over all links waits for it",
                       reseat(nvlink.switched.value_or(false)));
}

Finding check_errors(const GpuSurvey& gpu) {
  const Check check(kGroup, "nvlink-errors", subject_of(gpu));
  if (!gpu.nvlink_errors.measured()) return check.not_checkable(gpu.nvlink_errors.reason());
  const NvlinkErrors& errors = gpu.nvlink_errors.value();
  if (errors.replays == 0 && errors.recoveries == 0 && errors.crc == 0) {
    return check.ok("none since the driver was loaded");
  }
  return check.warning(
      fmt::format("{}, {}, {} since the driver was loaded",
                  counted(errors.crc, "CRC error", "CRC errors"),
                  counted(errors.replays, "replay", "replays"),
                  counted(errors.recoveries, "recovery", "recoveries")),
      "the link repeats what arrived broken, which costs bandwidth, and trains anew after many",
      "see whether the numbers grow during a run; if they do, reseat the bridge and have it or the "
      "GPU replaced");
}

}  // namespace

void check_nvlink(const Survey& survey, Findings& findings) {
  for (const GpuSurvey& gpu : reachable(survey)) {
    const TopologyGpu* links = links_of(survey, gpu);
    if (links == nullptr) continue;
    findings.push_back(check_links(survey, gpu, *links));
    if (links->nvlink.active.value_or(0) <= 0) continue;
    findings.push_back(check_rate(gpu, links->nvlink));
    findings.push_back(check_errors(gpu));
  }
}

}  // namespace linkgain
