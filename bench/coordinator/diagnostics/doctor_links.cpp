#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checks.hpp"
#include "linkgain/base/units.hpp"

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

/// ", down: link 3, 7" where it is known which links are not active.
std::string which(const NvlinkInfo& nvlink) {
  if (!nvlink.dark.measured() || nvlink.dark.value().empty()) return {};
  return fmt::format(", down: link {}", fmt::join(nvlink.dark.value(), ", "));
}

std::string reseat(bool switched) {
  return switched ? "look at nvidia-fabricmanager's log and at the kernel log (Xid, SXid); restart "
                    "the machine; if it stays, have the baseboard looked at"
                  : "switch off, reseat the bridge until both ends click, clean its contacts; then "
                    "look at nvidia-smi nvlink --status";
}

Finding judge_inactive(const Check& check, const Survey& survey, const TopologyGpu& gpu,
                       const std::string& value) {
  if (survey.gpus.size() < 2) return check.ok(value + ": no second GPU to join");
  if (any_switched(survey)) {
    return check.problem(value, "other GPUs of this machine reach the switch, this one does not",
                         reseat(true));
  }
  const bool has_partner = std::ranges::any_of(survey.topology.gpus, [&](const auto& other) {
    return other.index != gpu.index && could_be_bridged(gpu, other);
  });
  if (!has_partner) {
    return check.warning(value, "the GPU has NVLink, and nothing is at the other end of its links",
                         "if a bridge was fitted, reseat it; no other GPU of this model has its "
                         "links free, so there may be none to connect");
  }
  return check.warning(
      value + ": no bridge is seen",
      "a bridge could connect GPUs of this model; without one their data takes PCIe",
      "is a bridge fitted, made for this GPU generation and for this distance of slots? Switch "
      "off and reseat it until both ends click. See nvidia-smi nvlink --status, and whether "
      "/etc/modprobe.d sets NVreg_NvLinkDisable=1. If no bridge is meant to be there, this is how "
      "the machine is");
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
  const Check check(CheckGroup::connectivity, "nvlink-links", subject_of(gpu));
  const NvlinkInfo& nvlink = links.nvlink;
  if (!may_have_nvlink(nvlink)) return check.ok("the GPU has no NVLink");
  if (!nvlink.possible.measured()) return check.not_checkable(nvlink.possible.reason());
  const int possible = nvlink.possible.value();
  if (!nvlink.active.measured()) return check.not_checkable(nvlink.active.reason());
  const int active = nvlink.active.value();
  const std::string value =
      fmt::format("{} of {} links active{}", active, possible,
                  active > 0 && active < possible ? which(nvlink) : std::string());
  if (active == possible) return check.ok(value);
  if (gpu.mig_mode.value_or(false)) {
    return check.ok(value + "; MIG is on, and its instances use no NVLink");
  }
  if (active == 0) return judge_inactive(check, survey, links, value);
  return judge_partial(check, survey, links, value);
}

/// Of a GPU whose links lead to GPUs: whether these are here, too.
Finding check_peers(const Survey& survey, const GpuSurvey& gpu, const NvlinkInfo& nvlink) {
  const Check check(CheckGroup::connectivity, "nvlink-peers", subject_of(gpu));
  std::vector<std::string> away = nvlink.peers;
  std::erase_if(away, [&](const std::string& peer) {
    return std::ranges::count(survey.topology.gpus, peer, &TopologyGpu::pci_bus_id) > 0;
  });
  if (away.empty()) return check.ok("its links lead to GPUs that are here");
  return check.warning(fmt::format("its links lead to a GPU at {}, which is not here",
                                   fmt::join(away, " and one at ")),
                       "containers or virtual machines have the two GPUs of a pair: neither can "
                       "use the links",
                       "give both GPUs to one container (--gpus '\"device=0,1\"')");
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
  const Check check(CheckGroup::connectivity, "nvlink-rate", subject_of(gpu));
  if (!nvlink.rate_gb_per_s.measured()) return check.not_checkable(nvlink.rate_gb_per_s.reason());
  if (nvlink.slower.empty()) {
    return check.ok(fmt::format("{:.4f} GB/s on every link", nvlink.rate_gb_per_s.value()));
  }
  return check.warning(slower_than(nvlink),
                       "a link that trained at a lower rate carries less, and what is distributed "
                       "evenly over all links waits for it",
                       reseat(nvlink.switched.value_or(false)));
}

Finding check_errors(const GpuSurvey& gpu) {
  const Check check(CheckGroup::connectivity, "nvlink-errors", subject_of(gpu));
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
    if (!links->nvlink.peers.empty()) findings.push_back(check_peers(survey, gpu, links->nvlink));
  }
}

