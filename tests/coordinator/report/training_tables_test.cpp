#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/formats/csv.hpp"
#include "linkgain/report/report.hpp"
#include "sentences.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"
#include "training_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(TrainingTables, AreThePagesOwn) {
  const std::string text = to_markdown(training_section(RunSummary(page_record())));
  EXPECT_THAT(text, HasSubstr("| NVLink | Time in fp32 |\n"
                              "| ------ | -----------: |\n"
                              "| Y      |      101.9 s |\n"
                              "| N      |      131.4 s |\n"));
}

TEST(TrainingTables, HaveATokenFilesNameThatActsOnNothing) {
  Record record = page_record();
  record.settings.training->tokens = "<img src=x> [a](b)";
  EXPECT_THAT(to_markdown(training_section(RunSummary(record))),
              HasSubstr(", \\<img src=x> [a]\\(b). Time is"));
}

TEST(TrainingTables, StandBeforeAllOthers) {
  Record record = page_record();
  record.cases.push_back(nvlink_case(all_reduce(1 << 30), 3.27e-3, 39.0e-3, 11.83, 12.02));
  const std::string text = to_markdown(run_report(RunSummary(record)));
  EXPECT_LT(text.find("Y      |      101.9 s"), text.find("## By size"));
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), Not(HasSubstr("gpt2_step")));
  EXPECT_THAT(csv(RunSummary(record)), HasSubstr("gpt2_step/fp32/gpt2/np2,gpt2_step,"));
}

/// Changes the second variant's losses of one round in all trainings.
void change_losses(Record& record, double by) {
  for (CaseResult& result : record.cases) {
    for (Sample& sample : result.samples) {
      if (sample.variant == 1 && sample.round == 3) *sample.loss *= 1.0 + by;
    }
  }
}

TEST(TrainingTables, MarkLossesThatPartFurtherThanRoundingExplains) {
  Record record = page_record();
  const int zero2 = add_training(record, "gpt2_step/fp32/gpt2/np2/zero2", record.cases[0].variants);
  add_blocks(record, zero2, 0, 0.51, 10.98);
  add_blocks(record, zero2, 1, 0.66, 10.98);
  finish(record);
  EXPECT_THAT(to_markdown(training_section(RunSummary(record))), Not(HasSubstr("`!`")));
  change_losses(record, 2e-5);
  finish(record);
  const std::string text = to_markdown(training_section(RunSummary(record)));
  EXPECT_THAT(text, HasSubstr("| 2.0e-05 ! |"));
  EXPECT_THAT(text, HasSubstr("- `!`"));
}

TEST(TrainingTables, HaveOneForStrategiesAndPrecisions) {
  Record record = page_record();
  EXPECT_THAT(to_markdown(training_section(RunSummary(record))), Not(HasSubstr("Strategy")));
  const int zero3 =
      add_training(record, "gpt2_step/bf16/gpt2/np2/zero3",
                   {on_path("p2p", Path::nvlink), on_path("host", Path::host_memory)});
  add_blocks(record, zero3, 0, 0.02, 10.98);
  add_blocks(record, zero3, 1, 0.10, 10.98);
  finish(record);
  const std::string text = to_markdown(training_section(RunSummary(record)));
  EXPECT_THAT(text, HasSubstr("| fp32 ddp   | 101.9 s | 9.50 ms (9.49 to 9.51) | 131.4 s | "));
  EXPECT_THAT(text, HasSubstr("| bf16 zero3 |  4.00 s |                        | 20.00 s |"));
  EXPECT_THAT(text, HasSubstr("80 %"));
}

/// Prefers a training that gains more to the guide's, which comes first.
TEST(TrainingTables, ShowTheTrainingOfTheAnswerAndNameIt) {
  Record record = page_record();
  const int bf16 = add_training(record, "gpt2_step/bf16/gpt2/np2",
                                {on_path("p2p", Path::nvlink), on_path("host", Path::host_memory)});
  add_blocks(record, bf16, 0, 0.02, 10.98);
  add_blocks(record, bf16, 1, 0.10, 10.98);
  finish(record);
  const std::string text = to_markdown(training_section(RunSummary(record)));
  EXPECT_THAT(text, HasSubstr("| NVLink | Time in bf16 |\n"));
  EXPECT_THAT(text, HasSubstr(" training in bf16 takes 80 %"));
}

