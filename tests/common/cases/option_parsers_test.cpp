#include "linkgain/cases/option_parsers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/profiles.hpp"
#include "linkgain/cases/schedule.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;

TEST(ParseGpus, ReadsAList) {
  EXPECT_THAT(parse_gpus("0,1"), ElementsAre(0, 1));
  EXPECT_THAT(parse_gpus("3"), ElementsAre(3));
  EXPECT_THAT(parse_gpus("7,0,9999"), ElementsAre(7, 0, 9999));
}

TEST(ParseShare, ReadsPercentAndFractions) {
  EXPECT_DOUBLE_EQ(parse_share("5%", "--x", 0.001, 0.5), 0.05);
  EXPECT_DOUBLE_EQ(parse_share("2.5 %", "--x", 0.001, 0.5), 0.025);
  EXPECT_DOUBLE_EQ(parse_share("0.5", "--x", 0.001, 0.5), 0.5);
}

TEST(ParseDuration, ReadsSecondsAndUnits) {
  const auto seconds = [](const char* text) {
    return parse_duration(text, "--x", Seconds{0.001}, Seconds{86400.0}).value;
  };
  EXPECT_DOUBLE_EQ(seconds("300"), 300.0);
  EXPECT_DOUBLE_EQ(seconds("90.5"), 90.5);
  EXPECT_DOUBLE_EQ(seconds("90s"), 90.0);
  EXPECT_DOUBLE_EQ(seconds("5m"), 300.0);
  EXPECT_DOUBLE_EQ(seconds("1.5 h"), 5400.0);
  EXPECT_DOUBLE_EQ(seconds("5ms"), 0.005);
}

TEST(ParseTolerance, IsAShareToBothSides) {
  EXPECT_EQ(parse_tolerance("2.5 %", "--x"), (Tolerance{-0.025, 0.025}));
  EXPECT_EQ(parse_tolerance("0.1", "--x"), (Tolerance{-0.1, 0.1}));
}

TEST(ParsePair, ReadsTwoRanks) {
  EXPECT_EQ(parse_pair("0-1"), (Pair{0, 1, false}));
  EXPECT_EQ(parse_pair("12-3"), (Pair{12, 3, false}));
}

TEST(ParseEach, KeepsTheOrder) {
  EXPECT_THAT(parse_each<DataType>({"int8", "float32"}, parse_data_type),
              ElementsAre(DataType::int8, DataType::float32));
  EXPECT_THROW(parse_each<DataType>({"int8", "float23"}, parse_data_type), UsageError);
  EXPECT_TRUE(parse_each<DataType>({}, parse_data_type).empty());
}

TEST(ParseRoot, ReadsARank) {
  EXPECT_EQ(parse_root("0"), 0);
  EXPECT_EQ(parse_root("17"), 17);
}

TEST(OptionParsers, RefuseAnythingElseWithWhatIsMeant) {
  Situations answers;
  answers.about("GPUs");
  answers.refuse_each(
      {"", "0,,1", "0,", ",0", "-1", "0,a", "0, 1", "1.5", "10000", "0x1", "99999999999999999999"},
      parse_gpus);
  answers.about("a share from 0.1 to 50 %");
  answers.refuse_each({"", "%", "5  %", "5 ", "five", "60%", "5", "0", "-1%", "nan", "0.05x"},
                      [](const char* text) { parse_share(text, "--x", 0.001, 0.5); });
  answers.about("a duration from 1 s to 1 h");
  answers.refuse_each(
      {"", "s", "0", "0.5", "-1", "nan", "inf", "5M", "5 min", "5  m", "m5", "2h", "1e9"},
      [](const char* text) { parse_duration(text, "--x", Seconds{1.0}, Seconds{3600.0}); });
  answers.about("a tolerance");
  answers.refuse_each({"", "%", "5", "0", "-5%", "100%", "5%%", "inf", "x"},
                      [](const char* text) { parse_tolerance(text, "--x"); });
  answers.about("a pair");
  answers.refuse_each({"", "0", "0-", "-1", "0-1-2", "a-b", "0,1", "0--1", "0-10000"}, parse_pair);
  answers.about("a root");
  answers.refuse_each({"", "-1", "a", "1.5", "0-1", "10000"}, parse_root);
  answers.about("names");
  answers.refuse_each({"all_reduc", "ALL_REDUCE"}, parse_operation);
  answers.refuse_each({"symetric"}, parse_buffers);
  answers.refuse_each({"grpah"}, parse_launch_choice);
  answers.refuse_each({"both"}, parse_pattern);
  answers.refuse_each({"standard"}, parse_profile);
  answers.refuse_each({"ncl", "exec"}, parse_backend);
  answers.refuse_each({"pared"}, parse_schedule);
  answers.expect_golden("options_refused.txt");
}

