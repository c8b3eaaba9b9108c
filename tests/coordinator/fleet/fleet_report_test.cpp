#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "linkgain/base/text.hpp"
#include "linkgain/fleet/fleet.hpp"
#include "support/golden.hpp"
#include "support/other_readers.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

FleetNode node_of(const std::string& host, NodeState state, std::vector<std::string> findings) {
  FleetNode node;
  node.host = host;
  node.record = "out/" + host + "/record.json";
  node.state = state;
  node.machine = "8 x NVIDIA H200";
  node.judged_cases = 200;
  node.findings = std::move(findings);
  return node;
}

FleetNode unjudged_node(const std::string& host) {
  FleetNode node = node_of(host, NodeState::not_judged, {"fewer than 3 machines are like it"});
  node.judged_cases = 0;
  return node;
}

FleetReport sample_report() {
  FleetReport report;
  FleetNode slow = node_of("node017", NodeState::slow,
                           {"slow in 14 of 200 cases (the worst 1.42x: "
                            "send_recv/float32/256MiB/np8/pair=1-3 with p2p)",
                            "driver 570.1 where most of its peers have 580.2"});
  slow.slowdown = 1.4235;
  slow.worst_case = "send_recv/float32/256MiB/np8/pair=1-3";
  slow.worst_variant = "p2p";
  slow.slow_cases = 14;
  slow.blame = "GPU3";
  slow.started = "2026-11-20T16:40:00Z";
  slow.neighbours = 1;
  slow.disturbed_samples = 3;
  slow.disturbed_by = "host-load oversubscribed";
  FleetNode missing = node_of("node099", NodeState::missing, {"no record of it was given"});
  missing.record.clear();
  missing.machine.clear();
  missing.judged_cases = 0;
  report.nodes = {node_of("node003", NodeState::wrong_data, {"wrong data in 1 case"}),
                  missing,
                  slow,
                  node_of("node018", NodeState::slow, {"slow, \"very\""}),
                  node_of("node001", NodeState::ok, {}),
                  node_of("node002", NodeState::ok, {"throttled in 1 of 800 samples"})};
  report.drain = {"node003", "node017", "node018"};
  report.notes = {"1 kind of machine: 5 of 8 x NVIDIA H200"};
  return report;
}

TEST(FleetReport, HasALineForEachNode) {
  expect_golden(to_terminal(fleet_report(sample_report())), "fleet.txt");
}

TEST(FleetReport, LeavesColumnsOutWhereATerminalIsNarrow) {
  const std::string text = to_terminal(fleet_report(sample_report()), {.columns = 60});
  expect_golden(text, "fleet_narrow.txt");
  for (const std::string& line : split(text, '\n')) {
    if (line.find("scontrol") != std::string::npos) continue;  // to be copied
    EXPECT_LE(display_width(line), 60U) << line;
  }
}

/// Distrusts records' hosts, some of which Slurm takes for every node.
TEST(FleetReport, HasOnlyPlainHostNamesInACommand) {
  FleetReport report = sample_report();
  const auto command = [&](const std::vector<std::string>& hosts) {
    report.drain = hosts;
    std::string found = "none";
    for (const std::string& line : split(to_terminal(fleet_result(report)), '\n')) {
      if (line.find("scontrol") != std::string::npos) found = line;
    }
    return found;
  };
  EXPECT_THAT(command({"node003", "node004"}), HasSubstr("nodename='node[003-004]' "));
  EXPECT_THAT(command({"ALL", "node003", "node[001-999]", "a,b", "-v"}),
              HasSubstr("nodename=node003 "));
  EXPECT_EQ(command({"ALL"}), "none");
  report.drain = {"ALL", "node003", "node[001-999]"};
  expect_golden(to_terminal(fleet_result(report)), "fleet_no_host_names.txt");
}

TEST(FleetReport, IsMarkdownToo) {
  expect_golden(to_markdown(fleet_report(sample_report())), "fleet.md");
}

