// What the links' counters say, or fail to say, beside the path.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/cases/backend.hpp"
#include "validity_parts.hpp"

namespace linkgain {
namespace {

/// Others' work on the links: of judged variants that may use them.
void warn_of_disturbed(Record& record) {
  std::vector<std::string> cases;
  double most = 0.0;
  for (const CaseResult& result : record.cases) {
    for (const VariantResult& variant : result.variants) {
      if (!variant.evidence || is_p2p_off(record, variant.variant)) continue;
      const double share = variant.evidence->judged_share().value_or(0.0);
      if (share <= kDisturbed) continue;
      cases.push_back(fmt::format("{} with {}", case_name(result.definition), variant.variant));
      most = std::max(most, share);
    }
  }
  if (cases.empty()) return;
  add_once(record,
           {"links-disturbed",
            fmt::format("NVLink carried up to {} of the expected bytes, so other work used the "
                        "links too: {}",
                        percent(most), named(cases)),
            "see with nvidia-smi what else runs on these GPUs, and measure again without it"});
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

std::string reason_of(const WireEvidence& evidence) {
  return evidence.reason.empty() ? "no reason was given" : evidence.reason;
}

void add_case(Short& entry, const Case& definition, const std::string& variant) {
  entry.cases.push_back(fmt::format("{} with {}", case_name(definition), variant));
  (is_own_work(definition) ? entry.by_us : entry.by_library) = true;
}

/// Who speaks of the path of these cases where the counters do not.
std::string_view witness_of(const Short& entry) {
  if (!entry.by_us) return "NCCL's transport lines";
  return entry.by_library ? "NCCL's transport lines (of our own work: on the driver's word on P2P)"
                          : "the driver's word on P2P";
}

/// Sorts a variant of a case in where its bytes were not counted, or counted and nothing is known
/// of what they should be. Of small messages nothing need be expected.
void sort_in(const CaseResult& result, const VariantResult& variant, ByReason& missing,
             ByReason& not_judged) {
  if (!variant.time || !uses_link(result.definition)) return;
  const bool large = message_size(result.definition) >= kJudgedSize;
  const auto add_to = [&](Short& entry) { add_case(entry, result.definition, variant.variant); };
  if (!variant.evidence) {
    if (large) add_to(missing["the links' counters were not read"]);
    return;
  }
  const WireEvidence& evidence = *variant.evidence;
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
      sort_in(result, variant, missing, not_judged);
    }
  }
  for (const auto& [reason, entry] : missing) {
    add_once(record,
             {"evidence-missing",
              fmt::format("what NVLink carried is not known: {}: {}", reason, named(entry.cases)),
              fmt::format("the path there rests on {} alone; `linkgain doctor` says which of the "
                          "driver's counters can be read",
                          witness_of(entry))});
  }
  for (const auto& [reason, entry] : not_judged) {
    add_once(
        record,
        {"evidence-not-judged",
         fmt::format("NVLink carried {:.3g} GB in {} operations, which cannot be held against "
                     "what was to be expected: {}: {}",
                     static_cast<double>(entry.nvlink_sent) / 1e9, entry.operations, reason,
                     named(entry.cases)),
         fmt::format("no fault of the machine: the path there rests on {}", witness_of(entry))});
  }
}

}  // namespace

std::string percent(double share) {
  return share < 0.1 ? fmt::format("{:.2g} %", 100 * share) : fmt::format("{:.1f} %", 100 * share);
}

std::string named(const std::vector<std::string>& cases) {
  return cases.size() == 1 ? cases.front()
                           : fmt::format("{} and {} more", cases.front(), cases.size() - 1);
}

void judge_evidence(Record& record) {
  if (record.settings.backend == name_of(BackendKind::mpi)) return;
  warn_of_disturbed(record);
  warn_of_missing(record);
}

}  // namespace linkgain