SelectionOptions selection_with(std::vector<std::string> arguments) {
  CLI::App app;
  DeferredOptions deferred(app);
  SelectionOptions options;
  add_job_options(deferred, options);
  add_selection_options(deferred, options);
  std::ranges::reverse(arguments);  // the parser takes the last as the first
  app.parse(std::move(arguments));
  deferred.read();
  return options;
}

TEST(SelectionOptions, AreWhatWasGivenAndLeaveTheRest) {
  const SelectionOptions none = selection_with({});
  EXPECT_TRUE(none.operations.empty());
  EXPECT_TRUE(none.sizes.empty());
  EXPECT_TRUE(none.roots.empty());
  EXPECT_FALSE(none.pair);
  Selection usual;
  usual.sizes = {Bytes{8}};
  EXPECT_EQ(with_options(usual, none).sizes, usual.sizes);
  EXPECT_EQ(with_options(usual, none).buffers, usual.buffers);

  const SelectionOptions options =
      selection_with({"--only", "gather,scatter", "--sizes", "1K", "--root", "0,1", "--buffers",
                      "registered,symmetric", "--pair", "1-0", "--in-place", "--backend", "mpi",
                      "--gpus", "2,0", "--steps", "30", "--tokens", "text.bin"});
  EXPECT_EQ(options.backend, BackendKind::mpi);
  EXPECT_THAT(options.gpus, ElementsAre(2, 0));
  EXPECT_EQ(options.steps, 30);
  EXPECT_EQ(options.tokens, "text.bin");
  EXPECT_THAT(options.operations, ElementsAre(OperationKind::gather, OperationKind::scatter));
  const Selection selection = with_options(usual, options);
  EXPECT_THAT(selection.sizes, ElementsAre(Bytes{1024}));
  EXPECT_THAT(selection.roots, ElementsAre(0, 1));
  EXPECT_THAT(selection.buffers, ElementsAre(Buffers::registered, Buffers::symmetric));
  EXPECT_THAT(selection.in_place, ElementsAre(true));
  EXPECT_EQ(selection.pair, (Pair{1, 0, false}));
  EXPECT_THROW(selection_with({"--buffers", "pinned"}), UsageError);
}

TEST(DescribeParseError, SaysWhichWordAndWhatIsAccepted) {
  CLI::App app;
  int number = 0;
  app.add_option("-n,--iters", number)->check(CLI::Range(1, 8));
  const auto described = [&](const std::string& line) -> std::string {
    try {
      app.parse(line);
    } catch (const CLI::ParseError& error) {
      return describe_parse_error(error, app.remaining());
    }
    return "accepted";
  };
  Situations errors;
  app.add_option("--whole", number);
  for (const char* line : {"-n 9", "-n p", "-q 3 -n 2", "--qq=3", "word", "--whole p",
                           "--whole 2.5", "--whole 2x", "--whole 99999999999"}) {
    errors.add(line, described(line));
  }
  errors.expect_golden("parse_errors.txt");
}

