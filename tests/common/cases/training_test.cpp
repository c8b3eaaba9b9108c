#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/cases/traffic.hpp"
#include "linkgain/gpt2/training_parameters.hpp"
#include "linkgain/gpt2/training_strategy.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Case training_case(const std::string& name) { return parse_case_name(name); }

TEST(TrainingCases, AreNamedByWhatIsNotUsual) {
  const Case usual = training_case("gpt2_step/fp32/gpt2/np2");
  EXPECT_EQ(usual.training, TrainingParameters{});
  EXPECT_EQ(usual.size, Bytes{497'759'232});
  for (const char* name :
       {"gpt2_step/fp32/gpt2/np2", "gpt2_step/bf16/gpt2/np8/zero3", "gpt2_step/fp64/tiny/np3/none",
        "gpt2_step/tf32/gpt2/np4/buckets=legacy/bucket-mb=50/batch=8/sequence=512/dropout=0",
        "gpt2_step/fp32/tiny/np2/zero2/bucket-mb=1/sequence=16/dropout=0.25",
        "gpt2_step/fp64/tiny/np2/bucket-mb=0.05"}) {
    EXPECT_EQ(case_name(training_case(name)), name);
  }
}

TEST(TrainingCases, HaveOneSpelling) {
  for (const char* name :
       {"gpt2_step/fp32/gpt2/np2/ddp", "gpt2_step/fp32/gpt2/np2/batch=4",
        "gpt2_step/fp32/gpt2/np2/sequence=1024", "gpt2_step/fp32/gpt2/np2/dropout=0.10",
        "gpt2_step/fp32/gpt2/np2/dropout=0/batch=2", "gpt2_step/gpt2/fp32/np2",
        "gpt2_step/fp32/gpt2/np2/graph", "gpt2_step/float32/sum/1GiB/np2", "gpt2_step/fp32/gpt2",
        "gpt2_step/fp32/gpt2/np2/batch=0", "gpt2_step/fp32/gpt2/np2/sequence=1025",
        "gpt2_step/fp32/gpt2/np2/dropout=1", "gpt2_step/fp32/gpt2/np2/zero3/buckets=legacy",
        "gpt2_step/fp32/gpt2/np2/none/bucket-mb=4", "gpt2_step/fp32/gpt2/np2/bucket-mb=4.0",
        "gpt2_step/fp32/gpt2/np2/bucket-mb=0.001", "gpt2_step/fp32/gpt2/np2/bucket-mb=4097",
        "gpt2_step/fp32/gpt2/np2/bucket-mb=nan", "gpt2_step/fp32/gpt2/np1"}) {
    EXPECT_THROW(training_case(name), UsageError) << name;
  }
}

TEST(TrainingCases, SayWhatIsWrongWithAField) {
  EXPECT_THAT(refusal_of([&] { training_case("gpt2_step/fp32/gpt2/np2/zeroo3"); }),
              HasSubstr("zero3"));
}

TEST(TrainingCases, HaveNothingOfOthers) {
  Case c = training_case("gpt2_step/fp32/gpt2/np2");
  EXPECT_NO_THROW(validate(c));
  c.kernel = true;
  EXPECT_THROW(validate(c), UsageError);
  c.kernel = false;
  c.training.reset();
  EXPECT_THROW(validate(c), UsageError);
  Case other = training_case("all_reduce/float32/sum/1GiB/np2");
  other.training = TrainingParameters{};
  EXPECT_THROW(validate(other), UsageError);
}

TEST(TrainingCases, UseTheLinkUnlessEveryRankTrainsForItself) {
  EXPECT_TRUE(uses_link(training_case("gpt2_step/fp32/gpt2/np2")));
  EXPECT_FALSE(uses_link(training_case("gpt2_step/fp32/gpt2/np2/none")));
}

// Expects 2 S (n - 1) / n a rank for ddp and zero2, 3 S (n - 1) / n for zero3, the least that rings
// can do (P. Patarasuk, X. Yuan 2009).
TEST(TrainingPayload, IsWhatAllRanksSend) {
  const double size = 497'759'232.0;
  const TransferPlan plan{.algorithm = "", .protocol = std::string(kSimple)};
  const auto expected = [&](const char* name) {
    return expected_bytes(training_case(name), plan).value();
  };
  EXPECT_DOUBLE_EQ(expected("gpt2_step/fp32/gpt2/np2"), 2.0 * size);
  EXPECT_DOUBLE_EQ(expected("gpt2_step/bf16/gpt2/np4/zero2"), 6.0 * size);
  EXPECT_DOUBLE_EQ(expected("gpt2_step/fp32/gpt2/np8/zero3"), 7.0 * (3.0 * size - 2.0 * 768 * 4));
  EXPECT_DOUBLE_EQ(expected("gpt2_step/fp32/gpt2/np2/none"), 0.0);
}

