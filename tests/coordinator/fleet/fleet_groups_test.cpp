#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "fleet_fixture.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(Fleet, CallsNeitherOfTwoGroupsTheStandard) {
  const auto measure = [this](int nodes, int slow) {
    records_.clear();
    for (int i = 1; i <= nodes; ++i) {
      records_.push_back(fleet_node(fmt::format("node{:03}", i), static_cast<std::uint64_t>(i)));
      set_launches(records_.back(), 8);
      if (i <= slow) slow_down(node(i), 1.3, [](const Case& c) { return is_pair(c, 1, 3); });
    }
  };
  for (const auto& [nodes, slow] : {std::pair{64, 32}, {64, 31}, {64, 40}, {7, 3}, {4, 2}}) {
    measure(nodes, slow);
    const FleetReport report = judge();
    EXPECT_THAT(report.drain, IsEmpty());
    EXPECT_THAT(report.measure_again, IsEmpty()) << "which would say the same";
    EXPECT_EQ(exit_code_of(report), ExitCode::inconclusive);
    for (const FleetNode& each : report.nodes) {
      EXPECT_EQ(each.state, NodeState::inconclusive);
      EXPECT_EQ(each.split_cases, 2);
      EXPECT_EQ(each.judged_cases, 38);
    }
    EXPECT_THAT(report.notes,
                Contains(AllOf(HasSubstr("two groups in 2 of 40 cases"),
                               HasSubstr(fmt::format("{} of {} nodes take 1.3", slow, nodes)),
                               HasSubstr(fmt::format("node[001-{:03}]", slow)))));
  }
  measure(64, 20);
  EXPECT_THAT(judge().drain, SizeIs(20)) << "two thirds agree";
  measure(64, 32);
  slow_down(node(50), 9.0, [](const Case& c) { return is_pair(c, 1, 3); });
  slow_down(node(60), 1.5, [](const Case& c) { return is_pair(c, 0, 1); });
  for (CaseResult& result : node(55).cases) result.variants[0].path = Path::unknown;
  const FleetReport report = judge();
  EXPECT_THAT(report.measure_again, ElementsAre("node055")) << "whatever group it is in";
  EXPECT_THAT(report.drain, ElementsAre("node050", "node060"))
      << "slower than both, and by a case in which the others agree";
  EXPECT_THAT(report.notes, Contains(HasSubstr("two groups in 2 of 40 cases")));
}

/// Plants a slow node into fleets of two groups of all sizes.
TEST_F(Fleet, HidesNoSlowNodeInAnyGroup) {
  const auto is_planted = [](const Case& c) { return is_pair(c, 1, 3); };
  for (int nodes = 4; nodes <= 24; ++nodes) {
    for (int slower = 0; slower <= nodes - 2; ++slower) {
      SCOPED_TRACE(fmt::format("{} of {}", slower, nodes));
      records_.clear();
      for (int i = 1; i <= nodes; ++i) {
        const int seed = 1000 * nodes + 30 * slower + i;
        records_.push_back(
            fleet_node(fmt::format("node{:02}", i), static_cast<std::uint64_t>(seed)));
        set_launches(records_.back(), 8);
        if (i <= slower) slow_down(node(i), 1.1, is_planted);
      }
      const bool are_groups = 3 * slower > nodes && 3 * (nodes - slower) > nodes;
      if (are_groups) {
        EXPECT_THAT(judge().drain, IsEmpty());
      }
      slow_down(node(nodes), 3.0, is_planted);
      const FleetReport report = judge();
      EXPECT_EQ(report.nodes.front().host, node(nodes).machine.host);
      EXPECT_EQ(report.nodes.front().state, NodeState::slow);
      EXPECT_EQ(report.nodes.front().slow_cases, 2);
      EXPECT_GT(*report.nodes.front().slowdown, 2.6) << "beside the slower group";
      for (const std::string& note : report.notes) {
        EXPECT_THAT(note, AnyOf(Not(HasSubstr("two groups")),
                                HasSubstr(fmt::format(": {} of {} nodes", slower, nodes))));
      }
    }
  }
}

/// Names them because they look fast where most nodes are slow.
TEST_F(Fleet, NamesNodesThatAreFasterThanTheirPeers) {
  for (Record& record : records_) set_launches(record, 8);
  for (int i = 1; i <= 8; ++i)
    slow_down(node(i), 1.1, [](const Case& c) { return is_pair(c, 1, 3); });
  const FleetReport report = judge();
  EXPECT_EQ(exit_code_of(report), ExitCode::success) << "two thirds agree";
  EXPECT_THAT(report.notes, Contains(AllOf(HasSubstr("4 of 12 nodes"), HasSubstr("2 cases"),
                                           HasSubstr("up to 1.1"),
                                           HasSubstr("node[09-12]. The others may be slow"))));
  reset();
  slow_down(node(4), 0.3, [](const Case&) { return true; });
  EXPECT_THAT(judge().notes, Contains(AllOf(HasSubstr("1 of 12 nodes is"), EndsWith(": node04"))))
      << "one that is faster says nothing of the others";
}

}  // namespace
}  // namespace linkgain::test
