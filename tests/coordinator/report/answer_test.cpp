#include "linkgain/report/answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/sample_records.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsNull;
using testing::SizeIs;

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

TEST(Answer, ShowsEachVariantOrNamesItAsLeftOut) {
  const Record record = three_variants_record();
  const RunSummary summary(record);
  const Answer all = answer_of(summary);
  EXPECT_THAT(all.variants, ElementsAre(0, 1, 2));
  EXPECT_THAT(all.left_out, ElementsAre("variant host")) << "of the row of 1 GiB";
  const Answer few = answer_of(summary, &CaseSummary::is_compared, 2);
  EXPECT_THAT(few.variants, ElementsAre(0, 2)) << "what is spoken of is always shown";
  EXPECT_THAT(few.left_out, ElementsAre("variant host"));
}

TEST(Answer, HasARowForEachKernelDirectionAndTrainingOrNamesIt) {
  Record record = two_gpus();
  const CaseResult plain = nvlink_case(all_reduce(1 << 28), 1.0e-3, 9.0e-3, 8.9, 9.1);
  CaseResult kernel = plain;
  kernel.definition.kernel = true;
  CaseResult both = sent(1 << 28, 1.0e-3, 12.0e-3, 11.9, 12.1);
  both.definition.pair = Pair{0, 1, true};
  record.cases = {plain, kernel, sent(1 << 28, 1.0e-3, 9.0e-3, 8.9, 9.1), both};
  for (const TrainingPrecision precision :
       {TrainingPrecision::fp32, TrainingPrecision::tf32, TrainingPrecision::bf16}) {
    CaseResult training = plain;
    training.definition.operation = OperationKind::gpt2_step;
    training.definition.training.emplace().precision = precision;
    record.cases.push_back(training);
  }
  const RunSummary summary(record);
  const auto labels = [&](std::size_t most) {
    const Answer answer = answer_of(summary, &CaseSummary::is_compared, most);
    std::vector<std::string> rows;
    for (const CaseSummary* each : answer.rows) rows.push_back(answer_label(each->definition()));
    return std::pair(rows, answer.left_out);
  };
  EXPECT_THAT(labels(7).first, SizeIs(7));
  EXPECT_THAT(labels(7).second, IsEmpty());
  EXPECT_THAT(labels(4).first, ElementsAre("all_reduce 256 MiB", "send_recv 0->1 256 MiB",
                                           "GPT-2 step fp32", "GPT-2 step tf32"));
  EXPECT_THAT(labels(4).second,
              ElementsAre("all_reduce kernel", "send_recv 0<->1", "GPT-2 step bf16"));
}

TEST(Answer, SaysInALineWhatIsLeftOut) {
  Answer answer;
  EXPECT_EQ(left_out_text(answer, 80), "");
  answer.left_out = {"all_reduce kernel", "variant net", "GPT-2 step bf16"};
  EXPECT_THAT(left_out_text(answer, 80), EndsWith("net, GPT-2 step bf16."));
  EXPECT_THAT(left_out_text(answer, 70), EndsWith("net and 1 more."));
  EXPECT_THAT(left_out_text(answer, 10), EndsWith("all_reduce kernel and 2 more."));
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
