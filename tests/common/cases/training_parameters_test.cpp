#include "linkgain/gpt2/training_parameters.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/cases/traffic.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  try {
    training_case("gpt2_step/fp32/gpt2/np2/zeroo3");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("zero3"));
  }
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

// 2 S (n - 1) / n a rank for ddp and zero2, 3 S (n - 1) / n for zero3, the least that rings can do
// (P. Patarasuk, X. Yuan 2009).
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
    try {
      combinations(selection);
      FAIL() << mib;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(": 0.01 to 4096 MiB"));
    }
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

}  // namespace
}  // namespace linkgain::test