TEST(WordsToParse, AreTheLastFirst) {
  const auto words = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "linkgain");
    return words_to_parse(static_cast<int>(arguments.size()), arguments.data());
  };
  EXPECT_THAT(words({"run", "--sizes=8", "-n", "2"}), ElementsAre("2", "-n", "--sizes=8", "run"));
  EXPECT_TRUE(words({}).empty());
  // The parser would take the word behind for the value.
  EXPECT_THAT(words({"--sizes=", "run"}), ElementsAre("run", "", "--sizes"));
  EXPECT_THAT(words({"--env=A="}), ElementsAre("--env=A="));
  EXPECT_THAT(words({"exec", "--", "train", "--file="}),
              ElementsAre("--file=", "train", "--", "exec"))
      << "another program's";
}

TEST(TrainingOptions, AreWhatWasGivenAndLeaveTheRest) {
  Selection usual;
  usual.training.models = {ModelSize::tiny};
  usual.training.samples = 2;
  EXPECT_EQ(with_options(usual, selection_with({})).training, usual.training);

  const SelectionOptions options = selection_with(
      {"--strategy", "zero2,ddp", "--training-precision", "bf16", "--sequence", "256", "--dropout",
       "10%", "--buckets", "legacy", "--bucket-mb", "2.5", "--batch", "8"});
  const TrainingSelection training = with_options(usual, options).training;
  EXPECT_THAT(training.models, ElementsAre(ModelSize::tiny));
  EXPECT_THAT(training.strategies, ElementsAre(TrainingStrategy::zero2, TrainingStrategy::ddp));
  EXPECT_THAT(training.precisions, ElementsAre(TrainingPrecision::bf16));
  EXPECT_EQ(training.samples, 8);
  EXPECT_EQ(training.length, 256);
  EXPECT_EQ(training.dropout, 0.1);
  EXPECT_EQ(training.buckets, BucketRule::legacy);
  EXPECT_EQ(training.bucket_mib, 2.5);
  EXPECT_THAT(with_options(usual, options).asked_for.training,
              ElementsAre("--strategy", "--training-precision", "--batch", "--sequence",
                          "--dropout", "--buckets", "--bucket-mb"));
  EXPECT_THROW(selection_with({"--dropout", "100%"}), UsageError);
}

TEST(DeferredOptions, AreReadAfterTheFormOfAllWasLookedAt) {
  EXPECT_THROW(selection_with({"--buffers", "pinned", "--unknown"}), CLI::ExtrasError);
  EXPECT_THROW(selection_with({"--buffers", "pinned", "--help"}), CLI::CallForHelp);
}

TEST(DeferredOptions, RefuseEmptyValuesOfAllOptionsOfTheirApp) {
  for (const char* option : {"--sizes", "--pair", "--backend", "--type", "--batch", "--tokens"}) {
    EXPECT_THROW(selection_with({option, ""}), UsageError) << option;
  }
  CLI::App app;
  const DeferredOptions none(app);
  std::vector<std::string> words;
  app.add_option("words", words);
  app.add_option("--word", words);
  app.parse(std::vector<std::string>{"", "a"});
  EXPECT_NO_THROW(none.read()) << "a word of another program";
  app.parse(std::vector<std::string>{"", "--word"});
  EXPECT_THROW(none.read(), UsageError);
}

TEST(WithOptions, WaysWithoutAPairAreMeantForEveryPair) {
  Selection usual;
  usual.pair = Pair{0, 1, false};
  EXPECT_EQ(with_options(usual, {}).pair, usual.pair) << "nothing was asked for";
  SelectionOptions options;
  options.patterns = {Pattern::one_way};
  EXPECT_EQ(with_options(usual, options).pair, std::nullopt);
  options.pair = Pair{2, 3, false};
  EXPECT_EQ(with_options(usual, options).pair, options.pair);
}

}  // namespace
}  // namespace linkgain::test