TEST(TrainingMemory, IsBelowWhatOneMayTake) {
  const auto usual = [](TrainingPrecision precision) {
    TrainingParameters training;
    training.precision = precision;
    return training_memory(training);
  };
  constexpr std::int64_t kMost = std::int64_t{9} << 30;
  for (const TrainingPrecision precision :
       {TrainingPrecision::fp32, TrainingPrecision::tf32, TrainingPrecision::bf16}) {
    EXPECT_LT(usual(precision), kMost);
    EXPECT_GT(usual(precision), kMost / 3);
  }
}

std::vector<std::string> names_of(const TrainingSelection& selection) {
  std::vector<std::string> names;
  for (const TrainingParameters& training : combinations(selection)) {
    names.push_back(leading_text(training) + trailing_text(training));
  }
  return names;
}

TEST(TrainingCombinations, HoldEveryPrecisionAgainstTheStepWithoutCommunication) {
  TrainingSelection selection;
  selection.models = {ModelSize::gpt2};
  selection.precisions = {TrainingPrecision::fp32, TrainingPrecision::bf16};
  EXPECT_THAT(names_of(selection),
              ElementsAre("fp32/gpt2", "fp32/gpt2/none", "bf16/gpt2", "bf16/gpt2/none"));
  selection.precisions = {TrainingPrecision::fp32};
  selection.strategies = {TrainingStrategy::none, TrainingStrategy::zero2, TrainingStrategy::zero3};
  selection.bucket_mib = 5;
  selection.samples = 2;
  EXPECT_THAT(names_of(selection),
              ElementsAre("fp32/gpt2/zero2/bucket-mb=5/batch=2", "fp32/gpt2/zero3/batch=2",
                          "fp32/gpt2/none/batch=2"));
}

TEST(TrainingCombinations, RefuseBucketsOfNoSensibleSize) {
  TrainingSelection selection;
  selection.models = {ModelSize::tiny};
  selection.precisions = {TrainingPrecision::fp64};
  selection.bucket_mib = 0.25;
  EXPECT_THAT(names_of(selection), ElementsAre("fp64/tiny/bucket-mb=0.25", "fp64/tiny/none"));
  for (const double mib : {0.001, 5000.0}) {
    selection.bucket_mib = mib;
    EXPECT_THAT(refusal_of([&] { combinations(selection); }), HasSubstr(": 0.01 to 4096 MiB"));
  }
}

TEST(TrainingParameters, AreRefusedWhereNoModelHasThem) {
  Situations answers;
  const auto ask = [&](const char* what, auto change) {
    TrainingParameters training;
    change(training);
    answers.refuse(what, [&] { validate(training); });
  };
  EXPECT_NO_THROW(validate(TrainingParameters{}));
  ask("no sequences", [](TrainingParameters& each) { each.samples = 0; });
  ask("4097 sequences", [](TrainingParameters& each) { each.samples = 4097; });
  ask("no tokens", [](TrainingParameters& each) { each.length = 0; });
  ask("1025 tokens", [](TrainingParameters& each) { each.length = 1025; });
  ask("dropout of -0.1", [](TrainingParameters& each) { each.dropout = -0.1; });
  ask("dropout of 1", [](TrainingParameters& each) { each.dropout = 1.0; });
  ask("zero3 with legacy buckets", [](TrainingParameters& each) {
    each.strategy = TrainingStrategy::zero3;
    each.buckets = BucketRule::legacy;
  });
  ask("none with buckets of 4 MiB", [](TrainingParameters& each) {
    each.strategy = TrainingStrategy::none;
    each.bucket_mib = 4;
  });
  answers.about("fields of a name");
  for (const char* field :
       {"batch=0", "batch=4097", "batch=4x", "batch=", "sequence=1025", "dropout=-0.1", "dropout=1",
        "dropout=x", "bucket-mb=5000", "bucket-mb=4x", "buckets=new", "batches=4"}) {
    answers.refuse(field, [&] { training_case(std::string("gpt2_step/fp32/gpt2/np2/") + field); });
  }
  answers.expect_golden("trainings_refused.txt");
}

TEST(LossBound, IsWiderForFewerTokens) {
  TrainingParameters usual;  // 4096 tokens of each rank
  for (const auto& [precision, bound] :
       {std::pair{TrainingPrecision::fp32, 1e-5}, std::pair{TrainingPrecision::tf32, 1e-5},
        std::pair{TrainingPrecision::bf16, 1e-4}, std::pair{TrainingPrecision::fp64, 1e-9}}) {
    usual.precision = precision;
    EXPECT_DOUBLE_EQ(loss_bound(usual, 2), bound) << name_of(precision);
    EXPECT_DOUBLE_EQ(loss_bound(usual, 8), bound) << "more tokens, " << name_of(precision);
  }
  usual.samples = 1;
  EXPECT_DOUBLE_EQ(loss_bound(usual, 2), 2e-9) << "a quarter of the tokens";
}

