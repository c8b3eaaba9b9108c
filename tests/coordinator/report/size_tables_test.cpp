#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/formats/csv.hpp"
#include "linkgain/report/report.hpp"
#include "support/counted_records.hpp"
#include "support/golden.hpp"
#include "support/sample_records.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SizeTable, SaysWhyAVariantWasSkipped) {
  expect_golden(to_markdown(size_tables(RunSummary(three_variants_record()))),
                "sizes_three_variants.md");
}

TEST(SizeTable, SaysSamePathInsteadOfARatio) {
  expect_golden(to_markdown(size_tables(RunSummary(phb_record()))), "sizes_same_path.md");
}

TEST(SizeTable, ShowsWrongDataInsteadOfTimes) {
  expect_golden(to_markdown(size_tables(RunSummary(wrong_data_record()))), "sizes_wrong_data.md");
}

TEST(SizeTable, HasNoColumnOfBandwidthsWhereThereAreNone) {
  Record record = load_latency_record();
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))),
              HasSubstr("| Size  | p2p      | host    | Speed-up |"));
  VariantResult third = record.cases[0].variants[1];
  third.variant = "net";
  record.cases[0].variants.push_back(third);
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))),
              HasSubstr("| Size  | Variant | Time     | Path        |"));
}

TEST(SizeTable, SortsSizesWithinACurve) {
  Record record = h200_record();
  std::swap(record.cases[0], record.cases[2]);
  EXPECT_EQ(to_markdown(size_tables(RunSummary(record))),
            to_markdown(size_tables(RunSummary(h200_record()))));
}

TEST(SizeTable, MarksGroupedOperations) {
  Record record = one_case(3.0e-3, 36.0e-3, 11.9, 12.1);
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), ::testing::Not(HasSubstr("- `g`")));
  for (VariantResult& variant : record.cases[0].variants) variant.execution.form = kGroupedForm;
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), HasSubstr("- `g`"));
}

TEST(SizeTable, OneLaunchHasNoInterval) {
  Record record = one_case(3.0e-3, 36.0e-3, 11.9, 12.1);
  record.cases[0].ratios[0].ratio = {.value = 12.0, .interval = {}, .replicates = 1};
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), HasSubstr("|    12.0x | one launch |"));
}

TEST(SizeTable, AVariantThatTakesLongerHasNegativeLessTime) {
  const std::string text =
      to_markdown(size_tables(RunSummary(one_case(10.0e-3, 9.3e-3, 0.92, 0.94))));
  EXPECT_THAT(text, HasSubstr("|    0.93x | 0.92–0.94x |    -7.5 % |"));
}

TEST(SizeTable, ExplainsOnlyTheMarksInUse) {
  EXPECT_THAT(to_markdown(size_tables(RunSummary(one_case(3.0e-3, 36.0e-3, 11.9, 12.1)))),
              Not(HasSubstr("- `")));
}

TEST(SizeTable, HasARowForEachOfManyVariants) {
  expect_golden(to_markdown(size_tables(RunSummary(complete(three_variants_record())))),
                "sizes_three_variants_counted.md");
}

/// Ignores lines outside of tables: legends may be longer.
std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::size_t width = 0;
  bool table = false;
  for (const char c : text) {
    if (c == '\n') {
      widest = table ? std::max(widest, width) : widest;
      width = 0;
    } else {
      table = width == 0 ? c == '|' : table;
      width += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
    }
  }
  return widest;
}

TEST(SizeTable, StaysNarrow) {
  EXPECT_LE(widest_line(to_markdown(size_tables(RunSummary(complete(h200_record()))))), 120U);
  EXPECT_LE(widest_line(to_markdown(size_tables(RunSummary(complete(three_variants_record()))))),
            120U);
}

TEST(SizeTable, MarksThrottledAndCappedSamples) {
  Record record = complete(one_case(3.27e-3, 39.0e-3, 11.83, 12.02));
  record.cases[0].variants[1].health.unhealthy_samples = 2;
  record.cases[0].variants[0].health.power_capped_samples = 1;
  const std::string text = to_markdown(size_tables(RunSummary(record)));
  EXPECT_THAT(text, HasSubstr("| p h   |"));
  EXPECT_THAT(text, HasSubstr("- `h`"));
  EXPECT_THAT(text, HasSubstr("- `p`"));
}

