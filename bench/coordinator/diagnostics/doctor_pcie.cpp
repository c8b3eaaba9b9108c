#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "checks.hpp"
#include "linkgain/hardware/pci.hpp"

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

/// Says how much longer it takes with so many lanes: "4x".
Check::Fill times_of(int width, int most_width) {
  return {{"times", fmt::format("{:.3g}x", static_cast<double>(most_width) / std::max(1, width))}};
}

Finding check_link(const GpuSurvey& gpu, const PcieInfo& pcie) {
  const Check check("pcie-link", subject_of(gpu));
  const Reading<TrainedLink> link = trained(gpu, pcie);
  if (!link.measured()) return check.not_checkable(link.reason());
  const auto [generation, width] = link.value();
  const int most_width = pcie.most_width.value();
  const FindingValue now = number("generation", generation);
  const FindingValue most = number("most generation", pcie.most_generation.value());
  const FindingValue lanes = "x" + number("lanes", width);
  const FindingValue most_lanes = " x" + number("most lanes", most_width);
  const bool at_work = gpu.load.measured();
  const bool is_low = generation < pcie.most_generation.value();
  const FindingValue value = "generation " + now + " " + lanes + " of " + most + most_lanes +
                             (at_work ? " under load" : "");
  const Check::Fill times = times_of(width, most_width);
  if (at_work && 2 * width < most_width) {
    return check.found(fault::lanes_missing_at_work, value, times);
  }
  if (at_work && is_low) return check.found(fault::generation_low_at_work, value);
  const std::string unloaded = " (" + (at_work ? "" : gpu.load.reason()) + ")";
  if (width < most_width && is_low) {
    return check.found(fault::lanes_missing,
                       lanes + " of" + most_lanes + "; generation " + now + " of " + most +
                           ", as of an idle GPU" + unloaded,
                       times);
  }
  if (width < most_width) return check.found(fault::lanes_missing, value, times);
  return is_low ? check.not_checkable(value + ": an idle GPU trains its link down" + unloaded)
                : check.ok(value);
}

/// Says what a virtual machine does not know of its host; empty elsewhere.
std::string of_host_alone(const Topology& topology, const char* what) {
  if (!topology.hypervisor) return {};
  return fmt::format("this is a virtual machine ({}): {} its host's", *topology.hypervisor, what);
}

FindingValue text_of(const PcieHop& hop) {
  return "x" + number("lanes", hop.width.value()) + " at " +
         FindingValue({"rate", Unit::count, hop.most_rate.value()},
                      fmt::format("{:.3g} GT/s", hop.most_rate.value()));
}

/// Judges the links above that of the GPU, which check_link() judges, and the width of its slot.
Finding check_path(const Survey& survey, const GpuSurvey& gpu, const TopologyGpu& links) {
  const Check check("pcie-path", subject_of(gpu));
  const std::vector<PcieHop>& path = links.path;
  if (path.empty()) return check.not_checkable("the kernel does not show the GPU's place on PCIe");
  const std::string elsewhere = of_host_alone(survey.topology, "the bridges above the GPU are not");
  if (!elsewhere.empty()) return check.not_checkable(elsewhere);
  if (path.size() == 1) return check.ok("no PCIe bridge above the GPU");
  const PcieHop& slot = path[1];
  if (!capacity_of(path[0]) || !capacity_of(slot)) {
    return check.not_checkable("the kernel does not say the links' rates");
  }
  if (const PcieHop* narrowest = narrowest_above(path)) {
    return check.found(fault::path_narrow, text_of(*narrowest) +
                                               fmt::format(" through {}; ", narrowest->pci_bus_id) +
                                               "the GPU's own link has " + text_of(path[0]));
  }
  const int lanes = slot.most_width.value_or(0);
  const bool is_told = links.pcie.width.value_or(0) < links.pcie.most_width.value_or(0);
  if (lanes > 0 && lanes < path[0].most_width.value_or(0) && !is_told) {
    return check.found(fault::slot_narrow,
                       "x" + number("slot", lanes) + " of x" +
                           number("gpu", path[0].most_width.value()) + ": root port or switch " +
                           slot.pci_bus_id,
                       times_of(lanes, path[0].most_width.value()));
  }
  return check.ok(
      fmt::format("no link narrower than the GPU's up to root port {}", path.back().pci_bus_id));
}

/// Judges BAR1 where P2P over PCIe depends on it.
Finding check_bar1(const Survey& survey, const GpuSurvey& gpu, const TopologyGpu& links) {
  const Check check("bar1", subject_of(gpu));
  for (const auto* bytes : {&links.bar1_bytes, &links.memory_bytes}) {
    if (!bytes->measured()) return check.not_checkable(bytes->reason());
  }
  const std::string elsewhere = of_host_alone(survey.topology, "its BARs are not");
  if (!elsewhere.empty()) return check.not_checkable(elsewhere);
  const auto size = [](const char* name, std::int64_t bytes) {
    return quantity(name, Unit::bytes, static_cast<double>(bytes));
  };
  const FindingValue value = size("bar1", links.bar1_bytes.value()) + " for " +
                             size("memory", links.memory_bytes.value()) + " of memory";
  if (links.bar1_bytes.value() >= links.memory_bytes.value()) return check.ok(value);
  const auto& topology = survey.topology;
  const bool matters = std::ranges::any_of(gpu_pairs(topology), [&](const TopologyPair& pair) {
    const bool has_gpu = topology.gpus[static_cast<std::size_t>(pair.from)].index == gpu.index ||
                         topology.gpus[static_cast<std::size_t>(pair.to)].index == gpu.index;
    return has_gpu && is_patched(topology, pair);
  });
  return matters ? check.found(fault::bar1_small, value)
                 : check.ok(value + "; no pair of GeForce RTX relies on it");
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
  const std::string elsewhere = of_host_alone(survey.topology, "this IOMMU is not");
  if (!elsewhere.empty() && needs_pcie_p2p(survey.topology) != false) {
    return check.not_checkable(elsewhere);
  }
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
  const std::string elsewhere =
      of_host_alone(survey.topology, "the bridges above the GPUs are not");
  if (!elsewhere.empty() && needs_pcie_p2p(survey.topology) != false) {
    return check.not_checkable(elsewhere);
  }
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
      findings.push_back(check_path(survey, gpu, *links));
    }
  }
  if (gpus.size() < 2) return;
  for (const GpuSurvey& gpu : gpus) {
    const TopologyGpu* links = links_of(survey, gpu);
    const bool matters = links != nullptr && needs_pcie_p2p(survey.topology) != false;
    if (matters) findings.push_back(check_bar1(survey, gpu, *links));
  }
  findings.push_back(check_iommu(survey));
  findings.push_back(check_acs(survey));
}

}  // namespace linkgain
