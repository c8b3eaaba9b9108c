#include "bench/programs/linkgain/run_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "linkgain/base/temporary_folder.hpp"
#include "support/full_record.hpp"

namespace linkgain::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

/// As a script may leave it.
TEST(TestVariables, AreNoneWhereTheyAreEmpty) {
  const std::string name = "LINKGAIN_TEST_FAULT";
  Variant variant;
  EXPECT_THAT(warnings_of_test_variables({{name, ""}}, {variant}), IsEmpty());
  EXPECT_THAT(warnings_of_test_variables({{name, "die@1"}}, {variant}), SizeIs(1));
  variant.environment = {{name, ""}};
  EXPECT_THAT(warnings_of_test_variables({}, {variant}), IsEmpty());
  variant.environment = {{name, "die@1"}};
  EXPECT_THAT(warnings_of_test_variables({}, {variant}), SizeIs(1));
}

/// Its exit status, and whether the journal of the run is still there.
std::pair<int, bool> kept(Record record) {
  const TemporaryFolder folder;
  RunDirectory directory = RunDirectory::begin(folder.path(), RunDirectory::kRuns);
  std::ofstream(directory.journal()) << "a journal\n";
  std::optional<SignalWatch> watch;
  testing::internal::CaptureStdout();
  const int status = keep_and_print(record, directory, {.json = true}, watch);
  testing::internal::GetCapturedStdout();
  return {status, std::filesystem::exists(folder.path() / RunDirectory::kJournal)};
}

TEST(KeepAndPrint, KeepsTheJournalOfARecordThatIsNone) {
  Record record = full_record();
  EXPECT_EQ(kept(record), std::pair(record.exit_code, false));
  record.cases[0].variants[1].verification->wrong = -7;
  EXPECT_EQ(kept(record), std::pair(6, true));
}

}  // namespace
}  // namespace linkgain::test
