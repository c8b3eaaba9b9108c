#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "linkgain/record/record.hpp"
#include "record_parts.hpp"

/// A record in which every member has a value of its own, and comparison member by member. The
/// structured bindings name all members: adding one without comparing it does not compile.
namespace linkgain::test {

inline auto members(const RatioResult& value) {
  const auto& [a, b, c] = value;
  return std::tie(a, b, c);
}
inline auto members(const Verification& value) {
  const auto& [a, b, c, d, e] = value;
  return std::tie(a, b, c, d, e);
}
inline auto members(const Execution& value) {
  const auto& [a, b, c, d, e, f, g, h] = value;
  return std::tie(a, b, c, d, e, f, g, h);
}
inline auto members(const VariantResult& value) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = value;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
}
inline auto members(const CaseResult& value) {
  const auto& [a, b, c, d, e, f] = value;
  return std::tie(a, b, c, d, e, f);
}
inline auto members(const GpuInfo& value) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = value;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s);
}
inline auto members(const RankInfo& value) {
  const auto& [a, b, c, d, e, f] = value;
  return std::tie(a, b, c, d, e, f);
}
inline auto members(const PairLink& value) {
  const auto& [a, b, c, d, e, f] = value;
  return std::tie(a, b, c, d, e, f);
}
inline auto members(const Machine& value) {
  const auto& [a, b, c, d, e, f, g] = value;
  return std::tie(a, b, c, d, e, f, g);
}
inline auto members(const Settings& value) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = value;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
}
inline auto members(const Sample& value) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
}
/// Leaves out the digest, which is of the file, and the answer, which is never read.
inline auto members(const Record& value) {
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, answer, digest] = value;
  return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
}

template <typename T>
bool same(const T& a, const T& b);

template <typename T>
bool same_value(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same<T>);
}
template <typename T>
bool same_value(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}
template <typename T>
bool same_value(const T& a, const T& b) {
  if constexpr (requires { members(a); }) {
    return std::apply(
        [&b](const auto&... of_a) {
          return std::apply([&](const auto&... of_b) { return (same(of_a, of_b) && ...); },
                            members(b));
        },
        members(a));
  } else {
    return a == b;
  }
}

/// Compares every member, however deep.
template <typename T>
bool same(const T& a, const T& b) {
  return same_value(a, b);
}

inline Machine full_machine() {
  GpuInfo gpu{.cuda_index = 3,
              .name = "NVIDIA H200",
              .uuid = "GPU-11111111-2222-3333-4444-555555555555",
              .pci_bus_id = "00000000:0a:00.0",
              .memory_bytes = 150754820096,
              .l2_bytes = 62914560,
              .multiprocessors = 132,
              .compute_capability = "9.0",
              .nvlink_version = 6,
              .nvlink_links = 18,
              .nvlink_links_active = 17,
              .nvlink_rate_gb_per_s = 26.562,
              .nvlink_total_gb_per_s = 451.5,
              .pcie_generation = 5,
              .pcie_width = 16,
              .most_sm_clock_mhz = 1980,
              .application_clock_mhz = 1830,
              .most_custom_boost_clock_mhz = 1755,
              .power_limit_w = 599.5};
  GpuInfo bare;
  bare.cuda_index = 1;
  bare.name = "NVIDIA L4";
  Machine machine{
      .host = "node \"1\"",
      .kernel = "Linux 6.1.0",
      .processor = "a processor with µ",
      .processors = 32,
      .software = {.linkgain = "0.1.0",
                   .build = "nccl+mpi",
                   .mpi = "Open MPI 4.1.4",
                   .driver = "580.159.04",
                   .cuda_driver = "13.0",
                   .cuda_runtime = "12.9",
                   .nccl_header = "2.28.3",
                   .nccl_library = "2.28.9",
                   .nccl_path = "/opt/nccl/libnccl.so.2.28.9",
                   .nccl_found_by = "NCCL_HOME",
                   .nccl_missing = {}},
      .ranks = {{0, "node1", 11, "0-15", gpu, HostCopyRates{43.5, 34.75, CopyRates{55.375, 55.25}}},
                {1, "node2", 12, "16,17", bare, {}},
                {2, "node2", 13, "", std::nullopt, {}}},
      .links = {
          {0, 1, true, false, Ancestor::pxb, 4}, {0, 2, std::nullopt, true}, {1, 2, false, {}}}};
  return machine;
}

