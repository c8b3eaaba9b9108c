#include <gtest/gtest.h>

#include <utility>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/telemetry/program_traffic.hpp"
#include "verdict_records.hpp"

namespace linkgain::test {
namespace {

/// Has two GPUs with NVLinks of 100 GB/s, and an all-reduce of 64 MiB whose counters say what
/// NVLink carried.
Record counted_run() {
  Record record = counted_record(1.0, 0.0);
  GpuInfo gpu;
  gpu.nvlink_links = 4;
  gpu.nvlink_links_active = 4;
  gpu.nvlink_rate_gb_per_s = 25.0;
  gpu.nvlink_total_gb_per_s = 100.0;
  record.machine.ranks = {{0, "vm", 1, "", gpu, {}}, {1, "vm", 2, "", gpu, {}}};
  CaseResult& counted = record.cases.back();
  for (int variant = 0; variant < 2; ++variant) {
    Sample sample;
    sample.sequence = variant;
    sample.variant = variant;
    sample.operations = 1;
    sample.times = {Seconds{1e-3}, Seconds{1e-3}};
    counted.samples.push_back(sample);
  }
  return record;
}

TEST(DerivedShares, AreNotTakenFromWhatARecordClaims) {
  Record honest = counted_run();
  summarise(honest);
  const VariantResult& found = honest.cases.back().variants[0];
  ASSERT_TRUE(found.fraction_of_limit);
  EXPECT_EQ(found.path, Path::nvlink);
  EXPECT_GT(*found.fraction_of_limit, 0.0);

  Record claiming = counted_run();
  VariantResult& claimed = claiming.cases.back().variants[0];
  claimed.path = Path::host_memory;
  claimed.fraction_of_limit = 0.99;
  claimed.limit = LimitKind::copy_alone;
  summarise(claiming);
  EXPECT_EQ(claimed.path, Path::nvlink);
  EXPECT_EQ(claimed.limit, found.limit);
  EXPECT_EQ(claimed.fraction_of_limit, found.fraction_of_limit);
}

TEST(DerivedShares, AreAbsentWhereNoLimitIsKnown) {
  Record record = counted_run();
  for (RankInfo& rank : record.machine.ranks) rank.gpu.reset();
  record.cases.back().variants[0].fraction_of_limit = 0.99;
  summarise(record);
  EXPECT_FALSE(record.cases.back().variants[0].fraction_of_limit);
}

/// Trusts our kernels and copies, which know whether they reach other GPUs' memory.
TEST(DerivedPaths, OfOurOwnWorkAreThoseOfTheLinks) {
  for (const auto& [through_host, path] :
       {std::pair(true, Path::host_memory), std::pair(false, Path::nvlink)}) {
    Record record = counted_run();
    record.cases.back().definition.kernel = true;
    VariantResult& claimed = record.cases.back().variants[0];
    claimed.execution.through_host = through_host;
    claimed.evidence.reset();
    claimed.path = Path::network;
    summarise(record);
    EXPECT_EQ(claimed.path, path);
  }
}

TEST(DerivedPaths, OfProgramsAreThoseOfTheCountersOfTheirRuns) {
  Record record = counted_run();
  record.settings.program.emplace();
  record.cases.erase(record.cases.begin(), record.cases.end() - 1);
  CaseResult& result = record.cases[0];
  result.definition = parse_case_name("exec/time");
  const auto expect_paths = [&](Path first, Path other) {
    for (VariantResult& variant : result.variants) {
      variant.evidence.reset();
      variant.path = Path::pcie_p2p;
    }
    summarise(record);
    EXPECT_EQ(result.variants[0].path, first);
    EXPECT_EQ(result.variants[1].path, other);
  };
  expect_paths(Path::unknown, Path::unknown);
  for (const char* variant : {"p2p", "host"}) {
    ProgramRun& run = record.runs.emplace_back();
    run.variant = variant;
    run.evidence.gpus.emplace_back().traffic.nvlink_sent =
        run.variant == "p2p" ? 2 * kNvlinkFloor : kNvlinkFloor;
  }
  expect_paths(Path::nvlink, Path::unknown);
  record.runs[0].warm_up = true;
  expect_paths(Path::unknown, Path::unknown);
}

}  // namespace
}  // namespace linkgain::test
