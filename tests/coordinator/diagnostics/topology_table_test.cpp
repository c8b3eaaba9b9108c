#include "linkgain/diagnostics/topology_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/html/page.hpp"
#include "sample_topologies.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TopologyReport, OfGpusOnASwitch) {
  expect_golden(to_terminal(topology_report(h200_pair())), "topology_h200.txt");
}

TEST(TopologyReport, OfABridgedPair) {
  expect_golden(to_terminal(topology_report(ga102_pair())), "topology_ga102.txt");
}

TEST(TopologyReport, OfATroubledMachine) {
  expect_golden(to_terminal(topology_report(troubled_machine())), "topology_troubled.txt");
}

/// Has two GPUs without NVLink, one behind the chipset of a virtual machine.
TEST(TopologyReport, OfGpusOnTwoRootPorts) {
  Topology topology = h200_pair();
  for (TopologyGpu& each : topology.gpus) each.nvlink = nvlink(0, 0, 0, 0, false);
  topology.pairs = {pair(0, 1, Ancestor::phb, 0), pair(1, 0, Ancestor::phb, 0)};
  topology.hypervisor = "QEMU";
  topology.gpus[0].path = {{"0000:00:06.0", 16, 16, 32.0}, {"0000:00:01.1", 16, 16, 32.0}};
  topology.gpus[1].path = {{"0000:00:07.0", 16, 16, 16.0},
                           {"0000:03:04.0", 16, 16, 16.0},
                           {"0000:02:00.0", 4, 4, 16.0},
                           {"0000:00:02.1", 4, 4, 16.0}};
  expect_golden(to_terminal(topology_report(topology)), "topology_root_ports.txt");
}

TEST(TopologyReport, IsTheSameInMarkdownAndOnAPage) {
  expect_golden(to_markdown(topology_report(troubled_machine())), "topology_troubled.md");
  expect_golden(to_html(topology_report(troubled_machine())), "topology_troubled.html");
}

TEST(TopologyReport, LeavesColumnsOutOfANarrowTerminal) {
  Situations texts;
  for (const std::size_t width : {60U, 80U, 200U}) {
    texts.add(std::to_string(width) + " columns",
              to_terminal(topology_report(ga102_pair()), {.columns = width}));
  }
  expect_golden(texts.text(), "topology_narrow.txt");
}

TEST(TopologyMatrix, HasNvidiaSmisCellsAndColumnsAndExplainsOnlyWhatOccurs) {
  Topology uncounted = h200_pair();
  uncounted.pairs[0].nvlinks = Missing{"function not found"};
  Situations texts;
  texts.add("links of both directions", to_terminal(topology_matrix(h200_pair())));
  texts.add("links not counted", to_terminal(topology_matrix(uncounted)));
  expect_golden(texts.text(), "topology_matrix.txt");
}

TEST(TopologyReport, CalculatesAsTheGuideDoes) {
  EXPECT_THAT(to_terminal(topology_report(ga102_pair())),
              AllOf(HasSubstr("14.0625"), HasSubstr("56.25"), HasSubstr("112.50")));
}

TEST(TopologyReport, SaysOnceWhatIsAlike) {
  Situations texts;
  Topology topology = h200_pair();
  for (TopologyGpu& gpu : topology.gpus) gpu.nvlink.possible = 0;
  texts.add("no GPU has NVLink", to_terminal(topology_report(topology)));
  for (TopologyGpu& gpu : topology.gpus) {
    gpu.nvlink.possible = Missing{"Not Supported", WhyMissing::unsupported};
  }
  texts.add("the driver tells of no NVLink", to_terminal(topology_report(topology)));
  topology.gpus[0].nvlink.possible = 0;
  texts.add("one GPU has no NVLink, of the other the driver does not report",
            to_terminal(topology_report(topology)));
  topology = h200_pair();
  topology.gpus.push_back(topology.gpus[1]);
  topology.gpus[2].index = 2;
  for (const auto& [from, to] : {std::pair{0, 2}, {2, 0}, {1, 2}, {2, 1}}) {
    topology.pairs.push_back(pair(from, to, Ancestor::phb, 18));
  }
  texts.add("P2P of all pairs", to_terminal(topology_report(topology)));
  topology = h200_pair();
  topology.gpus.pop_back();
  topology.pairs.clear();
  texts.add("one GPU has no pairs", to_terminal(topology_report(topology)));
  expect_golden(texts.text(), "topology_situations.txt");
}

}  // namespace
}  // namespace linkgain::test
