#pragma once

#include <cmath>
#include <string>

#include "linkgain/baseline/regression.hpp"

/// Results of checks for tests of their reports.
namespace linkgain::test {

inline CaseCheck sample_check(std::int64_t bytes, const std::string& variant, Verdict verdict,
                              double reference, double share, double half_width) {
  CaseCheck check;
  check.definition.size = Bytes{bytes};
  check.variant = variant;
  check.verdict = verdict;
  check.reference = Seconds{reference};
  check.time = Seconds{reference * (1.0 + share)};
  check.reference_launches = 8;
  check.launches = 1;
  check.shift = std::log1p(share);
  check.interval = {*check.shift - half_width, *check.shift + half_width};
  check.chance_slower = 0.5;
  check.chance_faster = 0.5;
  return check;
}

inline CheckResult sample_result() {
  CheckResult result;
  result.made = "2026-11-21T20:00:00Z";
  result.key.backend = BackendKind::nccl;
  result.key.ranks = 2;
  result.key.gpus = {"NVIDIA H200", "NVIDIA H200"};
  result.key.links = {{0, 1, true, true, Ancestor::phb}};
  result.key.nccl = "2.28";
  result.sources = {{"node7", "2026-11-22T08:00:00Z", 1}};
  return result;
}

/// Has one of every verdict, in no order.
inline CheckResult troubled_check() {
  using enum Verdict;
  CheckResult result = sample_result();
  result.cases = {sample_check(8, "p2p", same, 6.5e-6, 0.003, 0.012),
                  sample_check(64, "p2p", inconclusive, 6.5e-6, 0.042, 0.012),
                  sample_check(1 << 20, "p2p", slower, 15e-6, 0.081, 0.011),
                  sample_check(1 << 20, "host", faster, 64e-6, -0.21, 0.011),
                  sample_check(16 << 20, "p2p", other_path, 126e-6, 3.1, 0.011),
                  sample_check(64 << 20, "p2p", missing, 471e-6, 0.0, 0.0),
                  sample_check(256 << 20, "p2p", wrong_data, 855e-6, 0.001, 0.011),
                  sample_check(1 << 30, "p2p", slower, 3.27e-3, 0.112, 0.011),
                  sample_check(1 << 30, "host", inconclusive, 39e-3, 0.05, 0.011),
                  sample_check(16, "p2p", added, 6.5e-6, 0.0, 0.0)};
  result.cases[1].settling = Settling{3, false};
  result.cases[2].reasons = {{.kind = Reason::Kind::throttled, .words = "12 samples"}};
  result.cases[2].disturbance = {.samples = 12, .level_change = 1.25};
  result.cases[4].reasons = {
      {.kind = Reason::Kind::other_path, .words = "nvlink in the baseline, host-memory now"}};
  CaseCheck& gone = result.cases[5];
  gone.reasons = {{.kind = Reason::Kind::no_time, .words = "skipped: the job died | at 64 MiB"}};
  gone.time.reset();
  gone.shift.reset();
  gone.interval.reset();
  gone.launches = 0;
  result.cases[6].reasons = {{.kind = Reason::Kind::wrong_data,
                              .words = "12 of 64 elements are wrong, first: rank 1, element 17"}};
  result.cases[7].headline = true;
  result.cases[8].headline = true;
  result.cases[8].tolerance = {std::nullopt, 0.05};
  CaseCheck& extra = result.cases[9];
  extra.reasons = {{.kind = Reason::Kind::not_in_reference}};
  extra.reference.reset();
  extra.shift.reset();
  extra.interval.reset();
  result.warnings = {{"weak-baseline", "some cases have only 4 launches, 8 are wanted",
                      "measure with `linkgain run --launches 8`"},
                     {"own-baseline", "it is one of the records", ""}};
  return result;
}

inline CheckResult quiet_check() {
  CheckResult result = sample_result();
  result.cases = {sample_check(8, "p2p", Verdict::same, 6.5e-6, 0.003, 0.012),
                  sample_check(1 << 30, "p2p", Verdict::same, 3.27e-3, -0.001, 0.012)};
  result.cases[1].headline = true;
  return result;
}

/// Has a case that is measured as ever, and by an unknown path; and many that are not there at all.
inline CheckResult sparse_check() {
  using enum Verdict;
  CheckResult result = sample_result();
  result.cases = {sample_check(8, "p2p", unknown_path, 6.5e-6, 0.003, 0.012)};
  result.cases[0].reasons = {{.kind = Reason::Kind::path_lost, .words = "nvlink"}};
  for (int i = 0; i < 5; ++i) {
    for (const char* variant : {"p2p", "host"}) {
      result.cases.push_back(sample_check(1 << (10 + i), variant, missing, 7e-6, 0.0, 0.0));
      CaseCheck& gone = result.cases.back();
      gone.reasons = {{.kind = Reason::Kind::not_recorded, .words = "the record"}};
      gone.time.reset();
      gone.shift.reset();
      gone.interval.reset();
    }
  }
  return result;
}

/// Has what a job may have printed: markup, quotes, line breaks, control characters, no UTF-8.
inline CheckResult hostile_check() {
  CheckResult result = quiet_check();
  result.sources[0].host = "no<de>&\"7\"'";
  result.cases[0].variant = "a\"b\\c\nd,e:f%<g>\xFF";
  result.cases[0].verdict = Verdict::missing;
  result.cases[0].reasons = {
      {.kind = Reason::Kind::no_time,
       .words = "skipped: <x> & ]]> \"y\", 100 %\r\n\x01\x1B[31mred \xC3\xA4 \xED\xA0\x80"}};
  return result;
}

}  // namespace linkgain::test
