#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/base/text.hpp"
#include "linkgain/cases/profiles.hpp"
#include "linkgain/cases/selection.hpp"
#include "linkgain/formats/csv.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/report/report.hpp"
#include "support/counted_records.hpp"
#include "support/golden.hpp"
#include "support/sample_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

/// Makes a case from the bytes per second of both variants.
CaseResult case_at(const Case& definition, double p2p_rate, double host_rate) {
  const auto bytes = static_cast<double>(definition.size.value);
  const double p2p = 5e-6 + bytes / p2p_rate;
  const double host = 8e-6 + bytes / host_rate;
  return nvlink_case(definition, p2p, host, 0.99 * host / p2p, 1.01 * host / p2p);
}

/// Has what a profile measures on so many GPUs that NVLink joins, except for its trainings.
Record record_of(Profile profile, int ranks) {
  Record record = two_gpus();
  record.machine.ranks.clear();
  record.machine.links.clear();
  for (int rank = 0; rank < ranks; ++rank) {
    record.machine.ranks.push_back(h200(rank));
    for (int to = rank + 1; to < ranks; ++to) {
      record.machine.links.push_back({rank, to, true, true, Ancestor::node, 18});
    }
  }
  record.settings.profile = name_of(profile);
  const ProfilePlan plan = plan_of(profile, BackendKind::nccl);
  for (const Case& definition : expand(plan.selections, ranks, BackendKind::nccl)) {
    if (is_training(definition.operation)) continue;
    record.cases.push_back(case_at(definition, 360e9, 27e9));
  }
  return record;
}

/// Has more curves than are shown one by one: all_reduce of every type and reduction, by graph, in
/// place and by kernel, copies between all of four GPUs, one slower each way, and send_recv.
Record many_curves() {
  Record record = record_of(Profile::full, 4);
  record.cases.clear();
  const auto add = [&](const std::string& name, double p2p_rate = 300e9) {
    record.cases.push_back(case_at(parse_case_name(name), p2p_rate, 27e9));
  };
  for (const char* size : {"64KiB", "1MiB", "256MiB"}) {
    for (const char* tail : {"", "/kernel", "/graph", "/inplace"}) {
      add(std::string("all_reduce/float32/sum/") + size + "/np4" + tail);
    }
  }
  for (const DataType type : kValues<DataType>) {
    for (const Reduction reduction : kValues<Reduction>) {
      if (!supports(BackendKind::nccl, type) || !supports(BackendKind::nccl, reduction)) continue;
      if (type == DataType::float32 && reduction == Reduction::sum) continue;
      add("all_reduce/" + std::string(name_of(type)) + "/" + std::string(name_of(reduction)) +
              "/16MiB/np4",
          type == DataType::int8 ? 20e9 : 250e9);
    }
  }
  for (const char* size : {"1MiB", "256MiB"}) {
    for (const char* tail : {"/pair=0-1", "/kernel/pair=0-1"}) {
      add(std::string("copy_push/") + size + "/np4" + tail, 390e9);
    }
    add(std::string("send_recv/float32/") + size + "/np4");
  }
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (from == to) continue;
      add("send_recv/float32/256MiB/np4/pair=" + std::to_string(from) + "-" + std::to_string(to),
          from == 3 ? 150e9 : 360e9);
    }
  }
  return record;
}

std::ptrdiff_t lines_in(const std::string& text) { return std::ranges::count(text, '\n'); }

TEST(CondensedReport, HasTheFirstCurvesAndARowForEachGroup) {
  expect_golden(to_markdown(run_report(RunSummary(complete(many_curves())))),
                "report_condensed.md");
}

TEST(CondensedReport, OfTheFullProfileIsAtMost500Lines) {
  for (const int ranks : {2, 4, 8}) {
    const Record record = record_of(Profile::full, ranks);
    const RunSummary summary(record);
    EXPECT_TRUE(summary.is_condensed);
    // Trainings, health, warnings and the like, which are as long as in other reports.
    constexpr std::ptrdiff_t kOtherLines = 80;
    EXPECT_LE(lines_in(to_markdown(run_report(summary))) + kOtherLines, 500) << ranks << " ranks";
  }
}

TEST(CondensedReport, IsNotOfOtherProfiles) {
  for (const Profile profile : {Profile::quick, Profile::standard, Profile::node}) {
    for (const int ranks : {2, 8}) {
      const Record record = record_of(profile, ranks);
      EXPECT_FALSE(RunSummary(record).is_condensed) << name_of(profile) << ", " << ranks;
    }
  }
}

TEST(CondensedReport, HasEveryCurveOnce) {
  const Record record = many_curves();
  const RunSummary summary(record);
  std::vector<std::string> names;
  for (const Curve* curve : summary.curves()) names.push_back(curve->name);
  for (const PairsSummary* pairs : summary.pairs()) {
    if (!pairs->by_pair) continue;
    for (const CaseSummary* each : pairs->cases.cases) {
      names.push_back(curve_name(each->definition()));
    }
  }
  std::set<std::string> expected;
  for (const CaseResult& result : record.cases) expected.insert(curve_name(result.definition));
  EXPECT_THAT(names, UnorderedElementsAreArray(expected));
}

using Row = std::map<std::string, std::string>;

