#include "linkgain/record/run_evidence.hpp"

#include <gtest/gtest.h>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/record/record_members.hpp"
#include "support/full_record.hpp"

namespace linkgain::test {
namespace {

RunEvidence full() {
  RunEvidence evidence;
  evidence.no_gpus = "no driver";
  GpuEvidence& gpu = evidence.gpus.emplace_back();
  gpu.gpu = 3;
  gpu.traffic = {.nvlink_sent = 7, .nvlink_received{}, .pcie_sent{}, .pcie_received{}};
  gpu.nvlink_reason = "half of it";
  gpu.pcie_reason = "not read";
  Health sample;
  sample.temperature_c = 45;
  sample.clock_event_reasons = 0x24;
  add_sample(gpu.health, {sample});
  gpu.used = true;
  evidence.nccl = {{"/opt/libnccl.so.2", "2.28.9+cuda13.0", true, 2}};
  evidence.processes_looked = 5;
  evidence.neighbours.looks = 4;
  evidence.neighbours.seen = {{.gpu = 3, .after_s = 1.5, .processes = {{.pid = 12}}}};
  evidence.cost_s = 0.25;
  return evidence;
}

RunEvidence read(const std::string& text) {
  return json::read<RunEvidence>(text, json::Source{"record", ""});
}

TEST(RunEvidence, IsReadAsItWasWritten) {
  EXPECT_EQ(read(json::text_of(json::write(full()))), full());
  EXPECT_EQ(read(json::text_of(json::write(RunEvidence{}))), RunEvidence{});
}

TEST(RunEvidence, OfAnOlderRecordSaysNothingOfTheGpusThatTheCommandUsed) {
  std::string text = json::text_of(json::write(full()));
  const std::string used = ",\"used\":true";
  ASSERT_NE(text.find(used), std::string::npos) << text;
  text.erase(text.find(used), used.size());
  EXPECT_FALSE(read(text).gpus.at(0).used);
}

TEST(RunEvidence, IsKeptInTheRecordThatFollowsItsSchema) {
  Record record = full_record();
  record.runs = {{.variant = "host", .round = 2, .seconds = 1.5, .evidence = full()},
                 {.variant = "p2p", .warm_up = true, .failure = "SIGSEGV"}};
  EXPECT_EQ(parse_record(to_json(record), "it").runs, record.runs);
  record.runs[0].evidence.nccl[0].processes = 0;
  EXPECT_THROW(parse_record(to_json(record), "it"), UsageError);
}

}  // namespace
}  // namespace linkgain::test
