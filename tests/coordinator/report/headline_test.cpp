#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/report/report.hpp"
#include "support/golden.hpp"
#include "support/pair_records.hpp"
#include "support/sample_records.hpp"

namespace linkgain {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using namespace linkgain::test;

TEST(Headline, IsThePagesTable) {
  EXPECT_EQ(headline(RunSummary(one_case(3.27e-3, 39.0e-3, 11.83, 12.02))),
            "| NVLink | all_reduce 1 GiB | busbw      | Path        |\n"
            "| ------ | ---------------: | ---------: | ----------- |\n"
            "| Y      |          3.27 ms | 328.4 GB/s | NVLink      |\n"
            "| N      |         39.00 ms |  27.5 GB/s | host memory |\n"
            "\n"
            "With P2P the same all-reduce takes 92 % less time (11.9x, 95 % CI 11.8x to 12.0x).\n");
}

TEST(Headline, HasNoColumnOfBandwidthsWhereThereAreNone) {
  EXPECT_THAT(headline(RunSummary(load_latency_record())),
              StartsWith("| NVLink | load_latency 0->1 2 MiB | Path        |\n"
                         "| ------ | ----------------------: | ----------- |\n"
                         "| Y      |                860.0 ns | NVLink      |\n"
                         "| N      |                 1.21 us | host memory |\n"));
}

TEST(Headline, HasATableForEachCurvesLargestSize) {
  expect_golden(headline(RunSummary(h200_record())), "headline_h200.md");
}

TEST(Headline, ThreeVariantsCarryTheirNames) {
  expect_golden(headline(RunSummary(three_variants_record())), "headline_three_variants.md");
}

TEST(Headline, WrongDataTakesThePlaceOfTheSpeedUp) {
  expect_golden(headline(RunSummary(wrong_data_record())), "headline_wrong_data.md");
}

TEST(Headline, MpiIsNamedAsWhatItIs) {
  expect_golden(headline(RunSummary(mpi_record())), "headline_mpi.md");
}

TEST(Headline, TheSameRoadGivesNoRatio) {
  const std::string text = headline(RunSummary(phb_record()));
  EXPECT_THAT(text, StartsWith("| P2P | all_reduce 256 MiB | busbw     | Path        |\n"));
  EXPECT_THAT(text, HasSubstr("Both took the same road, host memory,"));
  EXPECT_THAT(text, Not(HasSubstr("0.998x")));
  EXPECT_THAT(text, Not(HasSubstr("less time")));
}

TEST(Headline, TheSameRoadIsNoMatterBetweenAlgorithms) {
  Record record = one_case(3.0e-3, 3.6e-3, 1.19, 1.21);
  record.settings.variants = {{"ring", {{"NCCL_ALGO", "Ring"}}}, {"tree", {{"NCCL_ALGO", "Tree"}}}};
  record.settings.environment_in_force.clear();
  record.cases[0].variants[0].variant = "ring";
  record.cases[0].variants[1].variant = "tree";
  record.cases[0].variants[1].path = Path::nvlink;
  record.cases[0].ratios[0].variant = "tree";
  const std::string text = headline(RunSummary(record));
  EXPECT_THAT(text, StartsWith("| Variant |"));
  EXPECT_THAT(text, HasSubstr("| ring "));
  EXPECT_THAT(text, HasSubstr("With ring the same all-reduce takes 17 % less time than with tree "
                              "(1.20x, 95 % CI 1.19x to 1.21x)."));
}

TEST(Headline, TheSameRoadIsSaidOfVariantsThatShouldDiffer) {
  Record record = one_case(3.0e-3, 3.0e-3, 0.99, 1.01);
  record.settings.variants = {{"p2p", {}}, {"p2p-sys", {{"NCCL_P2P_LEVEL", "SYS"}}}};
  record.settings.environment_in_force.clear();
  record.cases[0].variants[1].variant = "p2p-sys";
  record.cases[0].variants[1].path = Path::nvlink;
  record.cases[0].ratios[0].variant = "p2p-sys";
  EXPECT_THAT(headline(RunSummary(record)),
              HasSubstr("p2p and p2p-sys took the same road, NVLink"));
}

TEST(Headline, TheColumnSaysNvlinkOnlyWhereItIsKnown) {
  for (const Path path : {Path::unknown, Path::pcie_p2p, Path::mixed}) {
    Record record = one_case(3.27e-3, 39.0e-3, 11.83, 12.02);
    record.cases[0].variants[0].path = path;
    EXPECT_THAT(headline(RunSummary(record)), StartsWith("| P2P |")) << name_of(path);
    EXPECT_THAT(headline(RunSummary(record)),
                HasSubstr("With P2P the same all-reduce takes 92 % less time"));
  }
}

TEST(Headline, TheColumnDoesNotSayNvlinkWhereTheOtherVariantUsedIt) {
  for (const Path path : {Path::nvlink, Path::mixed}) {
    Record record = one_case(3.27e-3, 39.0e-3, 11.83, 12.02);
    record.cases[0].variants[1].path = path;
    EXPECT_THAT(headline(RunSummary(record)), StartsWith("| P2P |")) << name_of(path);
  }
}

TEST(Headline, P2pForbiddenFromOutsideIsNoP2pRow) {
  Record record = one_case(3.27e-3, 39.0e-3, 11.83, 12.02);
  record.cases[0].variants[0].path = Path::unknown;
  record.settings.environment_in_force[0]["NCCL_P2P_DISABLE"] = "1";
  EXPECT_THAT(headline(RunSummary(record)), StartsWith("| Variant |"));
}

TEST(Headline, SaysThatTheFirstVariantTakesLonger) {
  const std::string text = headline(RunSummary(one_case(10.0e-3, 9.3e-3, 0.92, 0.94)));
  EXPECT_THAT(text, HasSubstr("With P2P the same all-reduce does not take less time, it takes "
                              "7.5 % longer (0.93x, 95 % CI 0.92x to 0.94x).\n"));
}

TEST(Headline, SaysThatNoDifferenceWasFound) {
  const std::string text = headline(RunSummary(one_case(10.0e-3, 10.0e-3, 0.99, 1.01)));
  EXPECT_THAT(text, HasSubstr("No difference was found between the same all-reduce with P2P and "
                              "without (1.00x, 95 % CI 0.99x to 1.01x).\n"));
  EXPECT_THAT(text, Not(HasSubstr("less time")));
}

TEST(Headline, SaysThatThereAreTooFewRounds) {
  Record record = one_case(3.27e-3, 39.0e-3, 11.83, 12.02);
  record.cases[0].ratios[0].ratio = {.estimate = 11.9, .low = {}, .high = {}, .rounds = 3};
  EXPECT_THAT(headline(RunSummary(record)),
              HasSubstr("With P2P the same all-reduce took 92 % less time "
                        "(11.9x) in 3 rounds, too few for a confidence interval."));
  record.cases[0].ratios[0].ratio = {.estimate = 0.8, .low = {}, .high = {}, .rounds = 1};
  EXPECT_THAT(headline(RunSummary(record)),
              HasSubstr("did not take less time (0.80x) in 1 round, too few"));
}

TEST(Headline, SaysThatTheIntervalIsTooWide) {
  Record record = one_case(3.0e-3, 36.0e-3, 11.4, 12.6);
  record.cases[0].converged = false;
  record.cases[0].stopped = StopReason::out_of_time;
  EXPECT_THAT(headline(RunSummary(record)),
              HasSubstr("12.6x). Not converged (out of time): the interval is ±5.0 % of the ratio, "
                        "±1 % was asked for.\n"));
}

TEST(Headline, SaysNothingOfConvergenceWhereTheIntervalIsNarrow) {
  Record record = one_case(3.0e-3, 36.0e-3, 11.95, 12.05);
  record.cases[0].converged = false;  // another variant's interval is the wide one
  EXPECT_THAT(headline(RunSummary(record)), Not(HasSubstr("Not converged")));
}

TEST(Headline, FallsBackToTheLargestSizeThatBothMeasured) {
  Record record = h200_record();
  record.cases[2].variants[1] = skipped("host", "out of memory");
  record.cases[2].ratios.clear();
  EXPECT_THAT(headline(RunSummary(record)), StartsWith("| NVLink | all_reduce 1 MiB |"));
}

TEST(Headline, HasOneTableForAllPairs) {
  Record record = two_gpus_pairs_record();
  slow_down(record.cases[1].variants[0], record.cases[1].definition, 1.02);
  EXPECT_EQ(headline(RunSummary(record)),
            "| NVLink | send_recv 1->0 512 MiB | busbw      | Path        |\n"
            "| ------ | ---------------------: | ---------: | ----------- |\n"
            "| Y      |                1.47 ms | 365.3 GB/s | NVLink      |\n"
            "| N      |               14.00 ms |  38.3 GB/s | host memory |\n"
            "\n"
            "With P2P the same send-recv takes 90 % less time (9.72x, 95 % CI 9.70x to 9.74x).\n"
            "\n"
            "Of 2 pairs compared it takes longest with p2p; send_recv 0->1 takes least: "
            "1.44 ms (NVLink, speed-up 9.83x).\n"
            "\n"
            "| NVLink | send_recv 0<->1 512 MiB | busbw      | Path        |\n"
            "| ------ | ----------------------: | ---------: | ----------- |\n"
            "| Y      |                 1.47 ms | 365.2 GB/s | NVLink      |\n"
            "| N      |                22.00 ms |  24.4 GB/s | host memory |\n"
            "\n"
            "With P2P the same send-recv takes 93 % less time (15.0x, 95 % CI 14.9x to 15.0x).\n");
}

TEST(Headline, NamesNoPairWhereTheyDoNotDiffer) {
  Record record = two_gpus_pairs_record();  // 0.4 % apart
  const std::string text = headline(RunSummary(record));
  EXPECT_THAT(text, StartsWith("| NVLink | send_recv 0->1 512 MiB |"));
  EXPECT_THAT(text, HasSubstr("\nThe 2 pairs compared do not differ by more than 1 % with p2p.\n"));
  EXPECT_THAT(text, Not(HasSubstr("takes longest")));
  slow_down(record.cases[0].variants[0], record.cases[0].definition, 1.008);
  EXPECT_THAT(headline(RunSummary(record)), StartsWith("| NVLink | send_recv 0->1 512 MiB |"))
      << "the same pair, which is now the slower one";
  record.settings.precision = 0.002;
  EXPECT_THAT(headline(RunSummary(record)),
              HasSubstr("Of 2 pairs compared it takes longest with p2p; send_recv "
                        "1->0 takes least"));
}

TEST(Headline, OfPairsShowsTheWeakestOfTheLargestSize) {
  Record record = four_gpus();
  add_pairs(record, 1 << 20, false);
  add_pairs(record, kLargePair, false);
  const std::string text = headline(RunSummary(record));
  EXPECT_THAT(text, StartsWith("| P2P | send_recv 0->3 256 MiB |"));
  EXPECT_THAT(text, HasSubstr("Of 12 pairs compared it takes longest with p2p; send_recv "
                              "1->0 takes least: 5.18 ms (NVLink, speed-up 5.76x).\n"));
  EXPECT_EQ(text.find("| P2P |", 1), std::string::npos);
}

TEST(Headline, NamesPairsWithWrongData) {
  const std::string text = headline(RunSummary(troubled_pairs_record()));
  EXPECT_THAT(text, HasSubstr("\n**WRONG DATA** at other pairs: send_recv 1->0 256 MiB.\n"));
  EXPECT_THAT(text, StartsWith("| P2P | send_recv 3->0 256 MiB |"));
}

TEST(Headline, DoesNotNameEveryPairOfManyWithWrongData) {
  Record record = four_gpus();
  add_pairs(record, kLargePair, false);
  for (CaseResult& result : record.cases) {
    result.variants[0].verification = checked(100, 1, {});
  }
  EXPECT_THAT(headline(RunSummary(record)), HasSubstr(" and 3 more.\n"));
}

TEST(Headline, SaysWhyNothingCouldBeCompared) {
  Record record = one_case(3.0e-3, 36.0e-3, 11.9, 12.1);
  record.cases[0].variants[1] = skipped("host", "out of memory");
  record.cases[0].ratios.clear();
  EXPECT_EQ(headline(RunSummary(record)),
            "all_reduce: no size was measured with the first variant and another one (host: out of "
            "memory).\n");
}

TEST(Headline, SaysThatNoPairCouldBeCompared) {
  Record record = four_gpus();
  add_pairs(record, kLargePair, true);
  for (CaseResult& result : record.cases) {
    result.variants = {skipped("p2p", "no time left"), skipped("host", "no time left")};
    result.ratios.clear();
  }
  EXPECT_EQ(headline(RunSummary(record)),
            "send_recv between pairs, both ways: no pair was measured with the first variant and "
            "another one (p2p: no time left; host: no time left).\n");
}

TEST(Headline, SaysThatTimesWithoutARoundInCommonAreNoRatio) {
  Record record = one_case(3.0e-3, 36.0e-3, 11.9, 12.1);
  record.cases[0].ratios.clear();
  EXPECT_THAT(headline(RunSummary(record)), HasSubstr("No round measured both p2p and host"));
}

TEST(Headline, SaysThatTheRunWasCutShort) {
  Record record = one_case(3.0e-3, 36.0e-3, 11.9, 12.1);
  record.status = RunStatus::interrupted;
  EXPECT_THAT(headline(RunSummary(record)), HasSubstr("\nThe run is not complete (interrupted)"));
  record.cases.clear();
  EXPECT_THAT(headline(RunSummary(record)), StartsWith("Nothing was measured.\n"));
}

TEST(Headline, ParametersThatAreNotTheDefaultStandInTheTable) {
  Case definition = all_reduce(1 << 20);
  definition.type = DataType::bfloat16;
  definition.reduction = Reduction::max;
  definition.in_place = true;
  definition.launch = LaunchMode::graph;
  Record record = two_gpus();
  record.cases = {nvlink_case(definition, 15e-6, 60e-6, 3.99, 4.01)};
  EXPECT_THAT(headline(RunSummary(record)),
              StartsWith("| NVLink | all_reduce bfloat16 max in place graph 1 MiB |"));
}

TEST(Headline, OfVeryManyCurvesShowsTheFirstOfEachOperationAndWrongData) {
  Record record = two_gpus();
  for (const DataType type : kDataTypes) {
    for (const OperationKind operation : {OperationKind::all_reduce, OperationKind::all_gather}) {
      Case c = all_reduce(1 << 20);
      c.operation = operation;
      c.type = type;
      record.cases.push_back(nvlink_case(c, 2e-5, 6e-5, 2.9, 3.1));
    }
  }
  std::string text = headline(RunSummary(record));
  EXPECT_THAT(text, HasSubstr("| all_reduce 1 MiB |"));
  EXPECT_THAT(text, HasSubstr("| all_gather 1 MiB |"));
  EXPECT_THAT(text, Not(HasSubstr("float16")));
  EXPECT_THAT(text, HasSubstr("22 curves more are in the tables by size and by pair."));
  Verification& verification = record.cases.back().variants[0].verification.emplace();
  verification.checked = 8;
  verification.wrong = 1;
  text = headline(RunSummary(record));
  EXPECT_THAT(text, HasSubstr("**WRONG DATA**"));
  EXPECT_THAT(text, HasSubstr("21 curves more"));
}

}  // namespace
}  // namespace linkgain
