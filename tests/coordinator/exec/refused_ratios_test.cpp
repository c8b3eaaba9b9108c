#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linkgain/base/text.hpp"
#include "linkgain/formats/csv.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/screen/screen.hpp"
#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;

/// Makes the second variant take 3.07 times as long in each launch.
Record three_times_slower(const Case& definition, std::size_t launches) {
  std::vector<double> first(kEight.begin(), kEight.begin() + static_cast<std::ptrdiff_t>(launches));
  std::vector<double> other;
  for (const double time : first) other.push_back(3.07 * time);
  return test::run_of({{definition, "p2p", first}, {definition, "host", other, Path::host_memory}});
}

Record program(std::size_t launches) {
  Case definition;
  definition.operation = OperationKind::program;
  definition.metric = ProgramMetric{.name = "time"};
  Record record = three_times_slower(definition, launches);
  record.settings.program.emplace().command = {"true"};
  for (const VariantResult& variant : record.cases[0].variants) {
    record.runs.insert(record.runs.end(), launches, {.variant = variant.variant});
  }
  return record;
}

/// Says in which forms of the record a ratio stands.
std::vector<std::string> places_of_ratio(Record record) {
  summarise(record);
  const RunSummary summary(record);
  std::vector<std::string> places;
  const auto add = [&](bool stands, const char* place) {
    if (stands) places.emplace_back(place);
  };
  for (const std::string& text : {to_json(record), to_json_without_samples(record)}) {
    add(!nlohmann::json::parse(text)["cases"][0]["ratios"].empty(), "json");
  }
  const std::vector<std::string> lines = split(csv(summary), '\n');
  const std::vector<std::string> titles = split(lines.at(0), ',');
  const auto ratio = std::ranges::find(titles, "ratio") - titles.begin();
  add(!split(lines.at(2), ',').at(static_cast<std::size_t>(ratio)).empty(), "csv");
  const auto add_text = [&](const std::string& text, const char* place) {
    const auto has = [&](const char* words) { return text.find(words) != std::string::npos; };
    add(has("3.07x") || has("3.07 times") || has("67 %"), place);
  };
  add_text(screen(summary, "", {}), "screen");
  add_text(card(summary), "card");
  add_text(to_markdown(run_report(summary)), "report");
  return places;
}

TEST(RefusedRatios, StandNowhere) {
  struct Row {
    const char* what;
    Record record;
    bool has_ratio = false;
  };
  std::vector<Row> rows{{"times that can be compared", three_times_slower(sized(1 << 20), 8), true},
                        {"one launch", three_times_slower(sized(1 << 20), 1), true},
                        {"numbers of a program", program(6), true},
                        {"one run of a program", program(1)},
                        {"wrong data", three_times_slower(sized(1 << 20), 8)},
                        {"the same path", three_times_slower(sized(1 << 20), 8)},
                        {"a variant that was skipped", three_times_slower(sized(1 << 20), 8)},
                        {"a run that failed", program(6)},
                        {"a run without a number", program(6)}};
  rows[4].record.cases[0].variants[1].verification.emplace().wrong = 1;
  rows[5].record.cases[0].variants[0].path = Path::host_memory;
  CaseResult& skipped = rows[6].record.cases[0];
  std::erase_if(skipped.samples, [](const Sample& each) { return each.variant == 1; });
  skipped.variants[1].skipped = Skip{.refusal = "too large"};
  rows[7].record.runs.push_back({.variant = "host", .failure = "lost"});
  rows[8].record.runs.push_back({.variant = "host"});
  for (const Row& row : rows) {
    const std::vector<std::string> places = places_of_ratio(row.record);
    if (row.has_ratio) {
      EXPECT_THAT(places, ElementsAre("json", "json", "csv", "screen", "card", "report"))
          << row.what;
    } else {
      EXPECT_THAT(places, ElementsAre()) << row.what;
    }
  }
}

}  // namespace
}  // namespace linkgain::test