namespace {

Finding judge_refused_nvlink(const Check& check, const Topology& topology, const TopologyPair& pair,
                             const std::string& value) {
  const TopologyGpu& gpu = topology.gpus[static_cast<std::size_t>(pair.from)];
  const std::string why =
      "NVLink joins the GPUs and yet neither may reach the other's memory: messages go "
      "through host memory, and the links lie idle";
  if (gpu.nvlink.switched.value_or(false)) {
    return check.problem(value, why,
                         "start nvidia-fabricmanager in the driver's own version and look at its "
                         "log");
  }
  return check.problem(value, why,
                       "the bridge is bad, half in its socket, or of another generation: reseat or "
                       "replace it");
}

Finding judge_refused_pcie(const Check& check, const TopologyPair& pair, const std::string& value) {
  const std::string ancestor = pair.ancestor.measured()
                                   ? fmt::format(" (joined by {})", label_of(pair.ancestor.value()))
                                   : "";
  return check.warning(
      value + ancestor,
      "without NVLink and without P2P all messages go through host memory; the p2p and host "
      "variants then take the same path",
      "an NVLink bridge, where the GPUs take one, is what helps; PCIe P2P needs GPUs and a chipset "
      "that support it");
}

Finding judge_refused_unknown(const Check& check, const std::string& value) {
  return check.warning(value + "; not known whether NVLink joins the GPUs",
                       "without P2P all messages go through host memory; the p2p and host variants "
                       "then take the same path",
                       "where there is a bridge or a switch, see nvidia-smi nvlink --status and "
                       "reseat the bridge; PCIe P2P needs GPUs and a chipset that support it");
}

Finding judge_refused(const Check& check, const Topology& topology, const TopologyPair& pair,
                      const std::string& refused) {
  const std::optional<bool> joined = joined_by_nvlink(pair);
  if (!joined) return judge_refused_unknown(check, refused);
  if (!*joined) return judge_refused_pcie(check, pair, refused);
  return judge_refused_nvlink(check, topology, pair,
                              fmt::format("{}, {}", label_of(pair), refused));
}

/// Whether one of the two GPUs is split into instances.
bool is_split(const Survey& survey, const TopologyPair& pair) {
  return std::ranges::any_of(survey.gpus, [&](const GpuSurvey& gpu) {
    const auto is_end = [&](int place) {
      return survey.topology.gpus[static_cast<std::size_t>(place)].index == gpu.index;
    };
    return gpu.mig_mode.value_or(false) && (is_end(pair.from) || is_end(pair.to));
  });
}

Finding check_pair(const Survey& survey, const TopologyPair& pair) {
  const Topology& topology = survey.topology;
  const Check check(CheckGroup::connectivity, "p2p", device_labels(topology, pair));
  const P2pRefusal refusal = p2p_refusal(topology, pair);
  if (!refusal.why_not.empty() && is_split(survey, pair)) {
    return check.warning(
        fmt::format("{} refused: MIG is on", name_of(refusal.use)),
        "instances of a GPU reach no other GPU's memory, neither over NVLink nor over PCIe",
        "unless it is meant, turn MIG off as root: nvidia-smi -i N -mig 0");
  }
  if (!refusal.why_not.empty()) {
    return judge_refused(check, topology, pair,
                         fmt::format("{} refused: {}", name_of(refusal.use), refusal.why_not));
  }
  if (!refusal.unknown.empty()) return check.not_checkable(refusal.unknown);
  const std::optional<bool> joined = joined_by_nvlink(pair);
  if (!joined) return check.ok("reads and writes work; not known whether over NVLink");
  if (*joined) return check.ok(fmt::format("reads and writes over NVLink ({})", label_of(pair)));
  return check.ok(fmt::format("reads and writes over PCIe ({})", label_of(pair)));
}

/// On H200 copy engines reach 87 to 88 % of the payload; of other generations it is not measured.
constexpr double kLowShare = 0.7;

/// What the copies between two GPUs reached, the slower way; missing where there were none.
Reading<double> copied_between(const Survey& survey, const TopologyPair& pair) {
  if (!survey.peer_copies.measured()) {
    return Reading<double>::missing(survey.peer_copies);
  }
  const auto id_of = [&](int place) {
    return survey.topology.gpus[static_cast<std::size_t>(place)].pci_bus_id;
  };
  const std::set<std::string> ends{id_of(pair.from), id_of(pair.to)};
  auto slower = Reading<double>::missing("no copy was made between them");
  for (const PeerCopy& copy : survey.peer_copies.value()) {
    if (std::set<std::string>{copy.from, copy.to} != ends) continue;
    if (!copy.gb_per_s.measured()) return copy.gb_per_s;
    if (!slower.measured() || copy.gb_per_s.value() < slower.value()) slower = copy.gb_per_s;
  }
  return slower;
}

/// Absent where nobody asked: without --load, unless the links' payload can be told no other way.
std::optional<Finding> check_bandwidth(const Survey& survey, const TopologyPair& pair) {
  const NvlinkInfo& nvlink = survey.topology.gpus[static_cast<std::size_t>(pair.from)].nvlink;
  const Check check(CheckGroup::connectivity, "nvlink-bandwidth",
                    device_labels(survey.topology, pair));
  const Reading<double> payload = payload_limit_of(nvlink);
  const Reading<double> rate = rate_of(nvlink);
  const Reading<double> copied = copied_between(survey, pair);
  if (!copied.measured()) {
    if (copied.why() != WhyMissing::not_asked) return check.not_checkable(copied.reason());
    if (payload.measured() || !rate.measured()) return std::nullopt;
    return check.not_checkable(payload.reason() + ": a copy measures it instead",
                               "linkgain doctor --load");
  }
  const double limit = payload.measured() ? payload.value() : rate.value_or(0.0);
  const std::string value =
      limit > 0.0 ? fmt::format("{:.1f} GB/s one way by copy, of {:.1f} GB/s {}", copied.value(),
                                limit, payload.measured() ? "payload" : "link rate")
                  : fmt::format("{:.1f} GB/s one way by copy", copied.value());
  if (copied.value() >= kLowShare * limit) return check.ok(value);
  return check.warning(
      value, "copies are slower than links of this rate allow: H200s reach 87 % of theirs",
      "see the other findings on links; repeat it while nothing else works on "
      "the GPUs");
}

}  // namespace

void check_p2p(const Survey& survey, Findings& findings) {
  for (const TopologyPair& pair : gpu_pairs(survey.topology)) {
    findings.push_back(check_pair(survey, pair));
    if (!joined_by_nvlink(pair).value_or(false)) continue;
    if (const auto finding = check_bandwidth(survey, pair)) findings.push_back(*finding);
  }
}

}  // namespace linkgain
