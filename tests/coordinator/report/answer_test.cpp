#include "linkgain/report/answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/sample_records.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::IsNull;

CaseResult sent(std::int64_t bytes, double own, double other, double low, double high) {
  Case definition = all_reduce(bytes);
  definition.operation = OperationKind::send_recv;
  definition.pair = Pair{0, 1};
  return nvlink_case(definition, own, other, low, high);
}

/// An all-reduce of 256 MiB that hardly differs, and what is measured beside it.
Record beside(const CaseResult& other) {
  Record record = two_gpus();
  record.cases = {nvlink_case(all_reduce(1 << 28), 1.000e-3, 0.992e-3, 0.991, 0.993), other};
  return record;
}

std::string spoken(const Record& record) {
  const RunSummary summary(record);
  return answer_sentence(summary, answer_of(summary));
}

TEST(Answer, SpeaksOfWhatChangedMostWhateverItsSize) {
  EXPECT_THAT(spoken(beside(sent(1 << 16, 10.0e-6, 16.9e-6, 1.6, 1.8))),
              HasSubstr("send-recv of 64 KiB"));
  EXPECT_THAT(spoken(beside(sent(1 << 16, 16.9e-6, 10.0e-6, 0.55, 0.65))),
              HasSubstr("send-recv of 64 KiB"));
}

TEST(Answer, SpeaksOfTheFirstRowWhereNothingIsShownToHaveChangedMore) {
  for (const CaseResult& other :
       {sent(1 << 16, 10.0e-6, 16.9e-6, 0.5, 5.0), sent(1 << 16, 10.0e-6, 10.05e-6, 1.001, 1.009),
        sent(1 << 16, 10.0e-6, 10.1e-6, 1.005, 1.015)}) {
    EXPECT_THAT(spoken(beside(other)), HasSubstr("all-reduce of 256 MiB"));
  }
}

TEST(Answer, SpeaksOfEachVariantBesideTheFirst) {
  const Record record = three_variants_record();
  const RunSummary summary(record);
  const Answer answer = answer_of(summary);
  ASSERT_NE(answer.comparison, nullptr);
  EXPECT_EQ(answer.comparison->other->variant, "net") << "34.4x, host is 4.3x and 11.9x";
  EXPECT_EQ(answer.main->definition().size.value, 1 << 20);
}

TEST(Answer, ShowsWrongDataBeforeAnyChange) {
  const Record record = wrong_data_record();
  const RunSummary summary(record);
  EXPECT_EQ(answer_of(summary).main, answer_of(summary).rows.front());
}

TEST(Answer, IsOfNothingWhereNothingWasMeasured) {
  const Record record;
  EXPECT_THAT(answer_of(RunSummary(record)).main, IsNull());
}

}  // namespace
}  // namespace linkgain::test