/// Has the guide's training and another one by the same variants.
Record two_trainings() {
  Record record = page_record();
  const int zero2 = add_training(record, "gpt2_step/fp32/gpt2/np2/zero2", record.cases[0].variants);
  add_blocks(record, zero2, 0, 0.51, 9.98);
  add_blocks(record, zero2, 1, 0.66, 9.98);
  finish(record);
  return record;
}

/// Has two trainings by three variants.
Record three_variants() {
  Record record = page_record();
  record.settings.variants.push_back({"net", {}});
  for (CaseResult& result : record.cases) result.variants.push_back(on_path("net", Path::network));
  add_blocks(record, 0, 2, 0.9, 10.98);
  const int zero2 = add_training(record, "gpt2_step/fp32/gpt2/np2/zero2", record.cases[0].variants);
  for (int variant = 0; variant < 3; ++variant) add_blocks(record, zero2, variant, 0.6, 10.98);
  finish(record);
  return record;
}

/// Finds the last line of the table over two trainings that begins with this training.
std::string row_of(const std::string& text, const std::string& training) {
  const std::size_t begin = text.find("| " + training);
  return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

TEST(TrainingTables, GiveEachItsLossAndHowFarVariantsAgree) {
  Record record = two_trainings();
  for (Sample& sample : record.cases[2].samples) {
    if (sample.variant == 1 && sample.round == 0) *sample.loss *= 1 + 3e-6;
  }
  finish(record);
  const std::string text = to_markdown(training_section(RunSummary(record)));
  EXPECT_THAT(text, HasSubstr("| Loss   | off by  |\n"));
  EXPECT_THAT(row_of(text, "fp32 ddp"), EndsWith("| 10.580 |       0 |"));
  EXPECT_THAT(row_of(text, "fp32 zero2"), EndsWith("|  9.580 | 3.0e-06 |"));
}

// Marks strategies that share work: without communication each rank computes all of it.
TEST(TrainingTables, MarkWhatIsExposedOfShardedStrategies) {
  Record record = two_trainings();
  const std::string text = to_markdown(training_section(RunSummary(record)));
  EXPECT_THAT(row_of(text, "fp32 ddp"), Not(HasSubstr("†")));
  EXPECT_THAT(row_of(text, "fp32 zero2"), StartsWith("| fp32 zero2 † | "));
  EXPECT_THAT(text, HasSubstr("- `†`"));
  record.cases.erase(record.cases.begin() + 1);
  EXPECT_THAT(to_markdown(training_section(RunSummary(record))), Not(HasSubstr("†")))
      << "nothing is shown";
}

/// Changes times of a training's blocks with the first variant.
template <typename Change>
void change_blocks(Record& record, int place, Change change) {
  for (Sample& sample : record.cases.at(static_cast<std::size_t>(place)).samples) {
    if (sample.variant != 0) continue;
    for (std::optional<Seconds>& time : sample.times)
      time->value = change(time->value, sample.launch);
  }
  finish(record);
}

/// Takes 490 ms in one launch and 509 in the other, where a step without communication takes 500.
Record nothing_exposed() {
  Record record = two_trainings();
  change_blocks(record, 0, [](double seconds, int launch) {
    return launch % 2 == 0 ? seconds - 0.0195 : seconds - 0.0005;
  });
  return record;
}

Record one_launch() {
  Record record = two_trainings();
  for (CaseResult& result : record.cases) {
    std::erase_if(result.samples, [](const Sample& sample) { return sample.launch > 0; });
  }
  finish(record);
  return record;
}

/// Stops the second training before it converges.
Record stopped_by(StopReason reason) {
  Record record = two_trainings();
  record.cases[2].converged = false;
  record.cases[2].stopped = reason;
  return record;
}

TEST(TrainingTables, SayWhereExposedCommunicationMayBeNone) {
  EXPECT_THAT(to_markdown(training_section(RunSummary(two_trainings()))), Not(HasSubstr("`?`")));
  const std::string text = to_markdown(training_section(RunSummary(nothing_exposed())));
  EXPECT_THAT(row_of(text, "fp32 ddp"), HasSubstr(" -17.96 to 16.96 ms ? |"));
  EXPECT_THAT(text, HasSubstr("- `?`"));
}

TEST(TrainingTables, HaveNoIntervalOfOneLaunch) {
  EXPECT_THAT(row_of(to_markdown(training_section(RunSummary(one_launch()))), "fp32 ddp"),
              HasSubstr(" 9.50 ms |"));
}

TEST(TrainingTables, AdviseWhatTheWarningDoes) {
  EXPECT_THAT(to_markdown(training_section(RunSummary(two_trainings()))), Not(HasSubstr("`*`")));
  for (const auto& [stopped, option] : {std::pair{StopReason::out_of_time, "`--budget`"},
                                        {StopReason::launches_differ, "`--launches`"}}) {
    const std::string text = to_markdown(training_section(RunSummary(stopped_by(stopped))));
    EXPECT_THAT(text, HasSubstr(option));
    EXPECT_THAT(row_of(text, "fp32 zero2"), HasSubstr(")* |"));
    EXPECT_THAT(row_of(text, "fp32 ddp"), Not(HasSubstr("*")));
  }
}

TEST(TrainingTables, SayWhatWasFound) {
  Situations texts;
  const auto add = [&](const std::string& situation, const Record& record) {
    texts.add(situation, without_tables(to_markdown(training_section(RunSummary(record)))));
  };
  add("one training", page_record());
  Record record = page_record();
  change_losses(record, 2e-6);
  finish(record);
  add("losses that rounding explains", record);
  change_losses(record, 2e-5);
  finish(record);
  add("losses that rounding does not explain", record);
  record = page_record();
  record.cases[0].variants[1].verification = checked(2, 1, "rank 1, other parameters");
  add("wrong data", record);
  record = page_record();
  add_training(record, "gpt2_step/fp32/gpt2/np2/zero2",
               {skipped("p2p", "3 ranks do not divide them"), skipped("host", "the same")});
  add("one was skipped", record);
  record.cases.erase(record.cases.begin());
  add("one was skipped, and a step without communication is left", record);
  add("two strategies", two_trainings());
  record = two_trainings();
  change_losses(record, 2e-5);
  finish(record);
  add("two strategies, losses that rounding does not explain", record);
  record = two_trainings();
  std::swap(record.cases[0].definition, record.cases[2].definition);
  add("two strategies, the sharded one first", record);
  add("exposed communication that may be none", nothing_exposed());
  add("one launch", one_launch());
  add("out of rounds", stopped_by(StopReason::out_of_rounds));
  add("out of time", stopped_by(StopReason::out_of_time));
  add("launches differ", stopped_by(StopReason::launches_differ));
  add("interrupted", stopped_by(StopReason::interrupted));
  record = two_trainings();
  for (CaseResult& result : record.cases) result.converged = false;
  record.cases[0].stopped = StopReason::out_of_time;
  record.cases[2].stopped = StopReason::launches_differ;
  add("out of time, and launches differ", record);
  add("three variants", three_variants());
  expect_golden(texts.text(), "training_situations.md");
}

TEST(TrainingTables, MarkNoRowThatShowsNoSpeedUp) {
  Record record = two_trainings();
  record.cases[2].converged = false;
  record.cases[2].variants[1].verification = checked(2, 1, "rank 1, other parameters");
  EXPECT_THAT(to_markdown(training_section(RunSummary(record))), Not(HasSubstr("`*`")));
}

TEST(TrainingTables, GiveNoSpeedUpForWrongData) {
  Record record = page_record();
  record.cases[0].variants[1].verification = checked(2, 1, "rank 1, other parameters");
  const std::string text = to_markdown(training_section(RunSummary(record)));
  EXPECT_THAT(text, HasSubstr("| N      | **WRONG DATA** |"));
  EXPECT_THAT(text, Not(HasSubstr("of 657.2 ms"))) << "what wrong data took says nothing";
}

TEST(TrainingTables, HaveNoSpeedUpOfOneVariantAndNoExposureWithoutItsPeer) {
  Record record = page_record();
  record.cases.resize(1);
  record.cases[0].variants.resize(1);
  record.cases[0].ratios.clear();
  EXPECT_THAT(to_markdown(training_section(RunSummary(record))),
              HasSubstr("| p2p     |      101.9 s |"));
  EXPECT_THAT(to_markdown(training_section(RunSummary(record))), Not(HasSubstr("Exposed")));
}

TEST(TrainingTables, NameEveryVariantThatTheyCompareWith) {
  const std::string text = to_markdown(training_section(RunSummary(three_variants())));
  for (const char* variant : {"| fp32 ddp     | p2p     |", "|              | host    |",
                              "| fp32 zero2 † | p2p     |", "|              | net     |"}) {
    EXPECT_THAT(text, HasSubstr(variant));
  }
}

TEST(TrainingTables, AreEmptyWithoutTrainings) {
  EXPECT_THAT(to_markdown(training_section(RunSummary(h200_record()))), IsEmpty());
}

TEST(RecordsOfTrainings, ComeBackFromJson) {
  Record record = page_record();
  record.settings.training->tokens = "/data/wikitext.bin";
  record.settings.launches = 4;
  note_exposed_communication(record);
  EXPECT_NEAR(record.cases[0].variants[1].training->exposed.value().value, 0.1572, 1e-7);
  Record read = parse_record(to_json(record), "test");
  summarise(read);
  note_exposed_communication(read);
  EXPECT_EQ(read.settings.training, record.settings.training);
  EXPECT_EQ(read.cases[0].variants[1].training, record.cases[0].variants[1].training);
  EXPECT_FALSE(read.cases[1].variants[1].training.has_value());
  EXPECT_EQ(read.cases[0].samples.front().loss, record.cases[0].samples.front().loss);
  EXPECT_EQ(to_markdown(training_section(RunSummary(read))),
            to_markdown(training_section(RunSummary(record))));
}

TEST(RecordsOfTrainings, SumTheStepsThatWereRun) {
  const Record record = page_record();
  const TrainingResult& training = *record.cases[0].variants[0].training;
  EXPECT_EQ(training.steps, 200);
  EXPECT_NEAR(training.sum.value, 101.9, 1e-4);
  EXPECT_EQ(training.first_loss, 10.98);
  EXPECT_FALSE(training.loss_difference.has_value()) << "the first variant is not held to itself";
  EXPECT_EQ(record.cases[0].variants[1].training->loss_difference, 0.0);
}

/// Adds blocks of a launch whose steps stray by 2 per mille of `step`; none for a step of 0.
void add_straying_blocks(Record& record, int place, int variant, int launch, double step) {
  if (step == 0.0) return;
  for (int round = 0; round < 20; ++round) {
    const double factor = 1.0 + 1e-3 * (round * (variant + 3) % 5 - 2);
    Sample sample;
    sample.variant = variant;
    sample.launch = launch;
    sample.round = round;
    sample.operations = 10;
    sample.times = {Seconds{step * factor}, Seconds{step * factor * 0.999}};
    sample.loss = 10.98 - 0.1 * round;
    record.cases.at(static_cast<std::size_t>(place)).samples.push_back(sample);
  }
}

/// Adds a training by `variants` whose steps took `steps` seconds; 0: this one was skipped.
void add_measured(Record& record, const std::string& name, std::vector<VariantResult> variants,
                  const std::vector<double>& steps) {
  const int place = add_training(record, name, std::move(variants));
  for (int launch = 0; launch < record.settings.launches; ++launch) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      // The second launch is 4 ms slower with every variant.
      const double step = steps[i] == 0.0 ? 0.0 : steps[i] + 4e-3 * launch;
      add_straying_blocks(record, place, static_cast<int>(i), launch, step);
    }
  }
}