/// Adds samples of both cases in two launches, 8 rounds each; the third variant never ran.
inline void add_full_samples(Record& record) {
  int sequence = 0;
  for (int launch = 0; launch < 2; ++launch) {
    for (int round = 0; round < 8; ++round) {
      for (int index = 0; index < 4; ++index) {
        const double time = (1 + index % 2) * 1e-3 * (1 + 0.01 * round) * (1 + 0.05 * launch);
        Sample sample;
        sample.sequence = sequence++;
        sample.variant = index % 2;
        sample.launch = launch;
        sample.round = round;
        sample.position = (index + round) % 2;
        sample.operations = 5 + index;
        sample.times = {Seconds{time}, Seconds{time / 3}, std::nullopt};
        sample.health = {{40 + round, 512.25, 1980, 0x8000000000000000ULL}, {{}, {}, 345, {}}, {}};
        sample.disturbed = launch == 1 && round > 5;
        sample.unverified = launch == 1 && index == 3;
        if (index == 1) sample.loss = 10.98 - 0.01 * round;
        record.cases.at(static_cast<std::size_t>(index) / 2).samples.push_back(sample);
      }
    }
  }
}

/// Returns evidence of which nothing is known but the reason.
inline TrafficEvidence missing_evidence() {
  TrafficEvidence evidence;
  evidence.reason = "the driver's \"counters\" are absent";
  evidence.pcie_reason = "may have wrapped";
  return evidence;
}

inline CaseResult full_case(const Case& definition, Path path) {
  CaseResult result;
  result.definition = definition;
  result.stopped = StopReason::out_of_rounds;
  VariantResult measured;
  measured.variant = "p2p";
  measured.path = path;
  measured.verification = Verification{1000, 0, 0.25, 0.5, ""};
  measured.evidence = known_evidence(definition);
  measured.fraction_of_limit = 0.731;
  measured.limit = LimitKind::nvlink_payload;
  measured.health = {.lowest_temperature_c = 31,
                     .highest_temperature_c = 47,
                     .lowest_power_w = 98.5,
                     .highest_power_w = 512.25,
                     .lowest_sm_clock_mhz = 345,
                     .highest_sm_clock_mhz = 1980,
                     .clock_event_reasons = 0x8000000000000000ULL,
                     .samples = 16,
                     .unhealthy_samples = 2,
                     .power_capped_samples = 3};
  measured.disturbed_samples = 4;
  measured.level_shift = LevelShift{1, 3, 2.5};
  measured.execution = {12, 1, 6, 7, true, "grouped send/recv", false, {"algo 66", "algo 7"}};
  measured.training = TrainingResult{
      200, Seconds{101.9}, 10.98, 9.5, 1e-6, Estimate{-1e-4, Interval{-3e-4, 2e-4}}, 13};
  VariantResult wrong;
  wrong.variant = "host";
  wrong.verification = Verification{1000, 3, std::numeric_limits<double>::infinity(), 0.0,
                                    "rank 1, element 17: nan instead of 5"};
  wrong.path = Path::host_memory;
  wrong.evidence = missing_evidence();
  VariantResult skipped;
  skipped.variant = "net";
  skipped.skipped = Skip{.refusal = "no network"};
  result.variants = {measured, wrong, skipped};
  return result;
}

inline Software older_software() {
  Software software = full_machine().software;
  software.linkgain = "0.0.9";
  software.nccl_library = "2.21.5";
  software.nccl_build = "2.21.5+cuda12.4";
  software.nccl_path = "/opt/old/libnccl.so.2";
  software.nccl_found_by = "LINKGAIN_NCCL";
  return software;
}

/// Takes times, bandwidths and ratios from its samples, as readers ask for them; one ratio has an
/// interval, one has none. All else keeps a value of its own.
inline void take_derived(CaseResult& result, bool interval) {
  CaseResult derived = result;
  summarise(derived);
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    VariantResult& own = result.variants[i];
    own.time = derived.variants[i].time;
    own.algbw = derived.variants[i].algbw;
    own.busbw = derived.variants[i].busbw;
    own.skew = derived.variants[i].skew;
  }
  result.ratios = derived.ratios;
  Estimate& ratio = result.ratios.at(0).ratio;
  ratio.replicates = interval ? 2 : 1;
  if (!interval) return;
  ratio.interval = Interval{0.75 * ratio.value, 1.25 * ratio.value};
}