TEST(TrainingCombinations, RefuseBucketsThatNoStrategyHas) {
  TrainingSelection selection;
  selection.models = {ModelSize::gpt2};
  selection.precisions = {TrainingPrecision::fp32};
  selection.strategies = {TrainingStrategy::zero3};
  EXPECT_NO_THROW(combinations(selection));
  selection.buckets = BucketRule::legacy;
  Situations answers;
  answers.refuse("zero3 with --buckets", [&] { combinations(selection); });
  selection.bucket_mib = 4;
  answers.refuse("and --bucket-mb", [&] { combinations(selection); });
  selection.buckets.reset();
  answers.refuse("zero3 with --bucket-mb", [&] { combinations(selection); });
  answers.expect_golden("buckets_refused.txt");
  selection.strategies.push_back(TrainingStrategy::ddp);
  EXPECT_NO_THROW(combinations(selection));
}

const ParameterTable& gpt2() {
  static const ParameterTable table(gpt2_config(ModelSize::gpt2));
  return table;
}

StrategyPlan plan(TrainingStrategy strategy, const BucketSettings& buckets = {}, int ranks = 2) {
  return plan_strategy(strategy, gpt2(), buckets, DataType::float32, ranks);
}

TEST(StrategyPlan, HasPyTorchsBucketsUnlessParametersAreSharded) {
  for (const auto strategy :
       {TrainingStrategy::none, TrainingStrategy::ddp, TrainingStrategy::zero2}) {
    EXPECT_EQ(plan(strategy).buckets, gradient_buckets(gpt2(), {}, DataType::float32));
    const BucketSettings legacy{BucketRule::legacy, {}};
    EXPECT_EQ(plan(strategy, legacy).buckets, gradient_buckets(gpt2(), legacy, DataType::float32));
    for (const SegmentPass& pass : plan(strategy).passes) EXPECT_THAT(pass.gathers, IsEmpty());
  }
}

TEST(StrategyPlan, RunsThroughAllSegmentsForwardAndBackward) {
  const auto passes = plan(TrainingStrategy::ddp).passes;
  ASSERT_EQ(passes.size(), 28U);
  for (int i = 0; i < 14; ++i) {
    EXPECT_EQ(passes[static_cast<std::size_t>(i)].segment, i);
    EXPECT_FALSE(passes[static_cast<std::size_t>(i)].is_backward);
    EXPECT_EQ(passes[static_cast<std::size_t>(14 + i)].segment, 13 - i);
    EXPECT_TRUE(passes[static_cast<std::size_t>(14 + i)].is_backward);
  }
}

TEST(StrategyPlan, OfZero3HasABucketPerSegmentAndTheEmbeddingsApart) {
  const auto buckets = plan(TrainingStrategy::zero3).buckets;
  ASSERT_EQ(buckets.size(), 15U);
  EXPECT_EQ(buckets[0].range, gpt2().segment_range(13));
  for (int i = 1; i <= 12; ++i) {
    EXPECT_EQ(buckets[static_cast<std::size_t>(i)].range, gpt2().segment_range(13 - i));
    EXPECT_EQ(buckets[static_cast<std::size_t>(i)].tensors.size(), 12U);
  }
  EXPECT_THAT(buckets[13].tensors, ElementsAre(1));
  EXPECT_THAT(buckets[14].tensors, ElementsAre(0));
  EXPECT_EQ(buckets[14].range, gpt2().tensors()[0].range());
}

TEST(StrategyPlan, OfZero3GathersWholeBucketsTwiceButTheFinalNorm) {
  const auto zero3 = plan(TrainingStrategy::zero3);
  std::map<std::int64_t, int> times;  // by offset
  for (const SegmentPass& pass : zero3.passes) {
    for (const ParameterRange& range : pass.gathers) ++times[range.offset];
  }
  ASSERT_EQ(times.size(), 15U);
  for (const GradientBucket& bucket : zero3.buckets) {
    const bool is_final_norm = bucket.range == gpt2().segment_range(13);
    EXPECT_EQ(times[bucket.range.offset], is_final_norm ? 1 : 2) << bucket.range.offset;
  }
  EXPECT_THAT(zero3.passes[13].gathers,
              ElementsAre(gpt2().segment_range(13), gpt2().tensors()[0].range()));
}