std::vector<VariantResult> two_variants() {
  return {on_path("p2p", Path::nvlink), on_path("host", Path::host_memory)};
}

/// Has two launches on a file of tokens, and one training that did not converge.
Record page_of_two_launches() {
  Record record = two_gpus();
  record.settings.launches = 2;
  record.settings.training = TrainingPlan{.steps = 400, .tokens = "/data/wiki|text-2.bin"};
  add_measured(record, "gpt2_step/fp32/gpt2/np2/dropout=0", two_variants(), {0.0834, 0.0897});
  add_measured(record, "gpt2_step/fp32/gpt2/np2/none/dropout=0",
               {on_path("p2p", Path::unknown), skipped("host", "uses no link between ranks")},
               {0.0816, 0.0});
  finish(record);
  CaseResult& ddp = record.cases[0];
  ddp.converged = false;
  ddp.stopped = StopReason::launches_differ;
  ddp.variants[0].evidence = known_evidence(ddp.definition);
  ddp.variants[1].evidence = known_evidence(ddp.definition);
  ddp.variants[1].evidence->nvlink_sent = 0;
  ddp.variants[1].evidence->nvlink_received = 0;
  return record;
}

/// Has three variants, one of which cannot train everything.
Record strategies_of_three_variants() {
  Record record = two_gpus();
  record.settings.variants.push_back({"net", {{"NCCL_SHM_DISABLE", "1"}}});
  record.settings.training = TrainingPlan{.steps = 200, .tokens = {}};
  std::vector<VariantResult> all = two_variants();
  all.push_back(on_path("net", Path::network));
  std::vector<VariantResult> without_net = two_variants();
  without_net.push_back(skipped("net", "the job died | in its first step"));
  add_measured(record, "gpt2_step/fp32/gpt2/np2", all, {0.0834, 0.0897, 0.2711});
  add_measured(record, "gpt2_step/fp32/gpt2/np2/zero2", all, {0.0836, 0.0953, 0.2804});
  add_measured(record, "gpt2_step/fp32/gpt2/np2/zero3", without_net, {0.0841, 0.1012, 0.0});
  add_measured(record, "gpt2_step/fp32/gpt2/np2/none", {on_path("p2p", Path::unknown)}, {0.0816});
  add_measured(record, "gpt2_step/bf16/gpt2/np2/buckets=legacy", all, {0.0121, 0.0243, 0.1907});
  add_measured(record, "gpt2_step/bf16/gpt2/np2/zero2/bucket-mb=5", all, {0.0122, 0.0257, 0.1911});
  add_measured(record, "gpt2_step/bf16/gpt2/np2/none", {on_path("p2p", Path::unknown)}, {0.0108});
  add_measured(record, "gpt2_step/fp32/tiny/np2", all, {0.0009, 0.0009, 0.0021});
  add_training(record, "gpt2_step/fp32/gpt2/np2/zero3/batch=8",
               {skipped("p2p", "3 ranks do not divide them"), skipped("host", "the same")});
  finish(record);
  record.cases[1].converged = false;
  record.cases[1].stopped = StopReason::out_of_rounds;
  record.cases[4].variants[1].verification = checked(2, 1, "rank 1, other parameters");
  return record;
}

TEST(TrainingTables, OfThePage) {
  expect_golden(to_markdown(training_section(RunSummary(page_of_two_launches()))),
                "training_page.md");
}

TEST(TrainingTables, OfStrategies) {
  expect_golden(to_markdown(training_section(RunSummary(strategies_of_three_variants()))),
                "training_strategies.md");
}

}  // namespace
}  // namespace linkgain::test
