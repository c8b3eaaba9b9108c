#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "linkgain/report/size_table.hpp"
#include "report/sample_records.hpp"

namespace linkgain {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace linkgain::testing;

/// NCCL and our kernel at 8 B, 64 B, 1 KiB and 4 KiB: `factor` times as fast with p2p, and 1.5
/// times without.
Record with_kernels(double factor) {
  Record record = two_gpus();
  for (const bool kernel : {false, true}) {
    for (const std::int64_t size : {8, 64, 1024, 4096}) {
      Case c = all_reduce(size);
      c.kernel = kernel;
      record.cases.push_back(
          nvlink_case(c, kernel ? 8e-6 / factor : 8e-6, kernel ? 12e-6 / 1.5 : 12e-6, 1.4, 1.6));
    }
  }
  return record;
}

TEST(KernelLines, SayWhatNcclLeavesAtSomeSizes) {
  const std::string text = size_tables(with_kernels(4.0));
  EXPECT_THAT(text,
              HasSubstr("- NCCL leaves with p2p: 4.00x at 8 B, 4.00x at 1 KiB, 4.00x at 4 KiB"));
  EXPECT_THAT(text, HasSubstr("- NCCL leaves with host: 1.50x at 8 B, "));
}

TEST(KernelLines, SayWhereNcclIsFaster) {
  EXPECT_THAT(size_tables(with_kernels(0.8)), HasSubstr("with p2p: 0.80x at 8 B"));
}

TEST(KernelLines, NeedBothTimes) {
  Record record = with_kernels(4.0);
  record.cases.erase(record.cases.begin(), record.cases.begin() + 4);
  EXPECT_THAT(size_tables(record), Not(HasSubstr("NCCL leaves")));
  record = with_kernels(4.0);
  record.cases[0].variants[0].time.reset();
  EXPECT_THAT(size_tables(record), HasSubstr("with p2p: 4.00x at 64 B, "));
}

TEST(KernelLines, SayNothingOfWrongData) {
  Record record = with_kernels(4.0);
  Verification wrong;
  wrong.checked = 2;
  wrong.wrong = 1;
  record.cases[4].variants[0].verification = wrong;
  EXPECT_THAT(size_tables(record), HasSubstr("with p2p: 4.00x at 64 B, "));
}

TEST(KernelLines, HoldACopyAgainstTheCopyEngine) {
  Record record = two_gpus();
  for (const bool kernel : {false, true}) {
    Case c = parse_case_name(kernel ? "copy_push/1MiB/np2/kernel/pair=0-1"
                                    : "copy_push/1MiB/np2/pair=0-1");
    record.cases.push_back(nvlink_case(c, kernel ? 4e-6 : 2e-6, 30e-6, 7.0, 9.0));
  }
  EXPECT_THAT(size_tables(record),
              HasSubstr("- By kernel, times as fast as by copy engine, with p2p: 0.50x at 1 MiB"));
}

}  // namespace
}  // namespace linkgain
