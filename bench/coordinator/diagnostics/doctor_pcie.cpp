#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "checks.hpp"

namespace linkgain {
namespace {

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
    if (!reading->measured()) return Missing{reading->reason()};
  }
  return TrainedLink{generation.value(), width.value()};
}

Finding judge_generation(const Check& check, const GpuSurvey& gpu, const FindingValue& value) {
  if (gpu.load.measured()) return check.found(fault::generation_low_at_work, value);
  const bool idle = !gpu.clock_events.measured() || (gpu.clock_events.value() & kIdle) != 0;
  if (!idle) return check.found(fault::generation_low, value);
  return check.not_checkable(value + ": an idle GPU trains its link down (" + gpu.load.reason() +
                             ")");
}

Finding check_link(const GpuSurvey& gpu, const PcieInfo& pcie) {
  const Check check("pcie-link", subject_of(gpu));
  const Reading<TrainedLink> link = trained(gpu, pcie);
  if (!link.measured()) return check.not_checkable(link.reason());
  const auto [generation, width] = link.value();
  const int most_width = pcie.most_width.value();
  const FindingValue value =
      "generation " + number("generation", generation) + " x" + number("lanes", width) + " of " +
      number("most generation", pcie.most_generation.value()) + " x" +
      number("most lanes", most_width) + (gpu.load.measured() ? " under load" : "");
  if (width < most_width) {
    const bool at_work = gpu.load.measured() && width * 2 < most_width;
    return check.found(at_work ? fault::lanes_missing_at_work : fault::lanes_missing, value);
  }
  if (generation < pcie.most_generation.value()) return judge_generation(check, gpu, value);
  return check.ok(value);
}

/// Judges what slows PCIe P2P down by whether a pair relies on that.
Finding judge_by_need(const Check& check, const Survey& survey, const Fault& fault,
                      const FindingValue& value) {
  const std::optional<bool> needed = needs_pcie_p2p(survey.topology);
  if (!needed) {
    return check.not_checkable(value + "; it is not known whether a pair relies on PCIe P2P");
  }
  return *needed ? check.found(fault, value) : check.ok(value + "; no pair relies on PCIe P2P");
}

/// Says "intel_iommu=on iommu=pt", what the kernel was started with.
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
  const Check check("iommu");
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
  return judge_by_need(
      check, survey, fault::iommu_translates,
      fmt::format("translates the addresses of {}{}", fmt::join(translated, ", "), options));
}

Finding check_acs(const Survey& survey) {
  const Check check("pcie-acs");
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
    return check.ok("off on all " + number("bridges", bridges.value().size()) +
                    " bridges above the GPUs");
  }
  return judge_by_need(check, survey, fault::acs_redirects,
                       "redirects on " + number("redirecting", redirecting.size()) + " of " +
                           number("bridges", bridges.value().size()) +
                           " bridges: " + fmt::format("{}", fmt::join(redirecting, ", ")));
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
