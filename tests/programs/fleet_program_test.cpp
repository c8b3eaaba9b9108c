#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "programs.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr int kNodes = 60;

/// Sixty nodes of four GPUs with thirty cases.
class FleetProgram : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<ScratchFolder>();
    ProgramRequest request;
    request.arguments = {
        FLEET_GENERATOR, folder_->path() / "nodes", std::to_string(kNodes), "30", "4", "4"};
    ASSERT_EQ(run_program(request).status, 0);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static Outcome fleet(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "fleet");
    return run_program(linkgain(*folder_, std::move(arguments)));
  }

  static std::unique_ptr<ScratchFolder> folder_;
};

std::unique_ptr<ScratchFolder> FleetProgram::folder_;

TEST_F(FleetProgram, PutsTheWorstNodesFirst) {
  const Outcome outcome = fleet({"nodes", "--expect", "node[00001-00061]", "--json"});
  EXPECT_EQ(outcome.status, 1) << outcome.error;
  const Json json = Json::parse(outcome.output);
  ASSERT_THAT(json.at("nodes"), SizeIs(kNodes + 1));
  const auto line = [&](std::size_t i) {
    const Json& node = json.at("nodes").at(i);
    return node.at("host").get<std::string>() + " " + node.at("state").get<std::string>();
  };
  EXPECT_EQ(line(0), "node00061 missing");
  EXPECT_EQ(line(1), "node00011 unreadable");
  EXPECT_EQ(line(2), "node00013 other path");
  EXPECT_EQ(line(3), "node00007 slow");
  EXPECT_EQ(line(4), "node00001 ok");
  EXPECT_EQ(json.at("nodes").at(3).at("blame"), "GPU0–GPU1");
  EXPECT_EQ(json.at("drain"), Json({"node00013", "node00007"}));
}

TEST_F(FleetProgram, PrintsALineForEachNode) {
  const Outcome outcome = fleet({"nodes"});
  EXPECT_EQ(outcome.status, 1) << outcome.error;
  EXPECT_THAT(outcome.error, IsEmpty());
  const std::vector<std::string> lines = lines_of(outcome.output);
  ASSERT_GT(lines.size(), 60U);
  EXPECT_LE(widest_line(outcome.output), kTerminalColumns) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("7.8 %"));
  EXPECT_THAT(lines[1], AllOf(StartsWith("  node00011  unreadable"), HasSubstr("cut off")));
  EXPECT_THAT(lines[3],
              AllOf(StartsWith("  node00007  slow"), HasSubstr("1.3"), HasSubstr("GPU0–GPU1")));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("60 nodes: 1 unreadable, "),
                                    HasSubstr("nodename='node[00007,00013]' state=drain")));
  EXPECT_THAT(lines_of(fleet({"nodes", "--format", "csv"}).output), SizeIs(1 + kNodes));
}

TEST_F(FleetProgram, OfHealthyNodesEndsWithSuccess) {
  std::vector<std::string> arguments;
  for (int number = 20; number < 30; ++number) {
    arguments.push_back("nodes/node000" + std::to_string(number) + "/record.json");
  }
  const Outcome outcome = fleet(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.output, HasSubstr("Nothing to drain."));
}

TEST_F(FleetProgram, RefusesWhatIsNotThere) {
  for (const std::string named : {"nowhere", "empty"}) {
    std::filesystem::create_directories(folder_->path() / "empty");
    const Outcome outcome = fleet({named});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.output, IsEmpty());
    EXPECT_THAT(lines_of(outcome.error), SizeIs(2)) << outcome.error;
  }
}

/// What the scanner reads is what all other readers read.
TEST_F(FleetProgram, AgreesWithTheReportOfTheSameRecord) {
  const std::string record = "nodes/node00020/record.json";
  const Outcome report = run_program(linkgain(*folder_, {"report", record}));
  EXPECT_EQ(report.status, 0) << report.error;
  EXPECT_THAT(report.output, HasSubstr("4 x NVIDIA H200"));
}

}  // namespace
}  // namespace linkgain::test