TEST(SizeTable, MarksDisturbedSamplesAndWideIntervalsApart) {
  Record record = complete(one_case(3.27e-3, 39.0e-3, 11.83, 12.02));
  record.cases[0].variants[1].disturbed_samples = 2;
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), HasSubstr("| d     |"));
  record.cases[0].converged = false;
  const std::string text = to_markdown(size_tables(RunSummary(record)));
  EXPECT_THAT(text, HasSubstr("| * d   |"));
  EXPECT_THAT(text, HasSubstr("- `*`"));
  EXPECT_THAT(text, HasSubstr("- `d` disturbed"));
  record.cases[0].variants[0].level_shift = LevelShift{3, 2, 2.4};
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), HasSubstr("| * c d |"));
}

/// Shows which of several ratios has the wide interval.
TEST(SizeTable, MarksTheRatioThatMissesItsPrecision) {
  Record record = complete(three_variants_record());
  CaseResult& result = record.cases.back();
  result.converged = false;
  for (RatioResult& each : result.ratios) {
    const double share = each.variant == "host" ? 0.1 : 0.001;
    each.ratio.interval = Interval{each.ratio.value * (1 - share), each.ratio.value * (1 + share)};
  }
  const std::string text = to_markdown(size_tables(RunSummary(record)));
  EXPECT_EQ(std::ranges::count(text.substr(0, text.find("\n- ")), '*'), 1);
  EXPECT_THAT(text, testing::ContainsRegex("host[^\n]*\\*"));
}

TEST(SizeTable, NamesPathsThatAreNotTheUsualOnes) {
  Record record = complete(h200_record());
  record.cases[0].variants[0].path = Path::mixed;
  const std::string text = to_markdown(size_tables(RunSummary(record)));
  EXPECT_THAT(text, HasSubstr("| * l w (1) |"));
  EXPECT_THAT(text, HasSubstr("- `(1)`"));
}

TEST(SizeTable, SaysWhichVariantWasNotJudged) {
  Record record = complete(one_case(3.27e-3, 39.0e-3, 11.83, 12.02));
  record.cases[0].variants[0].evidence = uncounted("no counters");
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), HasSubstr("|    ? / 0 |"));
  record.cases[0].variants[1].evidence = uncounted("no counters");
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), Not(HasSubstr("NVLink %")));
}

/// Has NCCL and our kernel at 8 B, 64 B, 1 KiB and 4 KiB, the kernel `factor` times as fast with
/// p2p, and 1.5 times without.
Record with_kernels(double factor) {
  Record record = two_gpus();
  for (const bool kernel : {false, true}) {
    for (const std::int64_t size : {8, 64, 1024, 4096}) {
      Case c = all_reduce(size);
      c.kernel = kernel;
      record.cases.push_back(
          nvlink_case(c, kernel ? 8e-6 / factor : 8e-6, kernel ? 12e-6 / 1.5 : 12e-6, 1.4, 1.6));
    }
  }
  return record;
}

TEST(KernelTable, SaysTheHeadroomAtEverySize) {
  EXPECT_THAT(to_markdown(size_tables(RunSummary(with_kernels(4.0)))),
              HasSubstr("| Size  | p2p   | host  |\n"
                        "| ----: | ----: | ----: |\n"
                        "|   8 B | 4.00x | 1.50x |\n"
                        "|  64 B | 4.00x | 1.50x |\n"
                        "| 1 KiB | 4.00x | 1.50x |\n"
                        "| 4 KiB | 4.00x | 1.50x |\n"));
}

/// Works it out: logs of the library's launches scatter by 0.00816, the kernel's by 0.00577; their
/// means' difference has a standard error of 0.005 and, by Welch, five degrees of freedom:
/// Student's t is 2.57.
TEST(KernelTable, HasIntervalsOverLaunches) {
  Record record = with_kernels(4.0);
  const auto add = [&](std::size_t place, int launch, double seconds) {
    for (int round = 0; round < kFewestSamples; ++round) {
      record.cases[place].samples.push_back({.variant = 0,
                                             .launch = launch,
                                             .round = round,
                                             .times = {Seconds{seconds}},
                                             .health = {}});
    }
  };
  for (int launch = 0; launch < 4; ++launch) {
    add(0, launch, 8e-6 * std::exp(launch == 0 ? 0.01 : launch == 1 ? -0.01 : 0.0));
    add(4, launch, 2e-6 * std::exp(launch % 2 == 0 ? 0.005 : -0.005));
  }
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))),
              HasSubstr("| Size  | p2p   | 95 % CI    | host  |\n"
                        "| ----: | ----: | ---------: | ----: |\n"
                        "|   8 B | 4.00x | 3.95–4.05x | 1.50x |\n"
                        "|  64 B | 4.00x |            | 1.50x |\n"));
}

