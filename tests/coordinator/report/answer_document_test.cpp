#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "linkgain/report/answer.hpp"
#include "linkgain/report/report.hpp"
#include "support/golden.hpp"
#include "support/pair_records.hpp"
#include "support/sample_records.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Compares a ring with a tree, both over NVLink.
Record algorithms_record() {
  Record record = one_case(3.0e-3, 3.6e-3, 1.19, 1.21);
  record.settings.variants = {{"ring", {{"NCCL_ALGO", "Ring"}}}, {"tree", {{"NCCL_ALGO", "Tree"}}}};
  record.settings.environment_in_force.clear();
  record.cases[0].variants[0].variant = "ring";
  record.cases[0].variants[1].variant = "tree";
  record.cases[0].variants[1].path = Path::nvlink;
  record.cases[0].ratios[0].variant = "tree";
  return record;
}

/// Has two variants that should differ but take the same path.
Record like_variants_record() {
  Record record = one_case(3.0e-3, 3.0e-3, 0.99, 1.01);
  record.settings.variants = {{"p2p", {}}, {"p2p-sys", {{"NCCL_P2P_LEVEL", "SYS"}}}};
  record.settings.environment_in_force.clear();
  record.cases[0].variants[1].variant = "p2p-sys";
  record.cases[0].variants[1].path = Path::nvlink;
  record.cases[0].ratios[0].variant = "p2p-sys";
  return record;
}

/// Gives what a report begins with: the answer and the trainings.
std::string top_of(const Record& record) {
  const RunSummary summary(record);
  Document document = answer_document(summary);
  document.add(training_section(summary));
  return to_markdown(document);
}

TEST(AnswerDocument, SaysWhatWasFound) {
  Situations answers;
  const auto add = [&](const std::string& situation, const Record& record) {
    answers.add(situation, top_of(record));
  };
  const Record usual = one_case(3.27e-3, 39.0e-3, 11.83, 12.02);
  add("faster", usual);
  add("three variants", three_variants_record());
  add("wrong data", wrong_data_record());
  add("slower", one_case(10.0e-3, 9.3e-3, 0.92, 0.94));
  add("no difference", one_case(10.0e-3, 10.0e-3, 0.99, 1.01));
  add("no bandwidth", load_latency_record());
  add("the same path", phb_record());
  add("the same path, of algorithms", algorithms_record());
  add("the same path, of variants that should differ", like_variants_record());
  Record record = usual;
  record.cases[0].variants[0].path = Path::unknown;
  record.settings.environment_in_force[0]["NCCL_P2P_DISABLE"] = "1";
  add("P2P forbidden from outside", record);
  record = usual;
  record.cases[0].ratios[0].ratio = {.value = 11.9, .interval = {}, .replicates = 1};
  add("one launch", record);
  record.cases[0].ratios[0].ratio = {.value = 0.8, .interval = {}, .replicates = 1};
  add("one launch, slower", record);
  record = one_case(3.0e-3, 36.0e-3, 11.4, 12.6);
  record.cases[0].converged = false;
  record.cases[0].stopped = StopReason::out_of_time;
  add("an interval that is too wide", record);
  record = one_case(3.0e-3, 36.0e-3, 11.95, 12.05);
  record.cases[0].converged = false;
  add("another variant's interval is too wide", record);
  record = h200_record();
  record.cases[2].variants[1] = skipped("host", "out of memory");
  record.cases[2].ratios.clear();
  add("the largest size was measured with one variant only", record);
  record = usual;
  record.cases[0].ratios.clear();
  add("no round in common", record);
  record.cases[0].variants[1] = skipped("host", "out of memory");
  add("one variant only", record);
  record = usual;
  record.status = RunStatus::interrupted;
  add("interrupted", record);
  Record without_samples = h200_record();
  for (CaseResult& result : without_samples.cases) summarise(result);
  add("read without its samples", without_samples);
  record.cases.clear();
  add("interrupted before the first case", record);
  Case definition = all_reduce(1 << 20);
  definition.type = DataType::bfloat16;
  definition.reduction = Reduction::max;
  definition.in_place = true;
  definition.launch = LaunchMode::graph;
  record = two_gpus();
  record.cases = {nvlink_case(definition, 15e-6, 60e-6, 3.99, 4.01)};
  add("parameters that are not the default", record);
  expect_golden(answers.text(), "answer_situations.md");
}

TEST(AnswerDocument, SaysHowWideAnIntervalIs) {
  Situations answers;
  const auto add = [&](const std::string& situation, const Record& record) {
    answers.add(situation, top_of(record));
  };
  const auto out_of_time = [](double host, double low, double high) {
    Record wide = one_case(10.0e-3, host, low, high);
    Case& definition = wide.cases[0].definition;
    definition.operation = OperationKind::gpt2_step;
    definition.training.emplace();
    wide.cases[0].converged = false;
    wide.cases[0].stopped = StopReason::out_of_time;
    return wide;
  };
  add("one of a factor to either side", out_of_time(39.6e-3, 1.37, 11.47));
  add("one that includes 1 and what would matter", out_of_time(10.7e-3, 0.71, 1.62));
  add("one that tells nothing", out_of_time(10.7e-3, 0.001, 5000.0));
  expect_golden(answers.text(), "answer_intervals.md");
}

