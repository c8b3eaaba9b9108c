#include "linkgain/summary/inference_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/cases/profiles.hpp"
#include "linkgain/cases/selection.hpp"
#include "support/golden.hpp"
#include "support/sample_records.hpp"

namespace linkgain::test {
namespace {

/// Has the profile's cases: kernels of 2 us and 200 GB/s, NCCL's sums of 6 us and 330 GB/s, or of
/// 10 us and 30 GB/s through the host; back to back all start 1 us earlier.
Record inference_record() {
  Record record = two_gpus();
  for (const Case& c :
       expand(plan_of(Profile::inference, BackendKind::nccl).selections, 2, BackendKind::nccl)) {
    if (c.buffers != Buffers::plain) continue;
    const auto bytes = static_cast<double>(c.size.value);
    const double early = c.hidden == 0 ? 1e-6 : 0.0;
    const double p2p = c.kernel ? 2e-6 + bytes / 200e9 : 6e-6 + bytes / 330e9;
    const double host = p2p + 4e-6 + bytes / 33e9;
    record.cases.push_back(
        nvlink_case(c, p2p - early, host - early, 0.99 * host / p2p, 1.01 * host / p2p));
  }
  return record;
}

TEST(InferenceSection, SaysWhatAStepWaitsForAndWhereWaysCross) {
  expect_golden(to_markdown(inference_section(RunSummary(inference_record()))),
                "inference_section.md");
}

TEST(InferenceSection, IsEmptyWithoutSumsBetweenAProductAndANorm) {
  EXPECT_EQ(to_markdown(inference_section(RunSummary(h200_record()))), "");
}

TEST(InferenceSection, ShowsNoTimeOfWrongData) {
  Record record = inference_record();
  std::erase_if(record.cases, [](const CaseResult& result) { return result.definition.kernel; });
  for (CaseResult& result : record.cases) {
    result.variants[0].verification = Verification{.checked = 8, .wrong = 1, .first_wrong = {}};
  }
  EXPECT_THAT(to_markdown(inference_section(RunSummary(record))),
              testing::Not(testing::HasSubstr("faster")));
}

}  // namespace
}  // namespace linkgain::test