TEST(KernelTable, SaysWhereNcclIsFaster) {
  EXPECT_THAT(to_markdown(size_tables(RunSummary(with_kernels(0.8)))),
              HasSubstr("|   8 B | 0.80x | 1.50x |"));
}

TEST(KernelTable, NeedsBothTimes) {
  Record record = with_kernels(4.0);
  record.cases.erase(record.cases.begin(), record.cases.begin() + 4);
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))),
              Not(HasSubstr("| Size  | p2p   | host  |")));
  record = with_kernels(4.0);
  record.cases[0].variants[0].time.reset();
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), HasSubstr("|   8 B |       | 1.50x |"));
}

TEST(KernelTable, SaysNothingOfWrongData) {
  Record record = with_kernels(4.0);
  Verification wrong;
  wrong.checked = 2;
  wrong.wrong = 1;
  record.cases[4].variants[0].verification = wrong;
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), HasSubstr("|   8 B |       | 1.50x |"));
}

Record copies_record() {
  Record record = two_gpus();
  for (const bool kernel : {false, true}) {
    Case c = parse_case_name(kernel ? "copy_push/1MiB/np2/kernel/pair=0-1"
                                    : "copy_push/1MiB/np2/pair=0-1");
    record.cases.push_back(nvlink_case(c, kernel ? 4e-6 : 2e-6, 30e-6, 7.0, 9.0));
  }
  return record;
}

TEST(KernelTable, HoldsACopyAgainstTheCopyEngine) {
  EXPECT_THAT(to_markdown(size_tables(RunSummary(copies_record()))),
              HasSubstr("| Size  | p2p   | host  |\n"
                        "| ----: | ----: | ----: |\n"
                        "| 1 MiB | 0.50x | 1.00x |\n"));
}

/// Has all-reduces from 256 KiB on, each `factor` times the last, that take so many microseconds
/// with p2p and 100 with host.
Record curve_of(const std::vector<double>& times, int factor = 2) {
  Record record = two_gpus();
  std::int64_t size = 256 << 10;
  for (const double time : times) {
    record.cases.push_back(nvlink_case(all_reduce(size), time * 1e-6, 100e-6, 4.9, 5.1));
    size *= factor;
  }
  return record;
}

/// Has times as measured on two H200.
Record stepping_record() { return curve_of({10.33, 11.10, 15.33, 29.37, 34.72, 49.53}); }

/// Launches the same sizes by graph below 1 MiB.
Record automatic_curve_of(const std::vector<double>& times) {
  Record record = curve_of(times);
  for (CaseResult& result : record.cases) {
    if (result.definition.size < kLaunchBoundBelow) result.definition.launch = LaunchMode::graph;
  }
  return record;
}

/// Times that a program by graph below 1 MiB and by stream from there on may well have.
const std::vector<double> kOtherByStream{8, 9, 30, 31, 32, 33};

TEST(SizeTable, SaysHowEachSizeWasLaunched) {
  Record record = automatic_curve_of(kOtherByStream);
  std::swap(record.cases[0], record.cases[4]);
  expect_golden(to_markdown(size_tables(RunSummary(record))), "sizes_by_graph_and_stream.md");
  for (CaseResult& result : record.cases) {
    result.variants.push_back(measured(result.definition, "net", 100e-6, Path::network));
  }
  expect_golden(to_markdown(size_tables(RunSummary(record))),
                "sizes_by_graph_and_stream_of_three.md");
}

TEST(SizeTable, KeepsLaunchModesApartWhereASizeHasBoth) {
  Record record = automatic_curve_of(kOtherByStream);
  const Record streams = curve_of(kOtherByStream);
  record.cases.push_back(streams.cases[0]);
  const RunSummary summary(record);
  const std::vector<const Curve*> curves = summary.curves();
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0]->name, "all_reduce/float32/sum/np2/graph");
  EXPECT_EQ(curves[1]->name, "all_reduce/float32/sum/np2");
  EXPECT_EQ(curves[1]->cases.size(), 5U);
  EXPECT_EQ(summary.groups.size(), 2U);
}

