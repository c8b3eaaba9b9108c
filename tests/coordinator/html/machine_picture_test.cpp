#include "linkgain/html/machine_picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/record/record.hpp"
#include "support/golden.hpp"

namespace linkgain::test {
namespace {

using namespace linkgain::test;
using testing::HasSubstr;

/// Has GPUs of one host, the first half of which is near one processor, the second near another.
Record node_of(int gpus, int nvlinks) {
  Record record;
  record.machine.host = "node1";
  record.machine.processor = "AMD EPYC <9654>";
  for (int i = 0; i < gpus; ++i) {
    GpuInfo gpu;
    gpu.cuda_index = i;
    gpu.name = "NVIDIA H100";
    gpu.nvlink_links = 18;
    gpu.nvlink_links_active = i == 3 ? 17 : 18;
    gpu.nvlink_rate_gb_per_s = 26.562;
    gpu.pcie_generation = 5;
    gpu.pcie_width = 16;
    record.machine.ranks.push_back({i, "node1", 10 + i, i < gpus / 2 ? "0-95" : "96-191", gpu, {}});
  }
  for (int from = 0; from < gpus; ++from) {
    for (int to = from + 1; to < gpus; ++to) {
      const bool near = (from < gpus / 2) == (to < gpus / 2);
      const bool joined = nvlinks > 0 && (nvlinks == 18 || near);
      record.machine.links.push_back(
          {from, to, true, joined, near ? Ancestor::node : Ancestor::sys, joined ? nvlinks : 0});
    }
  }
  return record;
}

TEST(MachinePicture, JoinsAllPairsByOneLine) {
  expect_golden(machine_figure(node_of(8, 18).machine, "gpus"), "machine_of_eight.html");
}

TEST(MachinePicture, ShowsPairsThatNvlinkJoins) {
  expect_golden(machine_figure(node_of(4, 4).machine, "gpus"), "machine_of_bridges.html");
}

TEST(MachinePicture, SaysThatThereIsNoNvlink) {
  expect_golden(machine_figure(node_of(2, 0).machine, "gpus"), "machine_without_nvlink.html");
}

TEST(MachinePicture, ShowsPairsWithoutP2p) {
  Machine machine = node_of(2, 4).machine;
  machine.links[0].p2p = false;
  machine.links[0].nvlink = true;
  machine.links[0].nvlinks = 4;
  const std::string html = machine_figure(machine, "gpus");
  EXPECT_THAT(html, HasSubstr("NVLink NV4 without P2P"));
  EXPECT_THAT(html, HasSubstr("<td class=\"h0\">NV4<br/><small>SYS, without P2P</small></td>"));
}

/// Expects 12 of the 18 links of H100 NVL, as many as three bridges carry: with 8 one is missing.
TEST(MachinePicture, ShowsLinksAsDownThatBridgesCouldCarry) {
  for (const auto& [model, active, are_down] : {std::tuple{"NVIDIA H100 NVL", 12, false},
                                                {"NVIDIA H100 PCIe", 12, false},
                                                {"NVIDIA H100 NVL", 8, true},
                                                {"NVIDIA H100", 12, true}}) {
    Machine machine = node_of(2, active).machine;
    for (RankInfo& rank : machine.ranks) {
      rank.gpu->name = model;
      rank.gpu->nvlink_links_active = active;
    }
    const std::string html = machine_figure(machine, "gpus");
    for (const char* text : {"Only ", "box dark", " of 18 links"}) {
      EXPECT_EQ(html.find(text) != std::string::npos, are_down) << model << active << text;
    }
  }
}

TEST(MachinePicture, HasRanksInThePlaceOfGpusAndEveryHost) {
  Record record;
  for (int i = 0; i < 20; ++i) {
    record.machine.ranks.push_back({i, i < 10 ? "node1" : "node2", i, "0-7", std::nullopt, {}});
  }
  const std::string html = machine_figure(record.machine, "gpus");
  for (const char* text : {"rank 0", "rank 19", "node1", "node2", ">network<"}) {
    EXPECT_THAT(html, HasSubstr(text));
  }
  EXPECT_EQ(machine_figure(Machine{}, "gpus"), "");
}

}  // namespace
}  // namespace linkgain::test
