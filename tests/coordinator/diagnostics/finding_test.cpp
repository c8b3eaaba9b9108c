#include "linkgain/diagnostics/finding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/json.hpp"

namespace linkgain::test {
namespace {

Diagnosis with(std::vector<CheckVerdict> verdicts) {
  Diagnosis diagnosis{"node", "2026-11-20T16:40:00Z", {}, {}};
  for (const CheckVerdict verdict : verdicts) {
    diagnosis.findings.push_back({CheckGroup::power, "power-limit", "GPU0", verdict,
                                  quantity("limit", Unit::watts, 300) + " of 700 W", "why", "do"});
  }
  return diagnosis;
}

TEST(Finding, HasWords) {
  EXPECT_EQ(name_of(CheckVerdict::ok), "ok");
  EXPECT_EQ(name_of(CheckVerdict::warning), "warning");
  EXPECT_EQ(name_of(CheckVerdict::problem), "problem");
  EXPECT_EQ(name_of(CheckVerdict::not_checkable), "not checkable");
  EXPECT_EQ(name_of(CheckGroup::gpus), "gpus");
  EXPECT_EQ(name_of(CheckGroup::connectivity), "connectivity");
}

TEST(Finding, TheExitCodeIsThatOfTheWorst) {
  using enum CheckVerdict;
  EXPECT_EQ(exit_code_of(with({ok, warning, not_checkable})), ExitCode::success);
  EXPECT_EQ(exit_code_of(with({warning})), ExitCode::success);
  EXPECT_EQ(exit_code_of(with({ok, not_checkable, problem})), ExitCode::problem_found);
  EXPECT_EQ(exit_code_of(with({not_checkable, not_checkable})), ExitCode::machine_cannot);
  EXPECT_EQ(exit_code_of(with({})), ExitCode::machine_cannot);
}

TEST(Finding, ShowsNumbersWithUnits) {
  const FindingValue value = quantity("rate", Unit::gb_per_s, 26.5625, 4) + ", " +
                             quantity("busy", Unit::percent, 97.0) + " of " +
                             quantity("free", Unit::bytes, 3 << 20);
  EXPECT_EQ(value.text(), "26.5625 GB/s, 97 % of 3 MiB");
  ASSERT_EQ(value.numbers().size(), 3U);
  EXPECT_EQ(value.numbers()[0].in_base_unit(), 26.5625e9);
  EXPECT_EQ(value.numbers()[1].in_base_unit(), 0.97);
  EXPECT_EQ(value.numbers()[2].in_base_unit(), 3145728.0);
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kUnits[i].unit), i) << "rows in the order of the enum";
  }
}

TEST(Finding, IsWrittenAsJson) {
  const std::string text =
      to_json(with({CheckVerdict::problem, CheckVerdict::ok, CheckVerdict::ok}));
  const nlohmann::json document = nlohmann::json::parse(text);
  EXPECT_EQ(document["schema"], "linkgain.diagnosis/1");
  EXPECT_EQ(document["host"], "node");
  EXPECT_EQ(document["checked"], "2026-11-20T16:40:00Z");
  EXPECT_EQ(document["exit_code"], 1);
  EXPECT_EQ(document["counts"],
            (nlohmann::json{{"ok", 2}, {"warning", 0}, {"problem", 1}, {"not checkable", 0}}));
  ASSERT_EQ(document["findings"].size(), 3U);
  EXPECT_EQ(document["findings"][0],
            (nlohmann::json{{"group", "power"},
                            {"id", "power-limit"},
                            {"subject", "GPU0"},
                            {"verdict", "problem"},
                            {"value", "300 W of 700 W"},
                            {"numbers", {{{"name", "limit"}, {"unit", "watts"}, {"value", 300.0}}}},
                            {"why", "why"},
                            {"advice", "do"}}));
  EXPECT_TRUE(text.ends_with("}\n"));
}

}  // namespace
}  // namespace linkgain::test
