#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "exec_program.hpp"

/// The folders that `linkgain exec` writes to.
namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST_F(ExecProgram, SetsAnEarlierRunAside) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run({"--variant", "p2p", "--rounds", "1"}, {"true"}).status, 0);
  }
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "out" / "runs.old" / "p2p-1.log"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "out" / "runs" / "p2p-1.log"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "results")) << "another one was named";
}

TEST_F(ExecProgram, HasAFolderOfItsOwnBesideOthersThatBeginInTheSameSecond) {
  std::vector<std::unique_ptr<Program>> programs;
  for (int i = 0; i < 4; ++i) {
    ProgramRequest made =
        linkgain(folder_, {"exec", "--variant", "p2p", "--rounds", "1", "--", "true"});
    made.environment["LINKGAIN_NVML_LIBRARY"] = "/nonexistent";
    programs.push_back(std::make_unique<Program>(made));
  }
  for (const auto& program : programs) {
    const Outcome outcome = program->finish(60.0);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
  }
  std::set<std::filesystem::path> records;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / "results")) {
    EXPECT_TRUE(std::filesystem::exists(entry.path() / "record.json")) << entry.path();
    EXPECT_FALSE(std::filesystem::exists(entry.path() / "record.json.old")) << entry.path();
    records.insert(entry.path());
  }
  EXPECT_THAT(records, SizeIs(programs.size()));
}

TEST_F(ExecProgram, ThatIsRefusedLeavesNoFolder) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"--dry-run", "--", "true"}, {"--", "no-such-program"}}) {
    std::vector<std::string> arguments{"exec"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    run_program(linkgain(folder_, arguments));
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << command.front();
  }
}

/// As that of a folder of others may be.
TEST_F(ExecProgram, ShowsTheNameOfItsFolderAsAWordToCopy) {
  for (const std::string name : {"sp ace", "-x", "a\033[2J\n\u202eb"}) {
    ProgramRequest made = linkgain(
        folder_, {"exec", "--out=" + name, "--variant", "p2p", "--rounds", "1", "--", "false"});
    made.environment["LINKGAIN_NVML_LIBRARY"] = "/nonexistent";
    const Outcome outcome = run_program(made);
    EXPECT_EQ(outcome.status, 6) << name;
    EXPECT_THAT(outcome.output + outcome.error,
                AllOf(Not(HasSubstr("\033")), Not(HasSubstr("\u202e"))));
    const std::vector<std::string> lines = lines_of(outcome.output);
    const std::string start = "Details: ";
    const auto line = std::ranges::find_if(
        lines, [&](const std::string& each) { return each.starts_with(start); });
    ASSERT_NE(line, lines.end()) << outcome.output;
    const std::string script = "linkgain() { \"$0\" \"$@\"; }\n" + line->substr(start.size());
    const Outcome pasted = run_program({.arguments = {"bash", "-c", script, LINKGAIN},
                                        .environment = {},
                                        .directory = folder_.path()});
    EXPECT_EQ(pasted.status, 0) << *line << pasted.error;
  }
}

}  // namespace
}  // namespace linkgain::test
