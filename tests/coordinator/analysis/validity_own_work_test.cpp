#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/golden.hpp"
#include "verdict_records.hpp"

/// What verdicts say of our own work, of which NCCL's logs know nothing.
namespace linkgain::test {
namespace {

constexpr const char* kCopy = "copy_push/64MiB/np2/pair=0-1";
constexpr const char* kKernel = "all_reduce/float32/sum/64MiB/np2/kernel";

CaseResult own_case(const char* name, Path first, Path other) {
  CaseResult result = case_of(64 << 20, first, other);
  result.definition = parse_case_name(name);
  return result;
}

/// Replaces the cases of good_record() by one of our own work.
Record own_record(const char* name, Path first, Path other) {
  Record record = good_record();
  record.cases = {own_case(name, first, other)};
  return record;
}

TrafficEvidence uncounted() {
  TrafficEvidence evidence;
  evidence.reason = "the driver lacks counters";
  return evidence;
}

void take_evidence(Record& record) {
  for (CaseResult& result : record.cases) {
    for (VariantResult& variant : result.variants) variant.evidence = uncounted();
  }
}

/// Advises on the driver or on NCCL's log, depending on whose work it is.
TEST(OwnWork, IsVouchedForByTheDriver) {
  std::string text;
  const auto add = [&](const std::string& situation, const Record& record, const auto& change) {
    text += judged(situation, record, change);
  };
  for (const char* name : {kCopy, kKernel}) {
    add("not counted", own_record(name, Path::nvlink, Path::host_memory), take_evidence);
  }
  add("NCCL's work, not counted", good_record(), take_evidence);
  add("beside NCCL's work, neither counted", good_record(), [](Record& record) {
    record.cases.push_back(own_case(kCopy, Path::nvlink, Path::host_memory));
    take_evidence(record);
  });
  add("counted, but not judged", own_record(kKernel, Path::nvlink, Path::host_memory),
      [](Record& record) {
        TrafficEvidence evidence;
        evidence.operations = 10;
        evidence.nvlink_sent = 1 << 30;
        evidence.reason = "protocol LL16, not SIMPLE";
        record.cases[0].variants.pop_back();
        record.cases[0].ratios.clear();
        record.cases[0].variants[0].evidence = evidence;
      });
  add("p2p through the host, with NCCL's topology file in force",
      own_record(kCopy, Path::host_memory, Path::host_memory), [](Record& record) {
        record.settings.environment_in_force[0] = {{"NCCL_TOPO_FILE", "mine.xml"}};
      });
  add("host over NVLink", own_record(kCopy, Path::nvlink, Path::nvlink), [](Record&) {});
  add("host with bytes over NVLink", own_record(kCopy, Path::nvlink, Path::host_memory),
      [](Record& record) {
        record.cases[0].variants[1].evidence = traffic_evidence(0.5);
        record.settings.environment_in_force[1].erase("NCCL_NVLS_ENABLE");
      });
  add("beside NCCL's work, p2p of both through the host", good_record(), [](Record& record) {
    set_path(record, 0, Path::host_memory);
    record.cases.push_back(own_case(kCopy, Path::host_memory, Path::host_memory));
  });
  expect_golden(text, "warnings_of_own_work.txt");
}

}  // namespace
}  // namespace linkgain::test
