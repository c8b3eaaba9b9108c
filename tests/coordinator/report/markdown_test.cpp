#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "linkgain/report/report.hpp"
#include "support/counted_records.hpp"
#include "support/golden.hpp"
#include "support/pair_records.hpp"
#include "support/sample_records.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string replaced_all(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
  }
  return text;
}

TEST(MarkdownReport, OfTwoH200) {
  expect_golden(to_markdown(run_report(RunSummary(h200_record()))), "report_h200.md");
}

TEST(MarkdownReport, HasPairsBehindSizes) {
  const std::string text = to_markdown(run_report(RunSummary(two_gpus_pairs_record())));
  const std::size_t pairs = text.find("\n## Pairs\n");
  ASSERT_NE(pairs, std::string::npos);
  EXPECT_LT(text.find("\n## By size\n"), pairs);
  EXPECT_LT(pairs, text.find("\n## Variants\n"));
  EXPECT_THAT(to_markdown(run_report(RunSummary(one_case(3.0e-3, 36.0e-3, 11.9, 12.1)))),
              Not(HasSubstr("## Pairs")));
  EXPECT_THAT(to_markdown(run_report(RunSummary(four_gpus_record()))),
              Not(HasSubstr("## By size")));
}

TEST(MarkdownReport, OfTwoH200WithEvidenceAndHealth) {
  expect_golden(to_markdown(run_report(RunSummary(complete(h200_record())))),
                "report_h200_counted.md");
}

TEST(MarkdownReport, OfTheMpiBackend) {
  expect_golden(to_markdown(run_report(RunSummary(mpi_record()))), "report_mpi.md");
}

TEST(MarkdownReport, OfARecordWithNothingInIt) {
  expect_golden(to_markdown(run_report(RunSummary(Record{}))), "report_empty.md");
}

TEST(MarkdownReport, NamesAWarningThatThisVersionDoesNotKnow) {
  Record record = h200_record();
  record.warnings = {{"of-tomorrow", "something new", ""}};
  EXPECT_THAT(to_markdown(warnings_section(record)), HasSubstr("`of-tomorrow` (not known "));
}

constexpr const char* kHostile = "x <img src=x> [a](http://b)";

bool acts(const std::string& markdown) {
  const std::string rest = replaced_all(replaced_all(markdown, "\\<img", ""), "[a]\\(http", "");
  return rest.find("<img") != std::string::npos || rest.find("](http") != std::string::npos;
}

/// Covers each text that a record has from others.
TEST(MarkdownReport, HasTextOfOthersThatActsOnNothing) {
  const auto change_all = [](const std::function<void(VariantResult&)>& change) {
    Record record = complete(h200_record());
    for (CaseResult& result : record.cases) {
      for (VariantResult& variant : result.variants) change(variant);
    }
    return to_markdown(run_report(RunSummary(record)));
  };
  const std::string wrong = change_all([](VariantResult& variant) {
    variant.verification = Verification{1000, 1, 0.25, 0.0, kHostile};
  });
  const std::string not_judged = change_all([](VariantResult& variant) {
    if (!variant.evidence) return;
    variant.evidence->judged = false;
    variant.evidence->reason = kHostile;
  });
  const std::string skipped = change_all([](VariantResult& variant) {
    if (variant.variant == "p2p") return;
    variant.skipped = Skip{.refusal = kHostile};
    variant.time.reset();
  });
  for (const std::string& text : {wrong, not_judged, skipped}) {
    EXPECT_THAT(text, HasSubstr("x \\<img"));
    EXPECT_FALSE(acts(text)) << text;
  }
}

TEST(MarkdownReport, HasNoWarningsSectionWithoutWarnings) {
  EXPECT_THAT(to_markdown(run_report(RunSummary(phb_record()))), Not(HasSubstr("## Warnings")));
}

/// Keeps what a warning was called when the record was made.
TEST(MarkdownReport, HasWarningsByTheIdsOfOldRecords) {
  Record record = phb_record();
  record.cases.clear();
  record.warnings = {{"same-road", "p2p and host took one path", ""}};
  const Record read = parse_record(to_json(record), "old.json");
  EXPECT_THAT(to_markdown(run_report(RunSummary(read))), HasSubstr("\n- `same-road` (not known "));
}

TEST(MarkdownReport, TellsLinksThatAreDown) {
  Record record = h200_record();
  record.machine.ranks[1].gpu->nvlink_links_active = 17;
  EXPECT_THAT(to_markdown(run_report(RunSummary(record))),
              HasSubstr("| 17 of 18 links, NVLink 4.0 |"));
}

