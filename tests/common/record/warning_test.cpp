#include "linkgain/record/warning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "support/sample_records.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

std::string troubleshooting() {
  std::ifstream page(RESULTS_FOLDER "/../docs/troubleshooting.md");
  return {std::istreambuf_iterator<char>(page), {}};
}

bool is_kebab_case(std::string_view name) {
  return std::ranges::all_of(name, [](char c) {
    return std::islower(static_cast<unsigned char>(c)) != 0 ||
           std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-';
  });
}

/// Tells whether a line of advice reads as all others: a clause without an end.
bool is_advice(std::string_view text) {
  return std::ranges::count(text, ' ') >= 1 && text.back() != '.' &&
         std::isupper(static_cast<unsigned char>(text.front())) == 0;
}

TEST(Warnings, HaveACodeOfTheirOwnAdviceAndARowOnTheirPage) {
  const std::string page = troubleshooting();
  std::set<std::string_view> names;
  for (const WarningRow& row : warning_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(is_kebab_case(row.name)) << row.name;
    EXPECT_TRUE(is_advice(row.advice)) << row.name << ": " << row.advice;
    EXPECT_EQ(name_of(row.code), row.name);
    EXPECT_EQ(advice_of(row.code), row.advice);
    const Warning warning{std::string(row.name), "text", "advice"};
    EXPECT_EQ(row_of(warning).code, row.code);
    EXPECT_TRUE(is(warning, row.code));
    if (row.code != WarningCode::unknown) {
      EXPECT_THAT(page, HasSubstr("`" + std::string(row.name) + "`"));
    }
  }
}

TEST(Warnings, ThatAreWrongEndARunWithTheirStatus) {
  for (const WarningRow& row : warning_rows()) {
    const bool is_wrong =
        row.exit_code == ExitCode::wrong_data || row.exit_code == ExitCode::wrong_path;
    EXPECT_EQ(row.weight == WarningWeight::wrong, is_wrong) << row.name;
    if (row.exit_code == ExitCode::incomplete) {
      EXPECT_EQ(row.weight, WarningWeight::incomplete) << row.name;
    }
    if (row.exit_code == ExitCode::unhealthy) {
      EXPECT_EQ(row.weight, WarningWeight::doubtful) << row.name;
    }
  }
}

TEST(Warnings, DecideTheExitStatus) {
  for (const WarningRow& row : warning_rows()) {
    if (row.code == WarningCode::wrong_data) continue;  // the data themselves do
    Record record = h200_record();
    record.warnings = {{std::string(row.name), "text", ""}};
    const bool unhealthy = row.exit_code == ExitCode::unhealthy;
    EXPECT_EQ(exit_code_of(record), unhealthy ? ExitCode::success : row.exit_code) << row.name;
    record.settings.require_healthy = true;
    EXPECT_EQ(exit_code_of(record), row.exit_code) << row.name;
  }
}

TEST(Warnings, OfWorseStatusComeFirst) {
  Record record = wrong_data_record();
  record.settings.require_healthy = true;
  record.warnings = {{"link-errors", "", ""}, {"wrong-path", "", ""}};
  EXPECT_EQ(exit_code_of(record), ExitCode::wrong_data);
  record.cases.clear();
  EXPECT_EQ(exit_code_of(record), ExitCode::wrong_path);
  record.warnings.push_back({"record-lost", "", ""});
  EXPECT_EQ(exit_code_of(record), ExitCode::incomplete);
  record.warnings.clear();
  EXPECT_EQ(exit_code_of(record), ExitCode::success);
  record.neighbours.emplace();
  record.neighbours->seen.emplace_back();
  EXPECT_EQ(exit_code_of(record), ExitCode::unhealthy) << "others were on a GPU";
}

TEST(Warnings, OfANewerVersionAreNotices) {
  const Warning warning{"of-tomorrow", "text", "advice"};
  const WarningRow& row = row_of(warning);
  EXPECT_EQ(row.code, WarningCode::unknown);
  EXPECT_EQ(row.weight, WarningWeight::notice);
  EXPECT_EQ(row.exit_code, ExitCode::success);
  EXPECT_THAT(std::string(row.advice), HasSubstr("not known"));
}

}  // namespace
}  // namespace linkgain::test