TEST(FleetReport, OfNothingSaysSo) {
  FleetReport healthy;
  healthy.nodes = {node_of("a", NodeState::ok, {})};
  FleetReport unjudged;
  unjudged.nodes = {unjudged_node("vm"), unjudged_node("vm")};
  unjudged.nodes[0].mark = "GPU-9d44a6fd";
  unjudged.nodes[1].mark = "GPU-c4091041";
  Situations texts;
  texts.add("no node", to_terminal(fleet_report({})));
  texts.add("a healthy node", to_terminal(fleet_report(healthy)));
  texts.add("no node that was judged", to_terminal(fleet_report(unjudged)));
  unjudged.nodes.push_back(node_of("c", NodeState::wrong_data, {"wrong data in 1 case"}));
  unjudged.nodes.back().judged_cases = 0;
  unjudged.drain = {"c"};
  texts.add("the same with a node that is to be drained", to_terminal(fleet_report(unjudged)));
  for (FleetNode& node : unjudged.nodes) node.state = NodeState::ok;
  texts.add("machines of one name that are ok", to_terminal(fleet_nodes(unjudged)));
  expect_golden(texts.text(), "fleet_healthy.txt");
}

TEST(FleetReport, OfManyNodesFitsOnOneScreen) {
  FleetReport report = sample_report();
  for (int i = 19; i < 84; ++i) {
    report.nodes.push_back(
        node_of(fmt::format("node{:03}", i), NodeState::ok, {"times changed level"}));
  }
  report.nodes.push_back(node_of("a b", NodeState::ok, {}));
  const auto text_of = [&](ShownNodes shown) {
    return to_terminal(fleet_report(report, shown), {.columns = 80});
  };
  const std::string text = text_of(ShownNodes::not_ok);
  EXPECT_LE(split(text, '\n').size(), 24U);
  expect_golden(text, "fleet_many.txt");
  EXPECT_THAT(split(text_of(ShownNodes::all), '\n'),
              testing::Contains(AllOf(HasSubstr("node050"), HasSubstr("times changed level"))));
}

TEST(FleetPage, GivesTheResultBeforeTheNodes) {
  const std::string page = fleet_page(sample_report(), FleetNames{});
  const std::size_t nodes = page.find("<section id=\"nodes\"");
  ASSERT_NE(nodes, std::string::npos);
  for (const char* part : {"<section id=\"result\"", "1 wrong data", "node[003,017-018]"}) {
    EXPECT_LT(page.find(part), nodes) << part;
  }
  EXPECT_GT(page.find("node002"), nodes);
  EXPECT_THAT(page, HasSubstr("(1 with notes)"));
  EXPECT_THAT(page, HasSubstr("throttled in 1 of 800")) << "the notes, folded";
}

/// Has nodes that were judged by so many cases, the last of which is slow.
FleetReport judged_report(FleetNames& names, int nodes, int cases) {
  FleetReport report;
  for (int i = 0; i < nodes; ++i) {
    FleetNode& node = report.nodes.emplace_back(node_of(fmt::format("n{}", i), NodeState::ok, {}));
    for (int c = 1; c <= cases; ++c) {
      const std::string name = fmt::format("all_reduce/float32/sum/{}B/np2", 4 * c);
      node.ratios.push_back({names.number_of(name, "p2p"), c == cases ? 1.5 : 1.0});
    }
  }
  return report;
}

TEST(FleetPage, ShowsTheSlowestCasesOfEveryJudgedNode) {
  FleetNames names;
  FleetReport report = judged_report(names, 2, 41);
  report.nodes[1].ratios.pop_back();
  report.nodes.push_back(node_of("alone", NodeState::not_judged, {}));
  const std::string page = fleet_page(report, names);
  EXPECT_THAT(page, HasSubstr("24 of 41 cases"));
  EXPECT_THAT(page, HasSubstr("ends at 1.20x"));
  EXPECT_LT(page.find("all_reduce 164 B, p2p"), page.find("all_reduce 160 B, p2p"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"col\">n0</th><th scope=\"col\">n1</th></tr>"));
  EXPECT_THAT(page,
              testing::ContainsRegex("164 B, p2p</th><td class=\"h[0-9]\">[0-9.x]+</td><td></td>"))
      << "without the slow one";
  EXPECT_THAT(page, Not(HasSubstr("alone (not judged)")));
}

TEST(FleetPage, HasColumnsForTwoHundredNodes) {
  FleetNames names;
  const std::string page = fleet_page(judged_report(names, 201, 1), names);
  EXPECT_THAT(page, HasSubstr("class=\"scroll heat compact\""));
  EXPECT_THAT(page, HasSubstr("<th scope=\"col\">n199</th>"));
  EXPECT_THAT(page, Not(HasSubstr("<th scope=\"col\">n200</th>")));
}