TEST(MarkdownReport, TellsNcclVersionsThatDiffer) {
  Record record = h200_record();
  record.machine.software.nccl_library = "2.28.9";
  EXPECT_THAT(to_markdown(run_report(RunSummary(record))),
              HasSubstr("- NCCL: 2.28.9 (built with 2.28.3)\n"));
}

std::string health_text(const Record& record) {
  std::string text;
  for (const std::string& line : health_lines(RunSummary(record))) text += line + "\n";
  return text;
}

TEST(HealthLine, SaysWhatWasMeasured) {
  Situations lines;
  const auto add = [&](const std::string& situation, const Record& record) {
    lines.add(situation, health_text(record));
  };
  const Record usual = complete(h200_record());
  add("healthy", usual);
  Record record = usual;
  record.cases[1].variants[1].health.lowest_sm_clock_mhz = 1755;
  record.cases[0].variants[0].health.highest_temperature_c = 61;
  add("a range of clocks, a higher temperature", record);
  record = usual;
  HealthSummary& health = record.cases[1].variants[1].health;
  health.clock_event_reasons = 0x4C;
  health.unhealthy_samples = 3;
  health.power_capped_samples = 5;
  add("throttled, and at the power limit", record);
  record = h200_record();
  Sample sample;
  sample.health = {{31, 99.6, 1980, 0x1}, {35, 120.0, 1980, 0x0}};
  record.cases[0].samples = {sample};
  add("samples of an older record", record);
  add("nothing measured", h200_record());
  record = h200_record();
  record.cases[0].variants[0].health.lowest_temperature_c = 40;
  record.cases[0].variants[0].health.highest_temperature_c = 40;
  add("a temperature alone", record);
  record = usual;
  for (CaseResult& result : record.cases) result.variants[1].health.lowest_sm_clock_mhz = 1755;
  const std::string report = to_markdown(run_report(RunSummary(record)));
  const std::size_t begin = report.find("## Health\n");
  ASSERT_NE(begin, std::string::npos);
  lines.add("the report's section, of variants that differ",
            report.substr(begin, report.find("\n## ", begin) - begin));
  expect_golden(lines.text(), "health.md");
  EXPECT_THAT(to_markdown(run_report(RunSummary(mpi_record()))), Not(HasSubstr("## Health")));
}

TEST(HealthLine, SaysWhatNeighboursWereSeen) {
  Situations lines;
  Record record = complete(h200_record());
  const auto add = [&](const std::string& situation, const Neighbours& neighbours) {
    record.neighbours = neighbours;
    const std::string text = health_text(record);
    lines.add(situation, text.substr(text.find('\n') + 1));
  };
  add("none", {.looks = 12, .idle_windows = 3});
  add("one that worked from the start",
      {.looks = 12,
       .idle_windows = 3,
       .seen = {{.gpu = 0, .busy_percent = 97.25, .processes = {{4711, "python3", {}}}}}});
  add("two on the way, one of them idle, the other by links alone",
      {.looks = 12,
       .idle_windows = 3,
       .seen = {{.gpu = 0,
                 .after_s = 12.25,
                 .busy_percent = 0.0,
                 .processes = {{4711, "python3", std::int64_t{10} << 30}, {4712, "", {}}}},
                {.gpu = 1, .after_s = 14.5, .busy_percent = 0.0, .nvlink_gb_per_s = 12.25}}});
  add("many processes",
      {.looks = 12, .seen = {{.gpu = 0, .processes = {{1}, {2}, {3}, {4}, {5}, {6}}}}});
  add("a run on several hosts",
      {.looks = 1, .not_looked = "those of other hosts are not looked at"});
  add("no NVML", {.not_looked = "NVML cannot start"});
  expect_golden(lines.text(), "neighbours.md");
}

TEST(HealthLine, SaysWhatErrorsWereCounted) {
  Situations lines;
  Record record = complete(h200_record());
  LinkErrors& errors = record.link_errors.emplace();
  errors.readings = 7;
  errors.counters = {{{0, ErrorKind::nvlink_crc_errors, 3, 1}, 40, 0},
                     {{1, ErrorKind::pcie_replays, {}, {}}, 2, 0}};
  lines.add("none", health_text(record));
  errors.counters[0].growth = 1;
  errors.counters[1].growth = 12;
  lines.add("of two counters", health_text(record));
  expect_golden(lines.text(), "link_errors.md");
}

TEST(HealthLine, IsNotThereWithoutGpusOrTimes) {
  EXPECT_EQ(health_text(mpi_record()), "");
  EXPECT_EQ(health_text(two_gpus()), "");
  EXPECT_EQ(health_text({}), "");
}

}  // namespace
}  // namespace linkgain::test
