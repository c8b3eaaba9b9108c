#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "checks.hpp"

namespace linkgain {
namespace {

constexpr const char* kNotNeeded = "; no pair relies on PCIe P2P";
constexpr const char* kMaybeNeeded = "; it is not known whether a pair relies on PCIe P2P";

/// Now, or under the load of host copies where there was one.
struct TrainedLink {
  int generation;
  int width;
};

Reading<TrainedLink> trained(const GpuSurvey& gpu, const PcieInfo& pcie) {
  const bool loaded = gpu.load.measured();
  const Reading<int>& generation = loaded ? gpu.load.value().pcie_generation : pcie.generation;
  const Reading<int>& width = loaded ? gpu.load.value().pcie_width : pcie.width;
  for (const Reading<int>* reading :
       {&generation, &width, &pcie.most_generation, &pcie.most_width}) {
    if (!reading->measured()) return Reading<TrainedLink>::missing(reading->reason());
  }
  return TrainedLink{generation.value(), width.value()};
}

Finding judge_width(const Check& check, const std::string& value, bool loaded, bool by_half) {
  const std::string why =
      "every byte to and from host memory, and PCIe P2P, is slower by that much";
  const std::string advice =
      "use a slot with all lanes (many boards give two cards half each: see the manual), reseat "
      "the "
      "card, change the riser";
  return loaded && !by_half ? check.problem(value, why, advice) : check.warning(value, why, advice);
}

Finding judge_generation(const Check& check, const GpuSurvey& gpu, const std::string& value) {
  const std::string why = "each generation less halves the rate to host memory and of PCIe P2P";
  const std::string advice =
      "set the slot's generation in the firmware to automatic, reseat the card, change the riser";
  if (gpu.load.measured()) return check.problem(value, why, advice);
  const bool idle = !gpu.clock_events.measured() || (gpu.clock_events.value() & kIdle) != 0;
  if (!idle) return check.warning(value, why, advice);
  return check.not_checkable(value + ": an idle GPU trains its link down (" + gpu.load.reason() +
                             ")");
}

Finding check_link(const GpuSurvey& gpu, const PcieInfo& pcie) {
  const Check check(CheckGroup::connectivity, "pcie-link", subject_of(gpu));
  const Reading<TrainedLink> link = trained(gpu, pcie);
  if (!link.measured()) return check.not_checkable(link.reason());
  const auto [generation, width] = link.value();
  const int most_width = pcie.most_width.value();
  const std::string value =
      fmt::format("generation {} x{} of {} x{}{}", generation, width, pcie.most_generation.value(),
                  most_width, gpu.load.measured() ? " under load" : "");
  if (width < most_width) {
    return judge_width(check, value, gpu.load.measured(), width * 2 >= most_width);
  }
  if (generation < pcie.most_generation.value()) return judge_generation(check, gpu, value);
  return check.ok(value);
}

/// "intel_iommu=on iommu=pt": what the kernel was started with.
std::string iommu_options(const std::string& command_line) {
  std::string options;
  for (std::size_t begin = 0; begin < command_line.size();) {
    const std::size_t end = std::min(command_line.find(' ', begin), command_line.size());
    const std::string word = command_line.substr(begin, end - begin);
    if (word.find("iommu") != std::string::npos) options += " " + word;
    begin = end + 1;
  }
  return options.empty() ? "" : " (kernel:" + options + ")";
}

Finding check_iommu(const Survey& survey) {
  const Check check(CheckGroup::connectivity, "iommu", kHost);
  const auto& units = survey.host.iommu_units;
  const std::string options = iommu_options(survey.host.kernel_command_line);
  if (!units.measured()) return check.not_checkable(units.reason());
  if (units.value().empty()) return check.ok("off" + options);
  std::vector<std::string> translated;
  std::string unknown;
  for (const GpuSurvey& gpu : reachable(survey)) {
    if (!gpu.iommu_domain.measured()) {
      unknown = gpu.iommu_domain.reason();
    } else if (gpu.iommu_domain.value() != "identity") {
      translated.push_back(subject_of(gpu));
    }
  }
  if (translated.empty() && !unknown.empty()) return check.not_checkable(unknown);
  if (translated.empty()) return check.ok("on, and passes the GPUs' addresses through" + options);
  const std::string value =
      fmt::format("translates the addresses of {}{}", fmt::join(translated, ", "), options);
  const std::optional<bool> needed = needs_pcie_p2p(survey.topology);
  if (!needed) return check.not_checkable(value + kMaybeNeeded);
  if (!*needed) return check.ok(value + kNotNeeded);
  return check.warning(value,
                       "PCIe P2P through a translating IOMMU is not supported on bare metal: it is "
                       "slow, hangs, or spoils data",
                       "turn the IOMMU off in the firmware, or start the kernel with iommu=pt");
}

Finding check_acs(const Survey& survey) {
  const Check check(CheckGroup::connectivity, "pcie-acs", kHost);
  const std::vector<GpuSurvey> gpus = reachable(survey);
  if (std::ranges::any_of(gpus, &std::string::empty, &GpuSurvey::pci_bus_id)) {
    return check.not_checkable("the driver does not say the GPUs' PCI ids");
  }
  const auto& bridges = survey.host.bridges;
  if (!bridges.measured()) return check.not_checkable(bridges.reason());
  if (bridges.value().empty()) return check.ok("no PCIe bridge above the GPUs");
  std::vector<std::string> redirecting;
  std::string unknown;
  for (const PcieBridge& bridge : bridges.value()) {
    if (!bridge.redirects.measured()) unknown = bridge.redirects.reason();
    if (bridge.redirects.value_or(false)) redirecting.push_back(bridge.pci_bus_id);
  }
  if (redirecting.empty() && !unknown.empty()) return check.not_checkable(unknown);
  if (redirecting.empty()) {
    return check.ok(fmt::format("off on all {} bridges above the GPUs", bridges.value().size()));
  }
  const std::string value = fmt::format("redirects on {} of {} bridges: {}", redirecting.size(),
                                        bridges.value().size(), fmt::join(redirecting, ", "));
  const std::optional<bool> needed = needs_pcie_p2p(survey.topology);
  if (!needed) return check.not_checkable(value + kMaybeNeeded);
  if (!*needed) return check.ok(value + kNotNeeded);
  return check.warning(value,
                       "access control sends PCIe P2P up to the host bridge and back: it is slower "
                       "than through the switch, and may hang",
                       "turn ACS off in the firmware, or for each bridge: setpci -s BRIDGE "
                       "ECAP_ACS+0x6.w=0000 (as root, until the next start)");
}

}  // namespace

void check_pcie(const Survey& survey, Findings& findings) {
  const std::vector<GpuSurvey> gpus = reachable(survey);
  for (const GpuSurvey& gpu : gpus) {
    if (const TopologyGpu* links = links_of(survey, gpu)) {
      findings.push_back(check_link(gpu, links->pcie));
    }
  }
  if (gpus.size() < 2) return;
  findings.push_back(check_iommu(survey));
  findings.push_back(check_acs(survey));
}

}  // namespace linkgain