TEST(StrategyPlan, RefusesRanksThatDoNotDivideTheShards) {
  Situations answers;
  const auto ask = [&](const char* what, TrainingStrategy strategy, const Gpt2Config& config,
                       int ranks) {
    answers.refuse(what, [&] {
      plan_strategy(strategy, ParameterTable(config), {}, DataType::float32, ranks);
    });
  };
  // All tensors of GPT-2 are multiples of 768, those of tiny of 64.
  ask("zero3 of gpt2 on 5 ranks", TrainingStrategy::zero3, gpt2_config(ModelSize::gpt2), 5);
  ask("zero2 of gpt2 on 7 ranks", TrainingStrategy::zero2, gpt2_config(ModelSize::gpt2), 7);
  ask("zero3 of tiny on 3 ranks", TrainingStrategy::zero3, gpt2_config(ModelSize::tiny), 3);
  const Gpt2Config odd{.vocabulary = 3, .positions = 1, .channels = 1, .layers = 1, .heads = 1};
  ask("zero3 of a model of odd tensors on 2 ranks", TrainingStrategy::zero3, odd, 2);
  answers.expect_golden("shards_refused.txt");
}

TEST(StrategyPlan, TakesAnyNumberOfRanksWhereNothingIsSharded) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    EXPECT_NO_THROW(plan(TrainingStrategy::ddp, {}, ranks));
    EXPECT_NO_THROW(plan(TrainingStrategy::none, {}, ranks));
  }
}

std::optional<int> buckets_of(const std::string& name) {
  return bucket_count(parse_case_name(name).training.value());
}

TEST(BucketCount, IsWhatAStrategyReduces) {
  EXPECT_EQ(buckets_of("gpt2_step/fp32/gpt2/np2"), 13);
  EXPECT_EQ(buckets_of("gpt2_step/bf16/gpt2/np2/zero2"), 13) << "gradients are float32 there too";
  EXPECT_EQ(buckets_of("gpt2_step/fp32/gpt2/np2/buckets=legacy"), 14);
  EXPECT_EQ(buckets_of("gpt2_step/fp32/gpt2/np2/zero3"), std::nullopt);
  EXPECT_EQ(buckets_of("gpt2_step/fp32/gpt2/np2/none"), std::nullopt);
}

// Needs fractions, as all of the tiny model's gradients, 884,224 bytes in fp64, are less than the
// least whole number of MiB. The legacy rule keeps its first limit of 1 MiB whatever was given.
TEST(BucketCount, OfTheTinyModelIsMoreThanOneForFractionsOnly) {
  EXPECT_EQ(buckets_of("gpt2_step/fp64/tiny/np2"), 1);
  EXPECT_EQ(buckets_of("gpt2_step/fp64/tiny/np2/bucket-mb=1"), 1);
  EXPECT_EQ(buckets_of("gpt2_step/fp64/tiny/np2/buckets=legacy/bucket-mb=0.1"), 1);
  EXPECT_EQ(buckets_of("gpt2_step/fp64/tiny/np2/bucket-mb=0.1"), 7);
  EXPECT_EQ(buckets_of("gpt2_step/fp64/tiny/np2/zero2/bucket-mb=0.01"), 10);
  EXPECT_NO_THROW(require_equal_shards(
      parse_case_name("gpt2_step/fp64/tiny/np8/zero2/bucket-mb=0.01").training.value(), 8));
}

TEST(BucketSettings, LeaveOutAFractionOfAByteAsPyTorchDoes) {
  TrainingParameters training;
  training.bucket_mib = 0.3;
  EXPECT_EQ(bucket_settings(training).limit, Bytes{314572}) << "of 314572.8";
}

// Takes 497,759,232 bytes in fp32, of which the final norm has 6,144.
TEST(TrainingPayload, IsThatOfTheFormulas) {
  const double size = 497759232.0;
  const auto payload = [](TrainingStrategy strategy, int ranks) {
    TrainingParameters training;
    training.strategy = strategy;
    return training_payload(training, ranks);
  };
  EXPECT_EQ(payload(TrainingStrategy::none, 8), 0.0);
  EXPECT_EQ(payload(TrainingStrategy::ddp, 1), 0.0);
  EXPECT_EQ(payload(TrainingStrategy::ddp, 2), 2 * size);
  EXPECT_EQ(payload(TrainingStrategy::zero2, 2), 2 * size);
  EXPECT_EQ(payload(TrainingStrategy::zero3, 2), 3 * size - 6144);
  EXPECT_EQ(payload(TrainingStrategy::ddp, 8), 14 * size);
  EXPECT_EQ(payload(TrainingStrategy::zero2, 8), 14 * size);
  EXPECT_EQ(payload(TrainingStrategy::zero3, 8), 21 * size - 7 * 6144);
}

}  // namespace
}  // namespace linkgain::test
