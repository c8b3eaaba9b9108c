#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "linkgain/report/size_table.hpp"
#include "support/sample_records.hpp"

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

TEST(KernelTable, SaysWhatNcclLeavesAtEverySize) {
  EXPECT_THAT(size_tables(with_kernels(4.0)),
              HasSubstr("NCCL leaves (its time over the kernel's):\n\n"
                        "| Size  | p2p   | host  |\n"
                        "| ----: | ----: | ----: |\n"
                        "|   8 B | 4.00x | 1.50x |\n"
                        "|  64 B | 4.00x | 1.50x |\n"
                        "| 1 KiB | 4.00x | 1.50x |\n"
                        "| 4 KiB | 4.00x | 1.50x |\n"));
}

TEST(KernelTable, HasIntervalsOfSamples) {
  Record record = with_kernels(4.0);
  for (const double time : {0.99e-6, 1.00e-6, 1.01e-6, 1.00e-6, 0.99e-6, 1.01e-6, 1.00e-6}) {
    record.samples.push_back({.case_index = 0, .variant = 0, .seconds = {8 * time}, .health = {}});
    record.samples.push_back({.case_index = 4, .variant = 0, .seconds = {2e-6}, .health = {}});
  }
  EXPECT_THAT(size_tables(record), HasSubstr("| Size  | p2p   | 95 % CI    | host  |\n"
                                             "| ----: | ----: | ---------: | ----: |\n"
                                             "|   8 B | 4.00x | 3.96–4.04x | 1.50x |\n"
                                             "|  64 B | 4.00x |            | 1.50x |\n"));
}

TEST(KernelTable, SaysWhereNcclIsFaster) {
  EXPECT_THAT(size_tables(with_kernels(0.8)), HasSubstr("|   8 B | 0.80x | 1.50x |"));
}

TEST(KernelTable, NeedsBothTimes) {
  Record record = with_kernels(4.0);
  record.cases.erase(record.cases.begin(), record.cases.begin() + 4);
  EXPECT_THAT(size_tables(record), Not(HasSubstr("NCCL leaves")));
  record = with_kernels(4.0);
  record.cases[0].variants[0].time.reset();
  EXPECT_THAT(size_tables(record), HasSubstr("|   8 B |       | 1.50x |"));
}

TEST(KernelTable, SaysNothingOfWrongData) {
  Record record = with_kernels(4.0);
  Verification wrong;
  wrong.checked = 2;
  wrong.wrong = 1;
  record.cases[4].variants[0].verification = wrong;
  EXPECT_THAT(size_tables(record), HasSubstr("|   8 B |       | 1.50x |"));
}

TEST(KernelTable, HoldsACopyAgainstTheCopyEngine) {
  Record record = two_gpus();
  for (const bool kernel : {false, true}) {
    Case c = parse_case_name(kernel ? "copy_push/1MiB/np2/kernel/pair=0-1"
                                    : "copy_push/1MiB/np2/pair=0-1");
    record.cases.push_back(nvlink_case(c, kernel ? 4e-6 : 2e-6, 30e-6, 7.0, 9.0));
  }
  EXPECT_THAT(size_tables(record), HasSubstr("By kernel, times as fast as by copy engine:\n\n"
                                             "| Size  | p2p   | host  |\n"
                                             "| ----: | ----: | ----: |\n"
                                             "| 1 MiB | 0.50x | 1.00x |\n"));
}

}  // namespace
}  // namespace linkgain
