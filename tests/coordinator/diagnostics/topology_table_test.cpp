#include "linkgain/diagnostics/topology_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_topologies.hpp"
#include "support/golden.hpp"

namespace linkgain {
namespace {

using test::expect_golden;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(TopologyReport, OfGpusOnASwitch) {
  expect_golden(topology_report(test::h200_pair()), "topology_h200.txt");
}

TEST(TopologyReport, OfABridgedPair) {
  expect_golden(topology_report(test::ga102_pair()), "topology_ga102.txt");
}

TEST(TopologyReport, OfATroubledMachine) {
  expect_golden(topology_report(test::troubled_machine()), "topology_troubled.txt");
}

TEST(TopologyMatrix, HasNvidiaSmisCellsAndColumns) {
  EXPECT_THAT(topology_matrix(test::h200_pair()),
              StartsWith("        GPU0  GPU1  CPU Affinity  NUMA Affinity\n"
                         "  GPU0   X    NV18  0-31          0\n"
                         "  GPU1  NV18   X    0-31          0\n\n"));
}

TEST(TopologyMatrix, ExplainsOnlyWhatOccurs) {
  const std::string matrix = topology_matrix(test::h200_pair());
  EXPECT_THAT(matrix, AllOf(HasSubstr("\n  X "), HasSubstr("\n  NV#"), Not(HasSubstr("PHB"))));
  Topology uncounted = test::h200_pair();
  uncounted.pairs[0].nvlinks = Reading<int>::missing("function not found");
  EXPECT_THAT(topology_matrix(uncounted),
              HasSubstr("\n  NV?  NVLinks, not counted: function not found\n"));
}

TEST(TopologyReport, ReckonsAsThePageDoes) {
  EXPECT_THAT(topology_report(test::ga102_pair()),
              AllOf(HasSubstr("14.0625"), HasSubstr("56.25"), HasSubstr("112.50")));
}

TEST(TopologyReport, SaysOnceThatNoGpuHasNvlink) {
  Topology topology = test::h200_pair();
  for (TopologyGpu& gpu : topology.gpus) gpu.nvlink.possible = 0;
  EXPECT_THAT(topology_report(topology), HasSubstr("\n  NVLink: none of the GPUs has it\n"));
  for (TopologyGpu& gpu : topology.gpus) {
    gpu.nvlink.possible = Reading<int>::missing("Not Supported");
  }
  EXPECT_THAT(topology_report(topology),
              HasSubstr("\n  NVLink: none that the driver tells of: Not Supported\n"));
  topology.gpus[0].nvlink.possible = 0;
  EXPECT_THAT(topology_report(topology), HasSubstr("\n  GPU0    none\n"));
}

TEST(TopologyReport, NamesP2pOnceWhereAllPairsAreAlike) {
  Topology topology = test::h200_pair();
  topology.gpus.push_back(topology.gpus[1]);
  topology.gpus[2].index = 2;
  for (const auto& [from, to] : {std::pair{0, 2}, {2, 0}, {1, 2}, {2, 1}}) {
    topology.pairs.push_back(test::pair(from, to, Ancestor::phb, 18));
  }
  EXPECT_THAT(topology_report(topology), HasSubstr("\n  all pairs  ok    ok     ok       ok\n"));
}

TEST(TopologyReport, OfOneGpuHasNoPairs) {
  Topology topology = test::h200_pair();
  topology.gpus.pop_back();
  topology.pairs.clear();
  EXPECT_THAT(topology_report(topology),
              AllOf(StartsWith("node1: 1 x NVIDIA H200, driver 580.159.04\n"),
                    Not(HasSubstr("P2P")), HasSubstr("  GPU0   X    0-31          0\n")));
}

}  // namespace
}  // namespace linkgain
