#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "programs.hpp"
#include "support/other_readers.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr int kNodes = 64;

/// Nodes of four GPUs with thirty cases; fleet_generator.cpp says which are bad.
class FleetProgram : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<ScratchFolder>();
    const Words nodes{*folder_ / "nodes", std::to_string(kNodes), "30", "4", "4"};
    ASSERT_EQ(run_program({.arguments = joined({FLEET_GENERATOR}, nodes)}).status, 0);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static Outcome fleet(const Words& arguments) {
    return run_linkgain(*folder_, joined({"fleet"}, arguments));
  }

  static std::unique_ptr<ScratchFolder> folder_;
};

std::unique_ptr<ScratchFolder> FleetProgram::folder_;

TEST_F(FleetProgram, PutsTheWorstNodesFirst) {
  const Outcome outcome =
      with_status(1, fleet({"nodes", "--expect", "node[00001-00065]", "--json"}));
  const Json json = Json::parse(outcome.output);
  ASSERT_THAT(json.at("nodes"), SizeIs(kNodes + 1));
  const auto line = [&](std::size_t i) {
    const Json& node = json.at("nodes").at(i);
    return node.at("host").get<std::string>() + " " + node.at("state").get<std::string>();
  };
  EXPECT_EQ(line(0), "node00017 wrong data");
  EXPECT_EQ(line(1), "node00065 missing");
  EXPECT_EQ(line(2), "node00011 unreadable");
  EXPECT_EQ(line(3), "node00013 other path");
  EXPECT_EQ(line(4), "node00007 slow");
  EXPECT_EQ(line(5), "node00001 ok");
  EXPECT_EQ(json.at("nodes").at(4).at("blame"), "GPU0–GPU1");
  EXPECT_EQ(json.at("drain"), Json({"node00017", "node00013", "node00007"}));
}

TEST_F(FleetProgram, PrintsALineForEachNode) {
  const Outcome outcome = with_status(1, fleet({"nodes"}));
  EXPECT_THAT(outcome.error, IsEmpty());
  const Words lines = lines_of(outcome.output);
  EXPECT_LE(lines.size(), 24U) << "nodes that are ok have one line";
  EXPECT_THAT(fleet({"nodes", "--verbose"}).output, HasSubstr("\n  node00001  ok"));
  EXPECT_LE(widest_line(outcome.output), kTerminalColumns) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("7.8 %"));
  EXPECT_THAT(lines[1], AllOf(StartsWith("  node00017  wrong data"), HasSubstr("30 cases")));
  EXPECT_THAT(lines[2], AllOf(StartsWith("  node00011  unreadable"), HasSubstr("cut off")));
  EXPECT_THAT(lines[4],
              AllOf(StartsWith("  node00007  slow"), HasSubstr("1.3"), HasSubstr("GPU0–GPU1")));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("64 nodes: 1 wrong data, "),
                                    HasSubstr("nodename='node[00007,00013,00017]' state=drain")));
  EXPECT_THAT(lines_of(fleet({"nodes", "--format", "csv"}).output), SizeIs(1 + kNodes));
}

/// Lists the nodes for which a gauge's value is 1.
Words nodes_with(const std::string& metrics, const std::string& gauge) {
  Words nodes;
  const std::string begin = gauge + "{node=\"";
  for (const std::string& line : lines_of(metrics)) {
    if (!line.starts_with(begin) || !line.ends_with(" 1")) continue;
    nodes.push_back(line.substr(begin.size(), line.find('"', begin.size()) - begin.size()));
  }
  return nodes;
}

/// Names the nodes that the table suggests to drain in what a nightly job leaves to Prometheus.
TEST_F(FleetProgram, TellsPrometheusWhatToDrain) {
  const Outcome outcome = with_status(
      1, fleet({"nodes", "--expect", "node[00001-00065]", "--prometheus", "fleet.prom"}));
  EXPECT_THAT(outcome.output, HasSubstr("nodename='node[00007,00013,00017]' state=drain"));
  const std::string metrics = read_text(folder_->path() / "fleet.prom");
  EXPECT_THAT(nodes_with(metrics, "linkgain_fleet_node_drain"),
              testing::UnorderedElementsAre("node00007", "node00013", "node00017"));
  for (const char* count : {"{state=\"missing\"} 1", "{state=\"unreadable\"} 1",
                            "{state=\"wrong data\"} 1", "{state=\"ok\"} 60"}) {
    EXPECT_THAT(metrics, HasSubstr(std::string("\nlinkgain_fleet_nodes") + count + "\n"));
  }
  EXPECT_THAT(metrics, HasSubstr("node_slowdown_ratio{node=\"node00007\"} 1.3"));
  EXPECT_THAT(series_twice(metrics), IsEmpty());
  if (has_promtool()) {
    EXPECT_EQ(promtool_complaints(metrics), "");
  }
}

/// Gives the records folders of other names, as pods do whose host names are not their nodes'.
TEST_F(FleetProgram, NamesNodesByTheirFolders) {
  std::filesystem::create_directory(*folder_ / "pods");
  for (const int number : {1, 2, 3, 17}) {
    std::filesystem::copy(*folder_ / fmt::format("nodes/node{:05}", number),
                          *folder_ / fmt::format("pods/gpu-{}", number),
                          std::filesystem::copy_options::recursive);
  }
  const Outcome outcome = with_status(1, fleet({"pods", "--name-by-folder", "--expect",
                                                "gpu-1,gpu-2,gpu-3,gpu-4,gpu-17", "--json"}));
  const Json json = Json::parse(outcome.output);
  Words hosts;
  for (const Json& node : json.at("nodes")) hosts.push_back(node.at("host"));
  EXPECT_THAT(hosts, testing::ElementsAre("gpu-17", "gpu-4", "gpu-1", "gpu-2", "gpu-3"));
  EXPECT_EQ(json.at("nodes").at(1).at("state"), "missing");
  EXPECT_EQ(json.at("drain"), Json({"gpu-17"}));
}

TEST_F(FleetProgram, OfHealthyNodesEndsWithSuccess) {
  Words arguments;
  for (int number = 20; number < 30; ++number) {
    arguments.push_back("nodes/node000" + std::to_string(number) + "/record.json");
  }
  const Outcome outcome = with_status(0, fleet(arguments));
  EXPECT_THAT(outcome.output, HasSubstr("Nothing to drain."));
}

TEST_F(FleetProgram, OfTwoNodesSaysThatNoneWasJudged) {
  const Outcome outcome =
      with_status(7, fleet({"nodes/node00020/record.json", "nodes/node00021/record.json"}));
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("2 not judged"), testing::Not(HasSubstr("Nothing to drain"))));
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

}  // namespace
}  // namespace linkgain::test
