#include "linkgain/diagnostics/finding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/json.hpp"

namespace linkgain::test {
namespace {

Diagnosis with(std::vector<CheckVerdict> verdicts) {
  Diagnosis diagnosis{"node", "2026-11-20T16:40:00Z", {}, {}};
  for (const CheckVerdict verdict : verdicts) {
    diagnosis.findings.push_back(
        {CheckGroup::power, "power-limit", "GPU0", verdict, "300 W of 700 W", "why", "do"});
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
  EXPECT_EQ(document["findings"][0], (nlohmann::json{{"group", "power"},
                                                     {"id", "power-limit"},
                                                     {"subject", "GPU0"},
                                                     {"verdict", "problem"},
                                                     {"value", "300 W of 700 W"},
                                                     {"why", "why"},
                                                     {"advice", "do"}}));
  EXPECT_TRUE(text.ends_with("}\n"));
}

}  // namespace
}  // namespace linkgain::test