TEST(FleetReport, HasAColumnForMachinesOfSeveralKinds) {
  FleetReport report = sample_report();
  report.nodes.back().machine = "4 x NVIDIA H100";
  report.notes.clear();
  expect_golden(to_terminal(fleet_report(report)), "fleet_kinds.txt");
}

TEST(NodeState, SaysWhetherANodeIsToDrain) {
  for (const NodeState state : {NodeState::wrong_data, NodeState::faulty, NodeState::incomplete,
                                NodeState::other_path, NodeState::slow, NodeState::unhealthy}) {
    EXPECT_TRUE(is_to_drain(state)) << name_of(state);
  }
  for (const NodeState state :
       {NodeState::missing, NodeState::unreadable, NodeState::odd_machine, NodeState::stale,
        NodeState::inconclusive, NodeState::not_judged, NodeState::ok}) {
    EXPECT_FALSE(is_to_drain(state)) << name_of(state);
  }
}

TEST(ExitCodeOfFleet, TellsTrouble) {
  const auto exit_of = [](NodeState state) {
    FleetReport report;
    report.nodes = {node_of("a", NodeState::ok, {}), node_of("b", state, {})};
    return exit_code_of(report);
  };
  EXPECT_EQ(exit_of(NodeState::ok), ExitCode::success);
  EXPECT_EQ(exit_of(NodeState::not_judged), ExitCode::inconclusive) << "among others that are ok";
  EXPECT_EQ(exit_of(NodeState::missing), ExitCode::problem_found) << "though nothing is to drain";
  EXPECT_EQ(exit_of(NodeState::slow), ExitCode::problem_found);
  EXPECT_EQ(exit_of(NodeState::inconclusive), ExitCode::inconclusive);
  EXPECT_EQ(exit_of(NodeState::odd_machine), ExitCode::inconclusive);
  EXPECT_EQ(exit_of(NodeState::unreadable), ExitCode::problem_found) << "one among others";
}

/// Takes no silence about nodes that nobody compared for good news.
TEST(ExitCodeOfFleet, IsInconclusiveWhereNoneWasJudged) {
  FleetReport report;
  report.nodes = {unjudged_node("a"), unjudged_node("b")};
  EXPECT_EQ(exit_code_of(report), ExitCode::inconclusive);
  report.nodes.push_back(node_of("c", NodeState::missing, {}));
  EXPECT_EQ(exit_code_of(report), ExitCode::problem_found);
}

TEST(ExitCodeOfFleet, IsNoVerdictWhereNothingCouldBeRead) {
  FleetReport report;
  EXPECT_EQ(exit_code_of(report), ExitCode::success);
  for (const char* host : {"a", "b"}) {
    report.nodes.push_back(node_of(host, NodeState::unreadable, {}));
    EXPECT_EQ(exit_code_of(report), ExitCode::usage);
  }
  report.nodes.push_back(node_of("c", NodeState::missing, {}));
  EXPECT_EQ(exit_code_of(report), ExitCode::problem_found);
}

TEST(FleetPrometheus, HasAFamilyForEachMetric) {
  expect_golden(fleet_prometheus(sample_report()), "fleet.prom");
}

/// Makes records of one machine one node to Prometheus, but not machines of one name.
TEST(FleetPrometheus, HasNoSeriesTwice) {
  FleetReport report = sample_report();
  report.nodes.push_back(node_of("node017", NodeState::ok, {}));
  report.nodes.push_back(node_of("node017", NodeState::ok, {}));
  report.nodes.back().mark = "GPU-9d44a6fd";
  const std::string text = fleet_prometheus(report);
  EXPECT_EQ(series_twice(text), std::vector<std::string>{});
  EXPECT_THAT(text, HasSubstr("\nlinkgain_fleet_node_drain{node=\"node017\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nlinkgain_fleet_node_drain{node=\"node017 (GPU-9d44a6fd)\"} 0\n"));
}

TEST(FleetPrometheus, PassesPromtool) {
  if (!has_promtool()) GTEST_SKIP() << kNoPromtool;
  EXPECT_EQ(promtool_complaints(fleet_prometheus(sample_report())), "");
  EXPECT_EQ(promtool_complaints(fleet_prometheus({})), "");
}

TEST(FleetCsv, HasARowForEachNode) { expect_golden(fleet_csv(sample_report()), "fleet.csv"); }

}  // namespace
}  // namespace linkgain::test
