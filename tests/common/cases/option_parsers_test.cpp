#include "linkgain/cases/option_parsers.hpp"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/completion.hpp"
#include "linkgain/cases/profiles.hpp"
#include "linkgain/cases/program_metric.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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
  EXPECT_DOUBLE_EQ(seconds("2min"), 120.0);
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
  EXPECT_THAT(parse_each<DataType>({"int8", "float32"}, from_name<DataType>),
              ElementsAre(DataType::int8, DataType::float32));
  EXPECT_THROW(parse_each<DataType>({"int8", "float23"}, from_name<DataType>), UsageError);
  EXPECT_TRUE(parse_each<DataType>({}, from_name<DataType>).empty());
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
      {"", "s", "0", "0.5", "-1", "nan", "inf", "5M", "5 mins", "5  m", "m5", "2h", "1e9"},
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
  answers.refuse_each({"symetric"}, from_name<Buffers>);
  answers.refuse_each({"grpah"}, from_name<LaunchChoice>);
  answers.refuse_each({"both"}, from_name<Pattern>);
  answers.refuse_each({"standard"}, from_name<Profile>);
  answers.refuse_each({"ncl", "exec"}, parse_backend);
  answers.refuse_each({"pared"}, from_name<Schedule>);
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

TEST(ConversionError, NamesTheOptionThatLacksItsValue) {
  EXPECT_EQ(describe_conversion_error("--np: 1 required TEXT missing"), "--np needs a value");
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

TEST(WordsOfOption, AreThoseOfAnOptionWithItsValue) {
  EXPECT_THAT(words_of_option("--launcher", "PROGRAM"), ElementsAre("local", "mpirun", "srun"));
  EXPECT_THAT(words_of_option("--strategy", "NAME,..."), ElementsAre("ddp", "zero2", "zero3"))
      << "none is measured with each";
  EXPECT_THAT(words_of_option("--launcher", "NAME"), IsEmpty()) << "another program's";
  EXPECT_THAT(words_of_option("--sizes", "SIZES"), IsEmpty());
}

TEST(WordsOfDeclared, AreByTheLongName) {
  CLI::App app;
  std::string value;
  const CLI::Option& option = *app.add_option("-b,--backend", value)->type_name("NAME");
  EXPECT_THAT(words_of_declared(option), ElementsAre("nccl", "mpi"));
  EXPECT_THAT(words_of_declared(*app.add_option("-x", value)->type_name("NAME")), IsEmpty());
}

TEST(Tolerance, BoundsTheLogOfTheTime) {
  const Tolerance both{-0.1, 0.25};
  EXPECT_DOUBLE_EQ(log_lower(both), std::log(0.9));
  EXPECT_DOUBLE_EQ(log_upper(both), std::log(1.25));
  const Tolerance none{std::nullopt, std::nullopt};
  EXPECT_EQ(log_lower(none), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(log_upper(none), std::numeric_limits<double>::infinity());
}

TEST(Tolerance, IsReadable) {
  EXPECT_EQ(readable_tolerance({}), "±5 %");
  EXPECT_EQ(readable_tolerance({-0.1, 0.025}), "-10 to +2.5 %");
  EXPECT_EQ(readable_tolerance({std::nullopt, 0.05}), "at most +5 %");
  EXPECT_EQ(readable_tolerance({-0.05, std::nullopt}), "at least -5 %");
  EXPECT_EQ(readable_tolerance({std::nullopt, std::nullopt}), "unbounded");
}

TEST(Schedule, IsReadBackFromItsName) {
  for (const Schedule schedule : kValues<Schedule>) {
    EXPECT_EQ(from_name<Schedule>(name_of(schedule)), schedule);
  }
  EXPECT_EQ(name_of(Schedule::paired), "paired");
}

std::vector<std::int64_t> sizes_of(std::string_view text) {
  std::vector<std::int64_t> values;
  for (const Bytes size : parse_sizes(text)) values.push_back(size.value);
  return values;
}

TEST(ParseSizes, MultipliesUpToAndIncludingTheEnd) {
  EXPECT_THAT(sizes_of("8:512:x4"), ElementsAre(8, 32, 128, 512));
  EXPECT_THAT(sizes_of("8:1000:x4"), ElementsAre(8, 32, 128, 512, 1000));
  const auto sweep = sizes_of("8:1G:x4");
  ASSERT_EQ(sweep.size(), 15U);
  EXPECT_EQ(sweep[13], 536870912);
  EXPECT_EQ(sweep[14], 1073741824);
  EXPECT_EQ(sizes_of("8:1G:x2").size(), 28U);
}

TEST(ParseSizes, AddsUpToAndIncludingTheEnd) {
  EXPECT_THAT(sizes_of("10:40:+10"), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(sizes_of("10:35:+10"), ElementsAre(10, 20, 30, 35));
  EXPECT_EQ(sizes_of("1M:64M:+1M").size(), 64U);
  EXPECT_THAT(sizes_of("8:8:+1"), ElementsAre(8));
  EXPECT_THAT(sizes_of("8:9:x1000"), ElementsAre(8, 9));
}

TEST(ParseSizes, JoinsListsAndSweepsAscendingWithoutRepetition) {
  EXPECT_THAT(sizes_of("1G,64K,8,65536"), ElementsAre(8, 65536, 1073741824));
  EXPECT_THAT(sizes_of("1K,8:32:x2,16,1:3:+1"), ElementsAre(1, 2, 3, 8, 16, 32, 1024));
}

TEST(ParseSizes, ReachesTheLargestCountWithoutOverflow) {
  EXPECT_THAT(sizes_of("35184372088833:64T:x2"), ElementsAre(35184372088833, 70368744177664));
  EXPECT_THAT(sizes_of("70368744177663:64T:+64T"), ElementsAre(70368744177663, 70368744177664));
  EXPECT_THAT(sizes_of("1:2:x9223372036854775807"), ElementsAre(1, 2));
}

TEST(ParseSizes, RefusesOtherTextWithTheAcceptedForms) {
  Situations answers;
  answers.refuse_each({"1G:8:x4",
                       "8:1G:x1",
                       "8:1G:x0",
                       "8:1G:x-2",
                       "8:1G:x1.5",
                       "8:1G:x",
                       "8:1G:x99999999999999999999",
                       "8:1G:+0",
                       "8:1G:4",
                       "8-1G",
                       "8..1G",
                       "",
                       "8:1G",
                       "8:1G:x4:x2",
                       "8,,16",
                       "8,",
                       "0",
                       "-8",
                       "8:1Q:x2",
                       "1:10001:+1",
                       "1:5000:+1,5001:10001:+1",
                       "1:64T:+1"},
                      parse_sizes);
  answers.expect_golden("sizes_refused.txt");
}

TEST(ParseSizes, TakesAsManySizesAsTheLimit) {
  EXPECT_EQ(sizes_of("1:10000:+1").size(), 10000U);
  EXPECT_EQ(sizes_of("1:10000:+1,1:10000:+1").size(), 10000U) << "repetitions do not count";
}

TEST(ProgramMetric, IsTimedWhereLinkgainTimesIt) {
  for (const char* name : {"time", "start-up", "step"}) EXPECT_TRUE(is_timed({name})) << name;
  for (const char* name : {"tokens", "times", "Time"}) EXPECT_FALSE(is_timed({name})) << name;
}

TEST(ProgramMetric, IsASampleThatIsLargerWhereItIsSlower) {
  const ProgramMetric loss{.name = "loss"};
  EXPECT_EQ(to_sample(loss, 4.0), 4.0);
  const ProgramMetric rate{.name = "tokens", .higher_is_better = true};
  EXPECT_EQ(to_sample(rate, 4.0), 0.25);
  EXPECT_EQ(from_sample(rate, Seconds{0.25}), 4.0);
}

TEST(ReadableValue, HasNoExponentBelowATrillion) {
  const ProgramMetric metric{.name = "tokens"};
  EXPECT_EQ(readable_value(metric, Seconds{1.2345678}), "1.2346");
  EXPECT_EQ(readable_value(metric, Seconds{99999.0}), "99999");
  EXPECT_EQ(readable_value(metric, Seconds{133120.4}), "133120");
  EXPECT_EQ(readable_value(metric, Seconds{2e12}), "2e+12");
}

TEST(ReadableValue, OfARateIsTheNumberThatWasPrinted) {
  const ProgramMetric metric{.name = "tokens", .higher_is_better = true};
  EXPECT_EQ(readable_value(metric, Seconds{to_sample(metric, 250000.0)}), "250000");
}

TEST(ReadableValue, OfATimeHasItsUnit) { EXPECT_EQ(readable_value({}, Seconds{101.4}), "101.4 s"); }

}  // namespace
}  // namespace linkgain::test
