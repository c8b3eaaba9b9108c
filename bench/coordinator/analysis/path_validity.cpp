#include "linkgain/analysis/path_validity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "linkgain/analysis/variant_environment.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/backend.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/record/warning.hpp"

namespace linkgain {
namespace {

/// Why a variant's path is not the one that it promises, and how to get there.
struct Contradiction {
  std::string reason;  ///< the same for all cases alike
  std::string detail;  ///< what was found in this case; may be empty
  std::string advice;
};

constexpr std::string_view kReadLog =
    "NCCL's log beside the record says which transport it chose for every channel";
constexpr std::string_view kAskDriver =
    "our own kernels and copies use P2P where the driver allows it: `linkgain topo` shows every "
    "pair";

/// Tells who says more of a case's path.
std::string_view witness_of(const Case& definition) {
  return is_own_work(definition) ? kAskDriver : kReadLog;
}

/// Says the share of the expected bytes, "50.0 %".
std::string percent(double share) {
  return share < 0.1 ? fmt::format("{:.2g} %", 100 * share) : fmt::format("{:.1f} %", 100 * share);
}

/// Says what the counters say against "no bytes over NVLink", empty where they say nothing. Plans
/// whose traffic is not known (NVLS) are compared with the least that any plan moves: the
/// operation's own bytes.
std::string used_nvlink(const Case& definition, const VariantResult& result) {
  if (!result.evidence || !result.evidence->nvlink_sent) return {};
  const TrafficEvidence& evidence = *result.evidence;
  if (const std::optional<double> share = evidence.judged_share()) {
    return *share > kNoNvlink ? percent(*share) + " of the expected bytes" : "";
  }
  const double least =
      static_cast<double>(definition.size.value) * static_cast<double>(evidence.operations);
  const auto sent = static_cast<double>(*evidence.nvlink_sent);
  if (evidence.expected || definition.size < kJudgedSize || sent <= kNoNvlink * least) return {};
  return fmt::format("{:.3g} GB in {} operations", sent / 1e9, evidence.operations);
}

/// Gives that of the variant's library, or where that is not recorded of the machine's.
std::string nccl_version_of(const Record& record, const std::string& variant) {
  const Settings& settings = record.settings;
  const Software* software = &record.machine.software;
  const std::size_t known = std::min(settings.software_in_force.size(), settings.variants.size());
  for (std::size_t i = 0; i < known; ++i) {
    if (settings.variants[i].name == variant) software = &settings.software_in_force[i];
  }
  return software->nccl_library.value_or("");
}

/// Says what is still open for bytes on NVLink where P2P is off.
std::string close_nvlink(const Record& record, const Case& definition, const std::string& variant) {
  if (is_own_work(definition)) {
    return "see with nvidia-smi whether other processes use these GPUs' links: our own kernels and "
           "copies go "
           "through host memory there";
  }
  if (variable_of(record, variant, "NCCL_NVLS_ENABLE") != "0") {
    return "set NCCL_NVLS_ENABLE=0: NVLink multicast (NVLS) ignores NCCL_P2P_DISABLE";
  }
  if (has_window_switch(nccl_version_of(record, variant)) &&
      variable_of(record, variant, "NCCL_WIN_ENABLE") != "0") {
    return "set NCCL_WIN_ENABLE=0: from NCCL 2.28.7 on symmetric windows ignore "
           "NCCL_P2P_DISABLE";
  }
  return "see with nvidia-smi whether other processes use these GPUs' links: nothing of NCCL's is "
         "left open";
}

/// Says how to have a variable that is 1 in force.
std::string set_exactly(const Case& definition, std::string_view value = "1") {
  return fmt::format("it must be exactly {} on every rank{}; {}", value,
                     is_own_work(definition) ? "" : ", which nccl.conf may change",
                     witness_of(definition));
}

/// Judges a variant in which P2P is off.
std::optional<Contradiction> against_no_p2p(const Record& record, const Case& definition,
                                            const VariantResult& result) {
  const std::string carried = used_nvlink(definition, result);
  const std::string assignment = p2p_forbidden_by(record, result.variant);
  if (!carried.empty()) {
    return Contradiction{assignment + " is set, and yet NVLink carried bytes", carried,
                         close_nvlink(record, definition, result.variant)};
  }
  const bool some = result.path == Path::mixed && on_one_host(record.machine);
  if (!some && result.path != Path::nvlink && result.path != Path::pcie_p2p) return std::nullopt;
  const std::string value = assignment.substr(assignment.find('=') + 1);
  return Contradiction{assignment + " is set, and yet messages went by P2P",
                       std::string(name_of(result.path)), set_exactly(definition, value)};
}

/// Gives the caller's variables that may keep NCCL from NVLink without forbidding it outright.
std::vector<std::string> suspects(const Record& record, std::size_t variant) {
  std::vector<std::string> found;
  for (const char* name : {"NCCL_P2P_DIRECT_DISABLE", "NCCL_TOPO_FILE", "NCCL_GRAPH_FILE",
                           "NCCL_HOSTID", "NCCL_CONF_FILE"}) {
    const std::string value = inherited(record, variant, name);
    if (!value.empty() && value != "0") found.push_back(fmt::format("{}={}", name, value));
  }
  return found;
}

std::string open_p2p(const Record& record, const Case& definition, std::size_t variant) {
  const std::vector<std::string> found = suspects(record, variant);
  if (!found.empty() && !is_own_work(definition)) {
    return fmt::format(
        "unset {}, in force here and able to cause this; it may come from NCCL_CONF_FILE, "
        "~/.nccl.conf or /etc/nccl.conf",
        fmt::join(found, " and "));
  }
  return fmt::format(
      "no variable explains it: run `linkgain doctor`, start containers with --ipc=host, look for "
      "an IOMMU or ACS that is on; {}",
      witness_of(definition));
}

/// Tells whether messages of the case go between these two.
bool joins(const PairLink& link, const Case& definition, int ranks) {
  const auto [low, high] = std::minmax(link.from, link.to);
  if (definition.pair) {
    return std::minmax(definition.pair->from, definition.pair->to) == std::minmax(low, high);
  }
  if (has_pair(definition.operation)) return high - low == 1 || (low == 0 && high == ranks - 1);
  const bool has_one_end =
      goes_to_root(definition.operation) || comes_from_root(definition.operation);
  return !has_one_end || low == definition.root || high == definition.root;
}

bool are_joined(const std::vector<PairLink>& links) {
  return all_pairs(links, joined_by_nvlink).value_or(false) &&
         all_pairs(links, allows_p2p).value_or(false);
}

/// Tells whether NVLink joins all ranks between which messages of the case go, where it may not
/// join others. Trees and rings of collectives may go between any two.
bool offers_nvlink(const Machine& machine, const Case& definition) {
  std::vector<PairLink> links = machine.links;
  std::erase_if(links, [&](const PairLink& link) {
    return !joins(link, definition, static_cast<int>(machine.ranks.size()));
  });
  return are_joined(links);
}

/// Judges a variant that keeps nothing off NVLink, where it joins the ranks of the case.
std::optional<Contradiction> against_nvlink(const Record& record, const Case& definition,
                                            std::size_t variant, const VariantResult& result) {
  const std::optional<double> share =
      result.evidence ? result.evidence->judged_share() : std::nullopt;
  const bool too_few = share && *share < kAllNvlink;
  const bool joins_all = offers_nvlink(record.machine);
  // NCCL's transport lines are those of all ranks: where some pairs have no NVLink they are mixed.
  const bool mixed = result.path == Path::mixed && joins_all && !share;
  const bool elsewhere = result.path == Path::host_memory || result.path == Path::network ||
                         result.path == Path::pcie_p2p || mixed;
  if (!too_few && !elsewhere) return std::nullopt;
  const std::string carried =
      share ? fmt::format("NVLink carried {} of the expected bytes", percent(*share)) : "";
  return Contradiction{
      fmt::format("NVLink joins {} and nothing forbids P2P, and yet the path is {}",
                  joins_all ? "every pair" : "these ranks", name_of(result.path)),
      carried, open_p2p(record, definition, variant)};
}

/// Tells whether P2P joins every pair, over NVLink or no further than NCCL uses PCIe by itself:
/// from one PCIe switch to the next, not across a host bridge.
bool offers_near_p2p(const Machine& machine) {
  return !machine.links.empty() && std::ranges::all_of(machine.links, [](const PairLink& link) {
    const bool near = link.ancestor == Ancestor::pix || link.ancestor == Ancestor::pxb;
    return link.p2p == true && (joined_by_nvlink(link) == true || near);
  });
}

/// Judges the variant that forces nothing, where pairs without NVLink are offered P2P over PCIe.
std::optional<Contradiction> against_pcie(const Record& record, const Case& definition,
                                          std::size_t variant, const VariantResult& result) {
  static const std::set<std::string> kFarEnough{"", "PXB", "PHB", "SYS"};
  const bool allowed = kFarEnough.contains(inherited(record, variant, "NCCL_P2P_LEVEL"));
  const bool elsewhere = result.path == Path::host_memory || result.path == Path::network;
  if (!allowed || !elsewhere) return std::nullopt;
  return Contradiction{
      fmt::format("the driver allows P2P between every pair, none further apart than PCIe "
                  "switches (PXB), nothing forbids it, and yet the path is {}",
                  name_of(result.path)),
      "", open_p2p(record, definition, variant)};
}

/// Judges a variant that asks for P2P across the host bridge, where the driver allows it.
std::optional<Contradiction> against_p2p(const Record& record, const Case& definition,
                                         const VariantResult& result) {
  const bool offered = all_pairs(record.machine.links, allows_p2p).value_or(false);
  if (!offered || (result.path != Path::host_memory && result.path != Path::network)) {
    return std::nullopt;
  }
  return Contradiction{
      fmt::format("the driver allows P2P between every pair and NCCL_P2P_LEVEL asks for it, and "
                  "yet the path is {}",
                  name_of(result.path)),
      "",
      fmt::format("run `linkgain doctor` and look for an IOMMU or ACS that is on; {}",
                  witness_of(definition))};
}

std::optional<Contradiction> contradiction(const Record& record, std::size_t variant,
                                           const Case& definition, const VariantResult& result) {
  const Environment& forced = record.settings.variants[variant].environment;
  if (is_p2p_off(record, result.variant)) {
    if (const auto found = against_no_p2p(record, definition, result)) return found;
    if (variable_of(record, result.variant, "NCCL_SHM_DISABLE") == "1" &&
        result.path == Path::host_memory) {
      return Contradiction{"NCCL_SHM_DISABLE=1 is set, and yet messages went through host memory",
                           "", set_exactly(definition)};
    }
    return std::nullopt;
  }
  const bool asks_for_p2p = forced.size() == 1 && value_of(forced, "NCCL_P2P_LEVEL") == "SYS";
  if ((forced.empty() || asks_for_p2p) && offers_nvlink(record.machine, definition)) {
    return against_nvlink(record, definition, variant, result);
  }
  if (forced.empty() && offers_near_p2p(record.machine)) {
    return against_pcie(record, definition, variant, result);
  }
  return asks_for_p2p ? against_p2p(record, definition, result) : std::nullopt;
}

/// One contradiction of a variant, and the cases that show it.
struct Found {
  Contradiction first;
  std::vector<std::string> cases;
};

Warning warning_of(const std::string& variant, const Found& found) {
  const std::string detail = found.first.detail.empty() ? "" : " (" + found.first.detail + ")";
  return {name_of(WarningCode::wrong_path),
          fmt::format("variant {}: {}: {}{}", variant, found.first.reason,
                      first_named(found.cases, 1), detail),
          found.first.advice};
}

/// Judges others' work on the links: of judged variants that may use them.
void warn_of_disturbed(Record& record) {
  std::vector<std::string> cases;
  double most = 0.0;
  for (const CaseResult& result : record.cases) {
    for (const VariantResult& variant : result.variants) {
      if (!variant.evidence || is_p2p_off(record, variant.variant)) continue;
      const double share = variant.evidence->judged_share().value_or(0.0);
      if (share <= kDisturbed) continue;
      cases.push_back(
          fmt::format("{} with {}", spoken_case(record, result.definition), variant.variant));
      most = std::max(most, share);
    }
  }
  if (cases.empty()) return;
  add_once(record.warnings,
           warning_of(
               WarningCode::links_disturbed,
               fmt::format("NVLink carried up to {} of the expected bytes, so other work used the "
                           "links too: {}",
                           percent(most), first_named(cases, 1))));
}

/// Cases whose evidence falls short for one reason.
struct Short {
  std::vector<std::string> cases;
  bool by_library = false;       ///< some are NCCL's operations
  bool by_us = false;            ///< some are our own work
  std::int64_t nvlink_sent = 0;  ///< in them, where it was counted
  std::int64_t operations = 0;
};

using ByReason = std::map<std::string, Short>;

std::string reason_of(const TrafficEvidence& evidence) {
  return evidence.reason.empty() ? "no reason was given" : evidence.reason;
}

/// Says who speaks of the path of these cases where the counters do not.
std::string_view witness_of(const Short& entry) {
  if (!entry.by_us) return "NCCL's transport lines";
  return entry.by_library ? "NCCL's transport lines (of our own kernels and copies: on what the "
                            "driver says of P2P)"
                          : "what the driver says of P2P";
}

/// Sorts a variant of a case in where its bytes were not counted, or counted and nothing is known
/// of what they should be. Of small messages nothing need be expected.
void sort_in(const Record& record, const CaseResult& result, const VariantResult& variant,
             ByReason& missing, ByReason& not_judged) {
  if (!variant.time || !uses_link(result.definition)) return;
  const bool large = message_size(result.definition) >= kJudgedSize;
  const auto add_to = [&](Short& entry) {
    entry.cases.push_back(
        fmt::format("{} with {}", spoken_case(record, result.definition), variant.variant));
    (is_own_work(result.definition) ? entry.by_us : entry.by_library) = true;
  };
  if (!variant.evidence) {
    if (large) add_to(missing["the links' counters were not read"]);
    return;
  }
  const TrafficEvidence& evidence = *variant.evidence;
  if (!evidence.nvlink_sent) {
    add_to(missing[reason_of(evidence)]);
  } else if (large && !evidence.nvlink_share()) {
    Short& entry = not_judged[reason_of(evidence)];
    add_to(entry);
    entry.nvlink_sent += *evidence.nvlink_sent;
    entry.operations += evidence.operations;
  }
}

void warn_of_missing(Record& record) {
  if (!offers_nvlink(record.machine)) return;
  ByReason missing;
  ByReason not_judged;
  for (const CaseResult& result : record.cases) {
    for (const VariantResult& variant : result.variants) {
      sort_in(record, result, variant, missing, not_judged);
    }
  }
  for (const auto& [reason, entry] : missing) {
    add_once(record.warnings,
             {name_of(WarningCode::evidence_missing),
              fmt::format("what NVLink carried is not known: {}: {}", reason,
                          first_named(entry.cases, 1)),
              fmt::format("the path there rests on {} alone; `linkgain doctor` says which of the "
                          "driver's counters can be read",
                          witness_of(entry))});
  }
  for (const auto& [reason, entry] : not_judged) {
    add_once(
        record.warnings,
        {name_of(WarningCode::evidence_not_judged),
         fmt::format("NVLink carried {:.3g} GB in {} operations, which cannot be compared with "
                     "the expected bytes: {}: {}",
                     static_cast<double>(entry.nvlink_sent) / 1e9, entry.operations, reason,
                     first_named(entry.cases, 1)),
         fmt::format("no fault of the machine: the path there rests on {}", witness_of(entry))});
  }
}

bool joins(const Case& c, const PairLink& link) {
  if (!c.pair) return true;
  const bool there = link.from == c.pair->from && link.to == c.pair->to;
  return there || (link.from == c.pair->to && link.to == c.pair->from);
}

}  // namespace

bool offers_nvlink(const Machine& machine) { return are_joined(machine.links); }

void judge_paths(Record& record) {
  if (record.settings.backend == BackendKind::mpi) return;
  // NCCL's cases and those of our own work apart: what to do about them differs.
  std::map<std::tuple<std::string, std::string, bool>, Found> found;
  for (const CaseResult& result : record.cases) {
    if (!uses_link(result.definition)) continue;
    for (std::size_t i = 0; i < result.variants.size(); ++i) {
      const VariantResult& variant = result.variants[i];
      if (!variant.time) continue;
      const auto why = contradiction(record, i, result.definition, variant);
      if (!why) continue;
      Found& entry = found[{variant.variant, why->reason, is_own_work(result.definition)}];
      if (entry.cases.empty()) entry.first = *why;
      entry.cases.push_back(spoken_case(record, result.definition));
    }
  }
  for (const auto& [key, entry] : found) {
    add_once(record.warnings, warning_of(std::get<0>(key), entry));
  }
}

void judge_evidence(Record& record) {
  if (record.settings.backend == BackendKind::mpi) return;
  warn_of_disturbed(record);
  warn_of_missing(record);
}

bool same_path(const VariantResult& a, const VariantResult& b) {
  return a.time && b.time && a.path == b.path && a.path != Path::unknown && a.path != Path::mixed;
}

std::optional<Path> own_path(const Machine& machine, const Case& c, const Execution& execution) {
  if (!execution.through_host && !uses_link(c)) return Path::unknown;
  if (!execution.through_host) return std::nullopt;
  if (*execution.through_host) return Path::host_memory;
  std::vector<PairLink> used;
  for (const PairLink& link : machine.links) {
    if (joins(c, link)) used.push_back(link);
  }
  if (const auto nvlink = same_for_all_pairs(used, joined_by_nvlink)) {
    return *nvlink ? Path::nvlink : Path::pcie_p2p;
  }
  const bool known = !used.empty() && std::ranges::all_of(used, [](const PairLink& l) {
    return joined_by_nvlink(l).has_value();
  });
  return known ? Path::mixed : Path::unknown;
}

}  // namespace linkgain