inline TrainingPlan full_training() {
  return {100, "/data/tokens \\ a.bin", "mix64:0123456789abcdef"};
}

inline Case full_send() {
  Case send;
  send.operation = OperationKind::send_recv;
  send.size = Bytes{1000};
  send.ranks = 3;
  send.pair = Pair{0, 2, true};
  return send;
}

inline RecordedAnswer full_answer(const std::string& name) {
  const RecordedRow row{name, "host", Estimate{2.0, Interval{1.9, 2.1}, 6}};
  return {.sentence = "NVLink makes it 2.00x as fast.",
          .spoken = {row},
          .rows = {row},
          .headroom = {row},
          .headroom_steps = {{name,
                              {{.station = HeadroomStation::setting,
                                .variant = "ll128",
                                .time = Seconds{2e-6},
                                .factor = Estimate{2.0, Interval{1.9, 2.1}, 6},
                                .whole = Estimate{2.0, Interval{1.9, 2.1}, 6},
                                .blocks = 24}}}},
          .predicted = {row}};
}

inline Record full_record() {
  Case reduce;
  reduce.type = DataType::bfloat16;
  reduce.reduction = Reduction::max;
  reduce.size = Bytes{1 << 20};
  reduce.ranks = 3;
  reduce.in_place = true;
  reduce.launch = LaunchMode::graph;
  Record record;
  record.started = "2026-11-20T16:40:00Z";
  record.wall_seconds = 14.125;
  record.evidence_cost = {0.75, 0.25, 0.125};
  record.time_spent = {3.5, 0.5, 0.75, 0.25, 4.0, 1.0, 0.125, 1.5, 0.875, 2.5, 1.75, 0.625};
  record.neighbours = {
      .looks = 12,
      .idle_windows = 3,
      .cost_s = 1.5,
      .not_looked = "those of other hosts are not looked at",
      .seen = {{0, std::nullopt, 97.5, std::nullopt, {{4711, "python3", std::int64_t{1} << 33}}},
               {1, 12.5, std::nullopt, 3.25, {{12, "", std::nullopt}}}}};
  const ErrorCounter crc{0, ErrorKind::nvlink_crc_errors, 3, 1};
  record.link_errors = {.readings = 3,
                        .counters = {{crc, 4, 12}, {{1, ErrorKind::xid, {}, {}}, 0, 0}},
                        .grown = {{6.5, crc, 5}, {14.0, crc, 7}}};
  record.launch_begins_s = {0.5, 7.25};
  record.machine = full_machine();
  record.settings = {.argv = {"linkgain", "run", "--out", "my \\ results"},
                     .backend = BackendKind::nccl,
                     .profile = "full",
                     .schedule = Schedule::sequential,
                     .variants = {{"p2p", {}},
                                  {.name = "host",
                                   .environment = {{"NCCL_P2P_DISABLE", "1"}},
                                   .nccl = "/opt/old/libnccl.so.2",
                                   .worker = "/opt/old/linkgain-bench"},
                                  {"net", {}}},
                     .environment_in_force = {{{"NCCL_ALGO", "Ring,Tree"}}, {}, {}},
                     .nccl_files = {{"NCCL_ALGO", "/etc/nccl.conf"}},
                     .software_in_force = {full_machine().software, older_software(), {}},
                     .launches = 2,
                     .race = RaceStages{.screening = 1, .choosing = 3, .confirming = 8},
                     .precision = 0.02,
                     .budget = Seconds{900.5},
                     .sample_target = Seconds{0.0075},
                     .training = full_training(),
                     .label = "before",
                     .cases_digest = "mix64:fedcba9876543210",
                     .require_healthy = true};
  record.cases = {full_case(reduce, Path::nvlink), full_case(full_send(), Path::mixed)};
  record.cases[1].converged = true;
  record.warnings = {{"wrong-data", "text", "advice"}, {"job-lost", "more\ntext", ""}};
  record.status = RunStatus::job_lost;
  record.exit_code = 6;
  record.answer = full_answer(case_name(reduce));
  add_full_samples(record);
  take_derived(record.cases[0], true);
  take_derived(record.cases[1], false);
  return record;
}

}  // namespace linkgain::test
