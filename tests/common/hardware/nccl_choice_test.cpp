#include "linkgain/hardware/nccl_choice.hpp"

#include <gtest/gtest.h>

#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using enum P2pReach;

P2pReach reach(const std::optional<std::string>& disable, const std::optional<std::string>& level) {
  return p2p_limit({disable, level}, false, 2).reach;
}

TEST(P2pLimit, IsNcclsDefaultWhereNothingIsSet) {
  EXPECT_EQ(p2p_limit({}, false, 2).reach, pxb);
  EXPECT_EQ(p2p_limit({}, true, 2).reach, sys);
  EXPECT_EQ(p2p_limit({}, true, 3).reach, pxb);
  EXPECT_EQ(p2p_limit({}, false, 2).set_by, "");
}

TEST(P2pLimit, IsWhatTheVariablesSayAsNcclReadsThem) {
  EXPECT_EQ(reach("1", "SYS"), none);
  EXPECT_EQ(reach("true", {}), pxb);
  for (const char* level : {"LOC", "0"}) EXPECT_EQ(reach({}, level), none) << level;
  for (const char* level : {"NVL", "NVB", "C2C"}) EXPECT_EQ(reach({}, level), nvlink) << level;
  for (const char* level : {"PIX", "1"}) EXPECT_EQ(reach({}, level), pix) << level;
  for (const char* level : {"PXB", "P2C", "PXN", "2"}) EXPECT_EQ(reach({}, level), pxb) << level;
  for (const char* level : {"PHB", "3"}) EXPECT_EQ(reach({}, level), phb) << level;
  for (const char* level : {"SYS", "4", "9"}) EXPECT_EQ(reach({}, level), sys) << level;
  for (const char* level : {"sys", "", "-1"}) EXPECT_EQ(reach({}, level), pxb) << level;
  EXPECT_EQ(p2p_limit({{}, "SYS"}, false, 8).set_by, "NCCL_P2P_LEVEL=SYS");
}

/// Joins two GPUs, of which the driver grants P2P, by these many NVLinks, else by PCIe.
Topology pair_of(Ancestor ancestor, int nvlinks = 0) {
  Topology topology;
  for (int i = 0; i < 2; ++i) {
    TopologyGpu& gpu = topology.gpus.emplace_back();
    gpu.index = i;
    gpu.name = "NVIDIA GeForce RTX 4090";
  }
  for (int i = 0; i < 2; ++i) {
    const Reading<P2pStatus> yes = P2pStatus{true, {}};
    topology.pairs.push_back({i, 1 - i, ancestor, nvlinks, yes, yes, yes,
                              P2pStatus{nvlinks > 0, nvlinks > 0 ? "" : "not supported"}});
  }
  return topology;
}

std::string answer(const Topology& topology, const P2pVariables& variables = {}) {
  const NcclChoice choice = nccl_choice(topology, topology.pairs[0], variables);
  return text_of(choice) + (choice.leaves_p2p ? "\n(leaves P2P)" : "");
}

Topology with_ports(Topology topology) {
  topology.gpus[0].path = {{"0000:01:00.0", 16, 16, 16.0}, {"0000:00:01.1", 16, 16, 16.0}};
  topology.gpus[1].path = {{"0000:41:00.0", 16, 16, 16.0}, {"0000:40:03.1", 16, 16, 16.0}};
  return topology;
}

TEST(NcclChoice, OfTwoGpusSaysWhy) {
  Situations texts;
  texts.add("NVLink", answer(pair_of(Ancestor::phb, 4)));
  texts.add("NVLink, and P2P is off", answer(pair_of(Ancestor::phb, 4), {"1", {}}));
  texts.about("P2P is granted over PCIe");
  texts.add("one switch", answer(pair_of(Ancestor::pix)));
  texts.add("several switches", answer(pair_of(Ancestor::pxb)));
  texts.add("the CPU", answer(pair_of(Ancestor::phb)));
  texts.add("host bridges of a CPU", answer(pair_of(Ancestor::node)));
  texts.add("two CPUs, whose root ports are known", answer(with_ports(pair_of(Ancestor::sys))));
  texts.add("the CPU, by NCCL_P2P_LEVEL", answer(pair_of(Ancestor::phb), {{}, "PHB"}));
  texts.add("two CPUs, beyond NCCL_P2P_LEVEL", answer(pair_of(Ancestor::sys), {{}, "PHB"}));
  texts.add("one switch, and P2P is off", answer(pair_of(Ancestor::pix), {"1", {}}));
  texts.add("one switch, and P2P is off for any distance",
            answer(pair_of(Ancestor::pix), {"0", "LOC"}));
  Topology amd = pair_of(Ancestor::phb);
  amd.has_amd_cpu = true;
  texts.add("AMD's CPU", answer(amd));
  amd.gpus.emplace_back();
  texts.add("AMD's CPU and three GPUs", answer(amd));
  amd.gpus[0].cuda_index = 0;
  amd.gpus[1].cuda_index = 1;
  texts.add("AMD's CPU and three GPUs, one of them hidden from CUDA", answer(amd));
  texts.about("what is not granted, or not known");
  Topology refused = pair_of(Ancestor::pix);
  refused.pairs[1].write = P2pStatus{false, "chipset not supported"};
  texts.add("writes refused one way", answer(refused));
  Topology unknown = pair_of(Ancestor::pix);
  unknown.pairs[0].read = Missing{"Unknown Error"};
  texts.add("reads not known", answer(unknown));
  unknown = pair_of(Ancestor::pix);
  for (TopologyPair& pair : unknown.pairs) pair.ancestor = Missing{"the kernel does not say"};
  texts.add("no place", answer(unknown));
  for (TopologyPair& pair : unknown.pairs) pair.nvlinks = Missing{"too old"};
  for (TopologyPair& pair : unknown.pairs) pair.over_nvlink = Missing{"too old"};
  texts.add("NVLinks not known", answer(unknown));
  texts.expect_golden("nccl_choice.txt");
}

TEST(Patched, AreDriversThatGrantPcieP2pToGeForceRtx) {
  const auto is_patched_pair = [](const Topology& topology) {
    return is_patched(topology, topology.pairs[0]);
  };
  EXPECT_TRUE(is_patched_pair(pair_of(Ancestor::phb)));
  EXPECT_FALSE(is_patched_pair(pair_of(Ancestor::phb, 4))) << "NVLink";
  Topology refused = pair_of(Ancestor::phb);
  refused.pairs[1].read = P2pStatus{false, "chipset not supported"};
  EXPECT_FALSE(is_patched_pair(refused));
  Topology professional = pair_of(Ancestor::phb);
  professional.gpus[0].name = "NVIDIA RTX PRO 6000 Blackwell";
  EXPECT_FALSE(is_patched_pair(professional));
  Topology pascal = pair_of(Ancestor::phb);
  for (TopologyGpu& gpu : pascal.gpus) gpu.name = "NVIDIA GeForce GTX 1080 Ti";
  EXPECT_FALSE(is_patched_pair(pascal)) << "NVIDIA's own driver grants it";
}

}  // namespace
}  // namespace linkgain::test
