#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checks.hpp"

namespace linkgain {
namespace {

/// One bridge carries all links of GPUs with so many (TU102 2, GA102 4); those with more may be
/// joined by several bridges or to several GPUs, and need not use all.
constexpr int kOneBridge = 4;

bool any_switched(const Survey& survey) {
  return std::ranges::any_of(survey.topology.gpus, [](const TopologyGpu& gpu) {
    return gpu.nvlink.active.value_or(0) > 0 && gpu.nvlink.switched.value_or(false);
  });
}

/// Says ", down: link 3, 7" where it is known which links are not active.
std::string which(const NvlinkInfo& nvlink) {
  if (!nvlink.dark.measured() || nvlink.dark.value().empty()) return {};
  return fmt::format(", down: link {}", fmt::join(nvlink.dark.value(), ", "));
}

const Fault& fault_of_inactive(const Survey& survey, const TopologyGpu& gpu) {
  if (any_switched(survey)) return fault::links_off_switch;
  const bool has_partner = std::ranges::any_of(survey.topology.gpus, [&](const auto& other) {
    return other.index != gpu.index && could_be_bridged(gpu, other);
  });
  return has_partner ? fault::bridge_unseen : fault::links_lead_nowhere;
}

/// Judges a GPU some of whose links are active, some not.
const Fault& fault_of_partial(const Survey& survey, const TopologyGpu& gpu) {
  if (gpu.nvlink.switched.value_or(false)) return fault::links_down_switch;
  const bool others_differ = std::ranges::any_of(survey.topology.gpus, [&](const auto& other) {
    const int active = other.nvlink.active.value_or(0);  // a GPU without a bridge does not count
    return active > 0 && active != gpu.nvlink.active.value();
  });
  return others_differ || gpu.nvlink.possible.value() <= kOneBridge ? fault::links_down_bridge
                                                                    : fault::links_fewer;
}

Finding check_links(const Survey& survey, const GpuSurvey& gpu, const TopologyGpu& links) {
  const Check check("nvlink-links", subject_of(gpu));
  const NvlinkInfo& nvlink = links.nvlink;
  if (!may_have_nvlink(nvlink)) return check.ok("the GPU has no NVLink");
  if (!nvlink.possible.measured()) return check.not_checkable(nvlink.possible.reason());
  const int possible = nvlink.possible.value();
  if (!nvlink.active.measured()) return check.not_checkable(nvlink.active.reason());
  const int active = nvlink.active.value();
  FindingValue value =
      number("active", active) + " of " + number("possible", possible) + " links active";
  if (active == possible) return check.ok(value);
  if (has_all_of_bridges(links)) {
    return check.ok(value + ": all that three bridges carry");
  }
  if (active > 0) value += which(nvlink);
  if (links.mig_mode.value_or(false)) {
    return check.ok(value + "; MIG is on, and its instances use no NVLink");
  }
  if (active > 0) return check.found(fault_of_partial(survey, links), value);
  if (survey.gpus.size() < 2) return check.ok(value + ": no second GPU to join");
  const Fault& fault = fault_of_inactive(survey, links);
  if (&fault == &fault::bridge_unseen) value += ": no bridge is seen";
  return check.found(fault, value);
}

/// Says of a GPU whose links lead to GPUs whether these are here, too.
Finding check_peers(const Survey& survey, const GpuSurvey& gpu, const NvlinkInfo& nvlink) {
  const Check check("nvlink-peers", subject_of(gpu));
  std::vector<std::string> away = nvlink.peers;
  std::erase_if(away, [&](const std::string& peer) {
    return std::ranges::count(survey.topology.gpus, peer, &TopologyGpu::pci_bus_id) > 0;
  });
  if (away.empty()) return check.ok("its links lead to GPUs that are here");
  return check.found(fault::peer_elsewhere,
                     fmt::format("its links lead to a GPU at {}, which is not here",
                                 fmt::join(away, " and one at ")));
}

/// Says "link 3 at 13.2812, link 7 at 13.2812 of 26.5625 GB/s".
FindingValue slower_than(const NvlinkInfo& nvlink, const FindingValue& rate) {
  FindingValue value;
  for (const SlowNvlink& slow : nvlink.slower) {
    const std::string link = fmt::format("link {}", slow.link);
    value += (value.text().empty() ? "" : ", ") + link + " at " +
             FindingValue({link, Unit::gb_per_s, slow.rate_gb_per_s},
                          fmt::format("{:.4f}", slow.rate_gb_per_s));
  }
  return value + " of " + rate;
}

Finding check_rate(const GpuSurvey& gpu, const NvlinkInfo& nvlink) {
  const Check check("nvlink-rate", subject_of(gpu));
  if (!nvlink.rate_gb_per_s.measured()) return check.not_checkable(nvlink.rate_gb_per_s.reason());
  const FindingValue rate = quantity("link", Unit::gb_per_s, nvlink.rate_gb_per_s.value(), 4);
  if (nvlink.slower.empty()) return check.ok(rate + " on every link");
  return check.found(
      nvlink.switched.value_or(false) ? fault::switch_link_slow : fault::bridge_link_slow,
      slower_than(nvlink, rate));
}

Finding check_errors(const GpuSurvey& gpu) {
  const Check check("nvlink-errors", subject_of(gpu));
  if (!gpu.nvlink_errors.measured()) return check.not_checkable(gpu.nvlink_errors.reason());
  const NvlinkErrors& errors = gpu.nvlink_errors.value();
  if (errors.replays == 0 && errors.recoveries == 0 && errors.crc == 0) {
    return check.ok("none since the driver was loaded");
  }
  return check.found(fault::link_errors,
                     counted_of("crc", errors.crc, "CRC error", "CRC errors") + ", " +
                         counted_of("replays", errors.replays, "replay", "replays") + ", " +
                         counted_of("recoveries", errors.recoveries, "recovery", "recoveries") +
                         " since the driver was loaded");
}

/// Finds what a refusal over NVLink points to.
const Fault& fault_of_refusal(const TopologyGpu& gpu, const P2pRefusal& refusal) {
  if (gpu.nvlink.switched.value_or(false)) return fault::p2p_refused_switch;
  return refusal.of_machine ? fault::p2p_refused_machine : fault::p2p_refused_bridge;
}

/// Judges what the driver refuses: "reads refused: chipset not supported".
Finding judge_refused(const Check& check, const Topology& topology, const TopologyPair& pair,
                      const P2pRefusal& refusal, const std::string& refused) {
  const std::optional<bool> joined = joined_by_nvlink(pair);
  if (!joined) {
    return check.found(fault::p2p_refused_unknown,
                       refused + "; not known whether NVLink joins the GPUs");
  }
  if (!*joined) {
    const auto& ancestor = pair.ancestor;
    const auto takes_bridge = [&](int place) {
      return may_have_nvlink(topology.gpus[static_cast<std::size_t>(place)].nvlink);
    };
    const bool fits = takes_bridge(pair.from) && takes_bridge(pair.to);
    return check.found(fits ? fault::p2p_refused_pcie : fault::p2p_refused_bridgeless,
                       ancestor.measured()
                           ? fmt::format("{} (joined by {})", refused, name_of(ancestor.value()))
                           : refused);
  }
  const TopologyGpu& gpu = topology.gpus[static_cast<std::size_t>(pair.from)];
  return check.found(fault_of_refusal(gpu, refusal),
                     fmt::format("{}, {}", label_of(pair), refused));
}

/// Tells whether one of the two GPUs is split into instances.
bool is_split(const Topology& topology, const TopologyPair& pair) {
  const auto is_split = [&](int place) {
    return topology.gpus[static_cast<std::size_t>(place)].mig_mode.value_or(false);
  };
  return is_split(pair.from) || is_split(pair.to);
}

Finding check_pair(const Survey& survey, const TopologyPair& pair) {
  const Topology& topology = survey.topology;
  const Check check("p2p", device_labels(topology, pair));
  const P2pRefusal refusal = p2p_refusal(topology, pair);
  const std::string refused = fmt::format("{} refused: ", name_of(refusal.use));
  if (!refusal.why_not.empty() && is_split(topology, pair)) {
    return check.found(fault::p2p_split, refused + "MIG is on");
  }
  if (!refusal.why_not.empty()) {
    return judge_refused(check, topology, pair, refusal, refused + refusal.why_not);
  }
  if (!refusal.unknown.empty()) return check.not_checkable(refusal.unknown);
  const std::optional<bool> joined = joined_by_nvlink(pair);
  if (!joined) return check.ok("reads and writes work; not known whether over NVLink");
  if (is_patched(topology, pair)) {
    return check.found(fault::p2p_patched,
                       fmt::format("reads and writes over PCIe ({})", label_of(pair)));
  }
  return check.ok(
      fmt::format("reads and writes over {} ({})", *joined ? "NVLink" : "PCIe", label_of(pair)));
}

/// Judges what NCCL takes, with the variables that a job from here would find.
Finding check_nccl_path(const Survey& survey, const TopologyPair& pair) {
  const Check check("nccl-path", device_labels(survey.topology, pair));
  const NcclSettings& settings = survey.software.nccl;
  const NcclChoice choice = nccl_choice(survey.topology, pair, p2p_variables(settings));
  if (choice.path == NcclChoice::Path::unknown) return check.not_checkable(choice.why);
  if (!choice.leaves_p2p) return check.ok(text_of(choice));
  const NcclSetting* forbidding = forbidding_p2p(settings);
  if (forbidding == nullptr) return check.found(fault::p2p_left, text_of(choice));
  return check.found(fault::p2p_forbidden, text_of(choice), {{"removal", removal_of(*forbidding)}});
}

/// On H200 copy engines reach 87 to 88 % of the payload; of other generations it is not measured.
constexpr double kLowShare = 0.7;

/// Gives what the copies between two GPUs reached, the slower way; missing where there were none.
Reading<double> copied_between(const Survey& survey, const TopologyPair& pair) {
  if (!survey.peer_copies.measured()) {
    return survey.peer_copies.missing();
  }
  const auto id_of = [&](int place) {
    return survey.topology.gpus[static_cast<std::size_t>(place)].pci_bus_id;
  };
  const std::set<std::string> ends{id_of(pair.from), id_of(pair.to)};
  Reading<double> slower = Missing{"no copy was made between them"};
  for (const PeerCopy& copy : survey.peer_copies.value()) {
    if (std::set<std::string>{copy.from, copy.to} != ends) continue;
    if (!copy.gb_per_s.measured()) return copy.gb_per_s;
    if (!slower.measured() || copy.gb_per_s.value() < slower.value()) slower = copy.gb_per_s;
  }
  return slower;
}

/// Says nothing where nobody asked: without --load, unless the links' payload can be told no other
/// way.
std::optional<Finding> check_bandwidth(const Survey& survey, const TopologyPair& pair) {
  const NvlinkInfo& nvlink = survey.topology.gpus[static_cast<std::size_t>(pair.from)].nvlink;
  const Check check("nvlink-bandwidth", device_labels(survey.topology, pair));
  const Reading<double> payload = payload_limit_of(nvlink);
  const Reading<double> rate = rate_of(nvlink);
  const Reading<double> copied = copied_between(survey, pair);
  if (!copied.measured()) {
    if (copied.why() != WhyMissing::not_asked) return check.not_checkable(copied.reason());
    if (payload.measured() || !rate.measured()) return std::nullopt;
    return check.found(fault::copy_unmeasured, payload.reason() + ": a copy measures it instead");
  }
  FindingValue value = quantity("copy", Unit::gb_per_s, copied.value(), 1) + " one way by copy";
  const double limit = payload.measured() ? payload.value() : rate.value_or(0.0);
  if (limit > 0.0) {
    const char* const what = payload.measured() ? "payload" : "link rate";
    value += ", of " + quantity(what, Unit::gb_per_s, limit, 1) + " " + what;
  }
  return copied.value() >= kLowShare * limit ? check.ok(value)
                                             : check.found(fault::copy_slow, value);
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
    if (!links->nvlink.peers.empty()) findings.push_back(check_peers(survey, gpu, links->nvlink));
  }
}

void check_p2p(const Survey& survey, Findings& findings) {
  for (const TopologyPair& pair : gpu_pairs(survey.topology)) {
    findings.push_back(check_pair(survey, pair));
    findings.push_back(check_nccl_path(survey, pair));
    if (!joined_by_nvlink(pair).value_or(false)) continue;
    if (const auto finding = check_bandwidth(survey, pair)) findings.push_back(*finding);
  }
}

}  // namespace linkgain
