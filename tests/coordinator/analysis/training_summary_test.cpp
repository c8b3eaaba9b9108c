#include "linkgain/analysis/training_summary.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>

#include "linkgain/record/journal.hpp"
#include "support/golden.hpp"
#include "verdict_records.hpp"

namespace linkgain::test {
namespace {

TrainingParameters training_of(TrainingPrecision precision) {
  TrainingParameters training;
  training.precision = precision;
  return training;
}

/// Has a training by both variants and the step without communication, in two launches of two
/// blocks of ten steps, in the order in which they run. In launch l a step takes l more.
Record trained_record() {
  Record record = good_record();
  record.settings.training = TrainingPlan{};
  record.settings.precision = 1e3;  // which launches that differ so have
  record.cases = {case_of(8, Path::nvlink, Path::host_memory),
                  case_of(8, Path::unknown, Path::unknown)};
  record.cases[0].definition = parse_case_name("gpt2_step/fp32/gpt2/np2");
  record.cases[1].definition = parse_case_name("gpt2_step/fp32/gpt2/np2/none");
  const double steps[2][2] = {{2.0, 3.0}, {1.5, 1.5}};
  for (int launch = 0; launch < 2; ++launch) {
    for (int c = 0; c < 2; ++c) {
      for (int variant = 0; variant < 2 - c; ++variant) {
        for (int round = 0; round < 2; ++round) {
          Sample sample;
          sample.variant = variant;
          sample.launch = launch;
          sample.round = round;
          sample.operations = 10;
          sample.times = {Seconds{steps[c][variant] + launch}};
          sample.loss = 10.0 - round;
          record.cases[static_cast<std::size_t>(c)].samples.push_back(sample);
        }
      }
    }
  }
  return record;
}

Sample& sample_of(Record& record, int variant, int round) {
  for (Sample& sample : record.cases[0].samples) {
    if (sample.variant == variant && sample.round == round) return sample;
  }
  throw std::out_of_range("no such sample");
}

TEST(ExposedCommunication, IsOfMediansOfTheSameLaunch) {
  Record record = trained_record();
  EXPECT_DOUBLE_EQ(exposed_communication(record, record.cases[0], 0)->value, 0.5);
  EXPECT_DOUBLE_EQ(exposed_communication(record, record.cases[0], 1)->value, 1.5);
  std::erase_if(record.cases[1].samples, [](const Sample& each) { return each.launch == 0; });
  EXPECT_DOUBLE_EQ(exposed_communication(record, record.cases[0], 0)->value, 0.5)
      << "launch 0 has nothing to be compared with, and launch 1's would be 1 s off";
  std::erase_if(record.cases[0].samples, [](const Sample& each) { return each.launch == 1; });
  EXPECT_FALSE(exposed_communication(record, record.cases[0], 0)) << "no launch has both";
}

TEST(LossBound, GrowsWhereFewerTokensAreAveraged) {
  EXPECT_DOUBLE_EQ(loss_bound(training_of(TrainingPrecision::fp32), 2), 1e-5);
  EXPECT_DOUBLE_EQ(loss_bound(training_of(TrainingPrecision::bf16), 8), 1e-4);
  TrainingParameters small = training_of(TrainingPrecision::bf16);
  small.samples = 1;
  small.length = 1024;
  EXPECT_DOUBLE_EQ(loss_bound(small, 2), 2e-4) << "a quarter of the tokens";
}

/// Tells rounding from learning without communication.
TEST(LossBound, LiesBetweenRoundingAndNoCommunicationAsMeasured) {
  const Record record =
      read_record(std::filesystem::path(RESULTS_FOLDER) / "2xH200-training-strategies");
  int held = 0;
  for (const TrainingPrecision precision :
       {TrainingPrecision::fp32, TrainingPrecision::tf32, TrainingPrecision::bf16}) {
    std::optional<CaseResult> first;
    for (const CaseResult& result : record.cases) {
      const Case& c = result.definition;
      if (!c.training || c.training->precision != precision) continue;
      if (!first) {
        first = result;
        continue;
      }
      // The strategy's losses in the place of the second variant's.
      std::erase_if(first->samples, [](const Sample& each) { return each.variant != 0; });
      for (const Sample& sample : result.samples) {
        if (sample.variant != 0) continue;
        first->samples.push_back(sample);
        first->samples.back().variant = 1;
      }
      EXPECT_EQ(have_losses_parted(*first, 1), !uses_link(c)) << case_name(c);
      ++held;
    }
  }
  EXPECT_EQ(held, 9);
}

TEST(Judge, WarnsOfTrainings) {
  std::string text;
  const auto add = [&](const std::string& situation, const auto& change) {
    text += judged(situation, trained_record(), change);
  };
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  add("losses are the same", [](Record&) {});
  add("losses differ by less than rounding explains",
      [](Record& record) { *sample_of(record, 1, 1).loss *= 1.0 + 0.9e-5; });
  add("losses differ by more", [](Record& record) { *sample_of(record, 1, 1).loss *= 1.0 + 1e-3; });
  add("host's loss is no number", [](Record& record) { sample_of(record, 1, 0).loss = kInfinity; });
  add("p2p's loss is no number", [](Record& record) { sample_of(record, 0, 0).loss = kInfinity; });
  add("not converged when all steps were run", [](Record& record) {
    record.settings.precision.reset();
    record.cases[0].stopped = StopReason::out_of_rounds;
  });
  add("not converged when time was over", [](Record& record) {
    record.settings.precision.reset();
    record.cases[0].stopped = StopReason::out_of_time;
    record.settings.budget = Seconds{60};
    record.settings.launches = 2;
  });
  expect_golden(text, "warnings_of_trainings.txt");
}

TEST(Judge, LeavesLossesAloneAfterTheStepsThatWereMeasured) {
  Record record = trained_record();
  Sample& late = sample_of(record, 1, 1);
  for (Sample& sample : record.cases[0].samples) {
    if (sample.round == 1) sample.round = kJudgedSteps / kStepsPerBlock;
  }
  *late.loss *= 1.1;
  EXPECT_FALSE(have_losses_parted(record.cases[0], 1));
  late.round = 1'000'000'000;  // the largest that a record may have
  EXPECT_FALSE(have_losses_parted(record.cases[0], 1));
  late.round = kJudgedSteps / kStepsPerBlock;
  for (Sample& sample : record.cases[0].samples) {
    if (sample.round > 0) --sample.round;
  }
  EXPECT_TRUE(have_losses_parted(record.cases[0], 1));
}

TEST(DescribeWrong, CountsElementsOrATrainingsRanks) {
  const Case reduce = parse_case_name("all_reduce/float32/sum/1KiB/np2");
  const Case training = parse_case_name("gpt2_step/fp32/gpt2/np4");
  const std::string text =
      describe_wrong(reduce, {100, 3, 2.0, 0.0, "rank 1, element 17: 3 instead of 5"}) + "\n" +
      describe_wrong(reduce, {100, 3, 2.0, 0.0, ""}) + "\n" +
      describe_wrong(training, {4, 1, 0.0, 0.0, "rank 2, the loss is nan"}) + "\n" +
      count_of_wrong(training, {4, 3, 0.0, 0.0, "rank 1, x"}) + "\n";
  expect_golden(text, "wrong_data.txt");
}

}  // namespace
}  // namespace linkgain::test
