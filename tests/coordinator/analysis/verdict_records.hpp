#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/record/record.hpp"

/// Records for tests of verdicts: one in order, and what may be wrong with it.
namespace linkgain::test {

inline VariantResult measured(std::string name, Path path) {
  VariantResult result;
  result.variant = std::move(name);
  result.time = Seconds{1e-3};
  result.path = path;
  result.verification = Verification{100, 0, 0.0, 0.0, ""};
  return result;
}

inline CaseResult case_of(std::int64_t size, Path first, Path other) {
  CaseResult result;
  result.definition.size = Bytes{size};
  result.variants = {measured("p2p", first), measured("host", other)};
  result.ratios = {{"host", {.value = 2.0, .interval = Interval{1.99, 2.01}, .replicates = 6}}};
  result.converged = true;
  result.stopped = StopReason::converged;
  return result;
}

/// Has two GPUs joined by NVLink, p2p against host, all in order.
inline Record good_record() {
  Record record;
  record.status = RunStatus::complete;
  record.machine.links = {{0, 1, true, true}};
  const Environment host{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_NVLS_ENABLE", "0"}};
  record.settings.variants = {{"p2p", {}}, {"host", host}};
  record.settings.environment_in_force = {{}, host};
  record.cases = {case_of(8, Path::nvlink, Path::host_memory),
                  case_of(1024, Path::nvlink, Path::host_memory)};
  return record;
}

inline std::vector<std::string> codes(const Record& record) {
  std::vector<std::string> found;
  for (const Warning& warning : record.warnings) found.push_back(warning.code);
  return found;
}

inline void set_wrong(Record& record) {
  record.cases[1].variants[1].verification =
      Verification{100, 3, 2.0, 0.0, "rank 1, element 17: 3 instead of 5"};
}

inline void set_path(Record& record, std::size_t variant, Path path) {
  for (CaseResult& result : record.cases) result.variants[variant].path = path;
}

inline void take_times(CaseResult& result, const std::string& reason) {
  for (VariantResult& variant : result.variants) {
    variant.time.reset();
    variant.skipped = Skip{.refusal = reason};
  }
}

/// Returns the first warning of this code; an empty one where there is none.
inline Warning warning(const Record& record, const std::string& code) {
  for (const Warning& entry : record.warnings) {
    if (entry.code == code) return entry;
  }
  return {};
}

/// Returns what the counters say of ten all-reduces of 64 MiB on two GPUs, 128 MiB each: a share of
/// what ring and Simple must move.
inline TrafficEvidence traffic_evidence(double share) {
  TrafficEvidence evidence;
  evidence.plan = {"RING", "SIMPLE"};
  evidence.operations = 10;
  evidence.expected = 10.0 * 2 * (64 << 20);
  evidence.nvlink_sent = static_cast<std::int64_t>(share * *evidence.expected);
  evidence.judged = true;
  return evidence;
}

/// Adds a case of 64 MiB whose counters say these shares to good_record().
inline Record counted_record(double p2p, double host) {
  Record record = good_record();
  record.machine.software.nccl_library = "2.28.3";
  record.cases.push_back(case_of(64 << 20, Path::nvlink, Path::host_memory));
  record.cases.back().variants[0].evidence = traffic_evidence(p2p);
  record.cases.back().variants[1].evidence = traffic_evidence(host);
  return record;
}

inline constexpr std::int64_t kGigabyte = 1'000'000'000;

/// Returns what was seen of a program's run on two GPUs, each of which sent so much over NVLink.
inline RunEvidence evidence_of(std::optional<std::int64_t> bytes_a_gpu) {
  RunEvidence run;
  for (int gpu = 0; gpu < 2; ++gpu) {
    GpuEvidence& each = run.gpus.emplace_back();
    each.gpu = gpu;
    each.traffic.nvlink_sent = each.traffic.nvlink_received = bytes_a_gpu;
    if (!bytes_a_gpu) each.nvlink_reason = "Not Supported";
    each.used = true;
  }
  run.nccl = {{.path = "/usr/lib/libnccl.so.2", .version = "2.28.9+cuda13.0", .processes = 2}};
  run.processes_looked = 3;
  return run;
}

/// Sums up ten samples, of which so many have these clock events.
inline HealthSummary health_with(std::uint64_t reasons, int samples) {
  HealthSummary health;
  for (int i = 0; i < 10; ++i) {
    Health sample;
    sample.clock_event_reasons = i < samples ? reasons : 0;
    add_sample(health, {sample});
  }
  return health;
}

/// Prints what judge() makes of a changed record for a golden: situation and exit code, below them
/// every warning and its advice.
template <typename Change>
std::string judged(const std::string& situation, Record record, Change change) {
  change(record);
  const ExitCode code = judge(record);
  std::string text = situation + " -> exit " + std::to_string(static_cast<int>(code)) + "\n";
  for (const Warning& entry : record.warnings) {
    text += "  " + entry.code + ": " + entry.text + "\n      " + entry.advice + "\n";
  }
  return text + "\n";
}

}  // namespace linkgain::test
