#include "linkgain/record/record_json.hpp"

namespace linkgain::json {
Out write_evidence(const WireEvidence& evidence) {
  return {{"algorithm", evidence.plan.algorithm},
          {"protocol", evidence.plan.protocol},
          {"operations", evidence.operations},
          {"nvlink_sent_bytes", nullable(evidence.nvlink_sent)},
          {"nvlink_received_bytes", nullable(evidence.nvlink_received)},
          {"pcie_sent_bytes", nullable(evidence.pcie_sent)},
          {"pcie_received_bytes", nullable(evidence.pcie_received)},
          {"expected_bytes", nullable(evidence.expected)},
          {"nvlink_share", nullable(evidence.nvlink_share())},
          {"judged", evidence.judged},
          {"reason", evidence.reason},
          {"pcie_reason", evidence.pcie_reason}};
}

WireEvidence read_evidence(const In& json) {
  WireEvidence evidence;
  evidence.plan = {json.at("algorithm"), json.at("protocol")};
  evidence.operations = json.at("operations");
  evidence.nvlink_sent = optional_at<std::int64_t>(json, "nvlink_sent_bytes");
  evidence.nvlink_received = optional_at<std::int64_t>(json, "nvlink_received_bytes");
  evidence.pcie_sent = optional_at<std::int64_t>(json, "pcie_sent_bytes");
  evidence.pcie_received = optional_at<std::int64_t>(json, "pcie_received_bytes");
  evidence.expected = optional_at<double>(json, "expected_bytes");
  evidence.judged = json.at("judged");
  evidence.reason = json.at("reason");
  evidence.pcie_reason = optional_at<std::string>(json, "pcie_reason").value_or("");
  return evidence;
}

Out write_evidence_cost(const EvidenceCost& cost) {
  return {{"probes_s", cost.probes_s},
          {"counters_s", cost.counters_s},
          {"health_s", nullable(cost.health_s)}};
}

EvidenceCost read_evidence_cost(const In& json) {
  return {json.at("probes_s"), json.at("counters_s"), optional_at<double>(json, "health_s")};
}

Out write_health_summary(const HealthSummary& summary) {
  return {{"lowest_temperature_c", nullable(summary.lowest_temperature_c)},
          {"highest_temperature_c", nullable(summary.highest_temperature_c)},
          {"lowest_power_w", nullable(summary.lowest_power_w)},
          {"highest_power_w", nullable(summary.highest_power_w)},
          {"lowest_sm_clock_mhz", nullable(summary.lowest_sm_clock_mhz)},
          {"highest_sm_clock_mhz", nullable(summary.highest_sm_clock_mhz)},
          {"clock_event_reasons", nullable(summary.clock_event_reasons)},
          {"samples", summary.samples},
          {"unhealthy_samples", summary.unhealthy_samples},
          {"power_capped_samples", summary.power_capped_samples}};
}

HealthSummary read_health_summary(const In& json) {
  return {.lowest_temperature_c = optional_at<int>(json, "lowest_temperature_c"),
          .highest_temperature_c = optional_at<int>(json, "highest_temperature_c"),
          .lowest_power_w = optional_at<double>(json, "lowest_power_w"),
          .highest_power_w = optional_at<double>(json, "highest_power_w"),
          .lowest_sm_clock_mhz = optional_at<int>(json, "lowest_sm_clock_mhz"),
          .highest_sm_clock_mhz = optional_at<int>(json, "highest_sm_clock_mhz"),
          .clock_event_reasons = optional_at<std::uint64_t>(json, "clock_event_reasons"),
          .samples = json.at("samples"),
          .unhealthy_samples = json.at("unhealthy_samples"),
          .power_capped_samples = json.at("power_capped_samples")};
}

}  // namespace linkgain::json