TEST(StepLines, AreOfOneLaunchModeEach) {
  const auto steps = [](const Record& record) {
    return RunSummary(record).curves().front()->steps.size();
  };
  EXPECT_EQ(steps(curve_of(kOtherByStream)), 1U) << "by stream throughout";
  EXPECT_EQ(steps(automatic_curve_of(kOtherByStream)), 0U);
  EXPECT_EQ(steps(automatic_curve_of({8, 9, 12, 13, 40, 42, 45})), 1U) << "from 2 to 4 MiB";
}

/// Sets NCCL's plans for p2p at the sizes that the step lies between, 1 and 2 MiB.
Record with_plans(TransferPlan from, TransferPlan to) {
  Record record = complete(stepping_record());
  record.cases[2].variants[0].evidence->plan = std::move(from);
  record.cases[3].variants[0].evidence->plan = std::move(to);
  return record;
}

constexpr const char* kStep = "- Step from 1 MiB to 2 MiB with p2p: ";

TEST(SizeTables, SayWhatIsBelowThem) {
  Situations lines;
  const auto add = [&](const std::string& situation, const Record& record) {
    lines.add(situation, without_tables(to_markdown(size_tables(RunSummary(record)))));
  };
  Record record = complete(one_case(3.27e-3, 39.0e-3, 11.83, 12.02));
  record.cases[0].variants[1].health.unhealthy_samples = 2;
  record.cases[0].variants[0].health.power_capped_samples = 1;
  for (VariantResult& variant : record.cases[0].variants) variant.execution.form = kGroupedForm;
  record.cases[0].variants[1].fraction_of_limit = 1.19;
  record.cases[0].converged = false;
  add("grouped, throttled, at the power limit, above the limit, not converged", record);
  record = complete(h200_record());
  record.cases[0].variants[0].path = Path::mixed;
  add("another path at one size", record);
  add("NCCL and a kernel", with_kernels(4.0));
  add("a copy by kernel and by copy engine", copies_record());
  add("a step", stepping_record());
  record = stepping_record();
  for (CaseResult& result : record.cases) {
    result.variants.push_back(measured(result.definition, "net", 100e-6, Path::network));
    result.variants.push_back(result.variants[0]);
    result.variants.back().variant = "ring";
  }
  add("steps of two variants of four", record);
  add("another protocol", with_plans({"RING", "LL"}, {"RING", "SIMPLE"}));
  add("another algorithm", with_plans({"TREE", "LL"}, {"RING", "LL"}));
  add("the same plan", with_plans({"RING", "SIMPLE"}, {"RING", "SIMPLE"}));
  add("the same protocol", with_plans({"", "SIMPLE"}, {"", "SIMPLE"}));
  add("no plan known before the step", with_plans({}, {"RING", "SIMPLE"}));
  add("no plan known after the step", with_plans({"RING", "LL"}, {}));
  add("no plan known", with_plans({}, {}));
  add("a fall", curve_of({15, 24, 42, 32, 48, 80}));
  add("sizes that grow sixteenfold", curve_of({10, 10, 150, 160, 170}, 16));
  record = curve_of({10, 10, 40, 40});
  record.cases[2].definition.size = Bytes{1280 << 10};
  add("sizes that grow unevenly", record);
  expect_golden(lines.text(), "sizes_lines.md");
  EXPECT_THAT(to_markdown(run_report(RunSummary(stepping_record()))), HasSubstr(kStep));
}

TEST(StepLines, AreNotInTheCsv) {
  const std::string text = csv(RunSummary(stepping_record()));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1 + 6 * 2);  // header, sizes by variants
}

/// Covers launches added for some cases, and those lost with a job.
TEST(SizeTables, SayOverHowManyLaunchesWhereTheyDiffer) {
  Record record = h200_record();
  record.cases[0].ratios[0].ratio.replicates = 12;
  expect_golden(to_markdown(size_tables(RunSummary(record))), "sizes_launches.md");
  Record three = three_variants_record();
  three.cases[0].ratios[1].ratio.replicates = 2;
  expect_golden(to_markdown(size_tables(RunSummary(three))), "sizes_launches_three_variants.md");
}

}  // namespace
}  // namespace linkgain::test
