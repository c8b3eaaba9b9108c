#include "linkgain/formats/google_benchmark_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "linkgain/record/journal.hpp"
#include "support/golden.hpp"
#include "support/launch_records.hpp"
#include "support/sample_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Json = nlohmann::json;

/// Two cases of three launches, by both variants.
Record three_launches() {
  Record record = run_of({{sized(1 << 20), "p2p", {15e-6, 16e-6, 14e-6}},
                          {sized(1 << 20), "host", {60e-6, 64e-6, 62e-6}, Path::host_memory},
                          {sized(1 << 28), "p2p", {850e-6, 851e-6, 849e-6}},
                          {sized(1 << 28), "host", {10e-3, 11e-3, 12e-3}, Path::host_memory}},
                         "2026-11-20T16:40:00Z");
  record.settings.environment_in_force = {{}, {{"NCCL_P2P_DISABLE", "1"}}};
  return record;
}

TEST(GoogleBenchmarkJson, HasALaunchForEachRepetition) {
  expect_golden(google_benchmark_json(three_launches(), {}), "google_benchmark.json");
}

/// What compare.py of Google Benchmark 1.7 and 1.8 reads of every entry.
TEST(GoogleBenchmarkJson, HasTheMembersThatOtherReadersTake) {
  const Json document = Json::parse(google_benchmark_json(h200_record(), {}));
  ASSERT_EQ(document["benchmarks"].size(), 4U) << "no aggregates of one time";
  for (const Json& entry : document["benchmarks"]) {
    EXPECT_TRUE(entry.at("name").is_string());
    EXPECT_EQ(entry.at("run_name"), entry.at("name"));
    EXPECT_EQ(entry.at("run_type"), "iteration");
    EXPECT_TRUE(entry.at("iterations").is_number_integer());
    EXPECT_GT(entry.at("real_time"), 0.0);
    EXPECT_EQ(entry.at("cpu_time"), entry.at("real_time"));
    EXPECT_EQ(entry.at("time_unit"), "us");
  }
}

/// A real record, whose trainings have no bandwidth.
TEST(GoogleBenchmarkJson, OfAMeasuredRunHasEveryCase) {
  const Record record = read_record(std::string(RESULTS_FOLDER) + "/2xH200-default");
  const Json document = Json::parse(google_benchmark_json(record, {}));
  EXPECT_EQ(document["benchmarks"].size(), record.cases.size());
  for (const Json& entry : document["benchmarks"]) {
    const bool training = entry.at("name").get<std::string>().starts_with("gpt2_step");
    EXPECT_EQ(entry.contains("busbw"), !training) << entry.at("name");
  }
}

TEST(GoogleBenchmarkJson, OfWrongDataOrASkippedCaseIsAnError) {
  Record record = wrong_data_record();
  record.cases[1].variants[0] = skipped("p2p", "no memory");
  const Json document = Json::parse(google_benchmark_json(record, {}));
  std::vector<std::string> messages;
  for (const Json& entry : document["benchmarks"]) {
    messages.push_back(entry.value("error_message", "fine"));
    EXPECT_EQ(entry.value("error_occurred", false), messages.back() != "fine");
    EXPECT_EQ(entry.at("real_time") == 0.0, messages.back() != "fine");
  }
  EXPECT_THAT(messages, ElementsAre(HasSubstr("1 of 4 elements"), "no memory", "fine"));
}

}  // namespace
}  // namespace linkgain::test
