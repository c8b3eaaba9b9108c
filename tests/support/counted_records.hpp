#pragma once

#include <string>

#include "linkgain/record/limits.hpp"
#include "sample_records.hpp"

/// The sample records as a run with link counters, host copies and health leaves them.
namespace linkgain::test {

/// Counts ring and Simple's traffic on these ranks, of which NVLink carried this share; small
/// messages are not judged.
inline TrafficEvidence counted(const Case& definition, double share) {
  TrafficEvidence evidence;
  const bool reduces = has_reduction(definition.operation);
  evidence.operations = 5;
  evidence.plan = {reduces ? "RING" : "", definition.size < kJudgedSize ? "LL" : "SIMPLE"};
  const bool both = definition.pair && definition.pair->both;
  const double messages = reduces ? 2.0 * (definition.ranks - 1) : both ? 2.0 : 1.0;
  const double flags = definition.size < kJudgedSize ? 2.0 : 1.0;  // LL's
  evidence.expected = 5.0 * messages * flags * static_cast<double>(definition.size.value);
  evidence.nvlink_sent = static_cast<std::int64_t>(share * *evidence.expected);
  evidence.nvlink_received = evidence.nvlink_sent;
  evidence.judged = definition.size >= kJudgedSize;
  evidence.reason = evidence.judged ? "" : "smaller than 16 MiB";
  return evidence;
}

/// Returns evidence of a GPU whose driver does not count.
inline TrafficEvidence uncounted(std::string reason) {
  TrafficEvidence evidence;
  evidence.operations = 5;
  evidence.reason = std::move(reason);
  return evidence;
}

/// Fills what the counters, the host copies and the GPUs' sensors say of two H200.
inline Record complete(Record record) {
  for (RankInfo& rank : record.machine.ranks) {
    rank.gpu->nvlink_rate_gb_per_s = 26.5625;
    rank.host_copy = HostCopyRates{55.4, 55.3, CopyRates{55.6, 55.5}};
  }
  for (CaseResult& result : record.cases) {
    for (VariantResult& variant : result.variants) {
      if (!variant.time) continue;
      const bool nvlink = variant.path == Path::nvlink;
      variant.evidence = counted(result.definition, nvlink ? 1.004 : 0.0);
      if (const auto limit = limit_of(record.machine, result.definition, variant.path)) {
        variant.limit = limit->kind;
        variant.fraction_of_limit = *variant.busbw / limit->gb_per_s;
      }
      variant.health = steady_health();
    }
  }
  return record;
}

}  // namespace linkgain::test