/// Reads the CSV's rows by case and variant.
std::map<std::pair<std::string, std::string>, Row> rows_of(const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  const std::vector<std::string> titles = split(lines.front(), ',');
  std::map<std::pair<std::string, std::string>, Row> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<std::string> fields = split(lines[i], ',');
    Row row;
    for (std::size_t field = 0; field < fields.size(); ++field) {
      row[std::string(titles[field])] = fields[field];
    }
    rows[{row["case"], row["variant"]}] = row;
  }
  return rows;
}

TEST(CondensedReport, LeavesNoFigureOutThatIsNotInTheCsv) {
  const Record record = complete(many_curves());
  const RunSummary summary(record);
  auto rows = rows_of(csv(summary));
  for (const CaseSummary& each : summary.cases) {
    const std::string name = case_name(each.definition());
    for (const VariantSummary& variant : each.variants) {
      const VariantResult& result = *variant.result;
      Row& row = rows[{name, result.variant}];
      ASSERT_FALSE(row.empty()) << name;
      EXPECT_EQ(std::stod(row["time_s"]), result.time->value) << name;
      EXPECT_EQ(std::stod(row["busbw_gb_per_s"]), *result.busbw) << name;
      EXPECT_EQ(row["path"], name_of(result.path)) << name;
      EXPECT_EQ(row["nvlink_sent_bytes"], std::to_string(*result.evidence->nvlink_sent)) << name;
      EXPECT_EQ(std::stod(row["expected_bytes"]), *result.evidence->expected) << name;
      EXPECT_EQ(row["protocol"], result.evidence->plan.protocol) << name;
      EXPECT_EQ(row["not_judged_because"], result.evidence->reason) << name;
      EXPECT_EQ(row["nvlink_share"].empty(), !result.evidence->nvlink_share()) << name;
      EXPECT_EQ(row["fraction_of_limit"].empty(), !variant.limit_share) << name;
      EXPECT_EQ(row["library_ratio"].empty(), !variant.library_ratio) << name;
    }
    for (const Comparison& comparison : each.comparisons) {
      Row& row = rows[{name, comparison.other->variant}];
      EXPECT_EQ(std::stod(row["ratio"]), comparison.ratio->value) << name;
      EXPECT_EQ(std::stod(row["ratio_low"]), comparison.ratio->interval->low) << name;
      EXPECT_EQ(std::stod(row["ratio_high"]), comparison.ratio->interval->high) << name;
    }
  }
}

TEST(CondensedReport, CountsWrongDataInItsGroup) {
  Record record = many_curves();
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), Not(HasSubstr("WRONG DATA")));
  const auto wrong = std::ranges::find_if(record.cases, [](const CaseResult& result) {
    return result.definition.type == DataType::int8;
  });
  wrong->variants[1].verification = checked(8, 3, "");
  const RunSummary summary(record);
  EXPECT_THAT(to_markdown(size_tables(summary)), HasSubstr("| WRONG DATA |"));
  EXPECT_THAT(to_markdown(answer_document(summary)), HasSubstr("**WRONG DATA**: all_reduce int8"));
}

TEST(CondensedReport, CountsCasesThatDidNotConverge) {
  Record record = many_curves();
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), Not(HasSubstr("Not converged")));
  for (CaseResult& result : record.cases) {
    result.converged = result.definition.type != DataType::int8;
  }
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))),
              AllOf(HasSubstr("| Not converged |"), HasSubstr("|             6 |")));
}

TEST(CondensedReport, NamesNoWeakestPairWhereNoneDiffers) {
  const Record record = many_curves();
  const std::string text = to_markdown(pair_tables(RunSummary(record)));
  EXPECT_THAT(text, HasSubstr("- Weakest with p2p: GPU3 → GPU0, 149.6 GB/s"));
  EXPECT_THAT(text, HasSubstr("with host: 27.0 GB/s"));
}

TEST(CondensedReport, HasTheStepsOfAllCurves) {
  Record record = many_curves();
  std::int64_t size = 256 << 10;
  for (const double time : {10.33, 11.10, 15.33, 29.37, 34.72, 49.53}) {
    Case definition = parse_case_name("all_gather/float32/1MiB/np4");
    for (const LaunchMode launch : {LaunchMode::stream, LaunchMode::graph}) {
      definition.size = Bytes{size};
      definition.launch = launch;
      record.cases.push_back(nvlink_case(definition, time * 1e-6, 100e-6, 4.9, 5.1));
    }
    size *= 2;
  }
  const std::string text = to_markdown(size_tables(RunSummary(record)));
  EXPECT_THAT(text, HasSubstr("- all_gather: Step"));
  EXPECT_THAT(text, HasSubstr("- all_gather graph: Step"));
}

TEST(CondensedReport, HasARowForEachOfManyVariants) {
  Record record = many_curves();
  record.settings.variants.push_back({"net", {}});
  for (CaseResult& result : record.cases) {
    result.variants.push_back(measured(result.definition, "net", 1.0, Path::network));
    result.ratios.push_back(ratio("net", 0.5, 0.4, 0.6));
  }
  const std::string text = to_markdown(size_tables(RunSummary(record)));
  EXPECT_THAT(text, HasSubstr("| Against |"));
  EXPECT_THAT(text, HasSubstr("| net     |"));
}

}  // namespace
}  // namespace linkgain::test