TEST(AnswerDocument, SaysOfNoRatioBothThatItIsInconclusiveAndThatThereIsNoDifference) {
  for (const double half_width : {0.01, 0.05, 0.09, 0.11, 0.5, 3.0}) {
    const Record record = one_case(10.0e-3, 10.0e-3, std::exp(-half_width), std::exp(half_width));
    const std::string text = to_markdown(run_report(RunSummary(record)));
    EXPECT_EQ(text.find("Inconclusive: ") != std::string::npos,
              text.find("no significant difference") == std::string::npos)
        << half_width;
  }
}

TEST(AnswerDocument, SaysWhatWasFoundOfPairs) {
  Situations answers;
  const auto add = [&](const std::string& situation, const Record& record) {
    answers.add(situation, top_of(record));
  };
  Record record = two_gpus_pairs_record();
  add("two pairs 0.4 % apart", record);
  slow_down(record.cases[0].variants[0], record.cases[0].definition, 1.008);
  add("the same, the first now the slower one", record);
  record.settings.precision = 0.002;
  add("the same with a finer precision", record);
  record = two_gpus_pairs_record();
  slow_down(record.cases[1].variants[0], record.cases[1].definition, 1.02);
  add("two pairs 2 % apart", record);
  record = four_gpus();
  add_pairs(record, 1 << 20, false);
  add_pairs(record, kLargePair, false);
  add("four GPUs, two sizes: the weakest pair of the largest", record);
  add("wrong data of one pair", troubled_pairs_record());
  record = four_gpus();
  add_pairs(record, kLargePair, false);
  for (CaseResult& result : record.cases) {
    result.variants[0].verification = checked(100, 1, {});
  }
  add("wrong data of every pair", record);
  record = four_gpus();
  add_pairs(record, kLargePair, true);
  for (CaseResult& result : record.cases) {
    result.variants = {skipped("p2p", "no time left"), skipped("host", "no time left")};
    result.ratios.clear();
  }
  add("no pair measured", record);
  expect_golden(answers.text(), "answer_pairs.md");
}

std::string guides_table(const Record& record) {
  const RunSummary summary(record);
  return to_markdown(card_table(answer_of(summary)));
}

TEST(AnswerDocument, TheColumnSaysNvlinkOnlyWhereItIsKnown) {
  for (const Path path : {Path::unknown, Path::pcie_p2p, Path::mixed}) {
    Record record = one_case(3.27e-3, 39.0e-3, 11.83, 12.02);
    record.cases[0].variants[0].path = path;
    EXPECT_THAT(guides_table(record), StartsWith("| P2P ")) << name_of(path);
    EXPECT_THAT(top_of(record), StartsWith("**P2P makes all-reduce "));
  }
}

TEST(AnswerDocument, TheColumnDoesNotSayNvlinkWhereTheOtherVariantUsedIt) {
  for (const Path path : {Path::nvlink, Path::mixed}) {
    Record record = one_case(3.27e-3, 39.0e-3, 11.83, 12.02);
    record.cases[0].variants[1].path = path;
    EXPECT_THAT(guides_table(record), StartsWith("| P2P ")) << name_of(path);
  }
}

TEST(AnswerDocument, OfVeryManyCurvesShowsTheFirstOfEachOperationAndWrongData) {
  Record record = two_gpus();
  for (const DataType type : kValues<DataType>) {
    for (const OperationKind operation : {OperationKind::all_reduce, OperationKind::all_gather}) {
      Case c = all_reduce(1 << 20);
      c.operation = operation;
      c.type = type;
      record.cases.push_back(nvlink_case(c, 2e-5, 6e-5, 2.9, 3.1));
    }
  }
  std::string text = top_of(record);
  EXPECT_THAT(text, HasSubstr("| all_reduce 1 MiB |"));
  EXPECT_THAT(text, HasSubstr("| all_gather 1 MiB |"));
  EXPECT_THAT(text, Not(HasSubstr("float16")));
  EXPECT_THAT(text, HasSubstr("22 curves more"));
  Verification& verification = record.cases.back().variants[0].verification.emplace();
  verification.checked = 8;
  verification.wrong = 1;
  text = top_of(record);
  EXPECT_THAT(text, HasSubstr("**WRONG DATA**: all_gather"));
  EXPECT_THAT(text, HasSubstr("21 curves more"));
}

}  // namespace
}  // namespace linkgain::test
