#include <fmt/format.h>

#include "checks.hpp"

namespace linkgain {
namespace {

constexpr CheckGroup kGroup = CheckGroup::connectivity;

/// Why reads or writes in one direction are refused; empty where both are allowed. Sets `unknown`
/// where the driver did not say.
std::string refusal(const TopologyPair& pair, std::string& unknown) {
  for (const auto* status : {&pair.read, &pair.write}) {
    const char* what = status == &pair.read ? "reads" : "writes";
    if (!status->measured()) {
      unknown = status->reason();
    } else if (!status->value().ok) {
      return fmt::format("{} refused: {}", what, status->value().why_not);
    }
  }
  return {};
}

Finding judge_refused_nvlink(const Check& check, const Topology& topology, const TopologyPair& pair,
                             const std::string& value) {
  const TopologyGpu& gpu = topology.gpus[static_cast<std::size_t>(pair.from)];
  const std::string why =
      "NVLink joins the GPUs and yet neither may reach the other's memory: messages take the road "
      "through host memory, and the links lie idle";
  if (gpu.nvlink.switched.value_or(false)) {
    return check.problem(value, why,
                         "start nvidia-fabricmanager in the driver's own version and look at its "
                         "log; MIG must be off");
  }
  return check.problem(value, why,
                       "the bridge is bad, half in its socket, or of another generation: reseat or "
                       "replace it; MIG must be off");
}

Finding judge_refused_pcie(const Check& check, const TopologyPair& pair, const std::string& value) {
  const std::string ancestor = pair.ancestor.measured()
                                   ? fmt::format(" (joined by {})", label_of(pair.ancestor.value()))
                                   : "";
  return check.warning(
      value + ancestor,
      "without NVLink and without P2P all messages go through host memory; the p2p and host "
      "variants then take the same road",
      "an NVLink bridge, where the GPUs take one, is what helps; PCIe P2P needs GPUs and a chipset "
      "that support it");
}

Finding judge_refused_unknown(const Check& check, const std::string& value) {
  return check.warning(value + "; not known whether NVLink joins the GPUs",
                       "without P2P all messages go through host memory; the p2p and host variants "
                       "then take the same road",
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

Finding check_pair(const Topology& topology, const TopologyPair& pair) {
  const Check check(kGroup, "p2p", subject_of(topology, pair));
  std::string unknown;
  std::string refused = refusal(pair, unknown);
  if (const TopologyPair* reverse = find_pair(topology, pair.to, pair.from);
      reverse && refused.empty()) {
    refused = refusal(*reverse, unknown);
  }
  if (!refused.empty()) return judge_refused(check, topology, pair, refused);
  if (!unknown.empty()) return check.not_checkable(unknown);
  const std::optional<bool> joined = joined_by_nvlink(pair);
  if (!joined) return check.ok("reads and writes work; not known whether over NVLink");
  if (*joined) return check.ok(fmt::format("reads and writes over NVLink ({})", label_of(pair)));
  return check.ok(fmt::format("reads and writes over PCIe ({})", label_of(pair)));
}

}  // namespace

void check_p2p(const Survey& survey, Findings& findings) {
  for (const TopologyPair& pair : gpu_pairs(survey.topology)) {
    findings.push_back(check_pair(survey.topology, pair));
  }
}

}  // namespace linkgain
