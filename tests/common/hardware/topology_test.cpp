#include "linkgain/hardware/topology.hpp"

#include <gtest/gtest.h>

#include "linkgain/base/json.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

TEST(NvlinkPayload, IsKnownWhereTheCodingIsPublished) {
  // The payload rates of the product sheets: 25 GB/s, 25 GB/s and 50 GB/s a link.
  EXPECT_NEAR(25.78125 * nvlink_payload_share(2).value(), 25.0, 1e-9);
  EXPECT_NEAR(26.5625 * nvlink_payload_share(6).value(), 25.0, 1e-9);
  EXPECT_NEAR(53.125 * nvlink_payload_share(7).value(), 50.0, 1e-9);
  for (const int version : {-1, 0, 1, 4, 5, 8, 99}) {
    EXPECT_FALSE(nvlink_payload_share(version)) << version;
  }
}

TEST(NvlinkVersion, FollowsNvmlsNumbers) {
  const std::vector<std::string> names{"", "1.0", "2.0", "2.2", "3.0", "3.1", "4.0", "5.0", "6.0"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(nvlink_version_name(static_cast<int>(i)), names[i]);
  }
  EXPECT_EQ(nvlink_version_name(99), "");
  EXPECT_EQ(nvlink_version_name(-1), "");
}

TEST(BridgeRate, IsHalfTheProductSheetsTotal) {
  EXPECT_EQ(bridge_rate("NVIDIA GeForce RTX 3090"), 56.25);
  EXPECT_EQ(bridge_rate("Quadro RTX 8000"), 50.0);
  EXPECT_EQ(bridge_rate("NVIDIA H100 NVL"), 300.0);
  for (const char* without :
       {"NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 309", "NVIDIA H200", ""}) {
    EXPECT_EQ(bridge_rate(without), std::nullopt) << without;
  }
}

using Json = nlohmann::json;

NvlinkInfo nvlink(int version, int active, double rate) {
  NvlinkInfo info;
  info.version = version;
  info.possible = 18;
  info.active = active;
  info.rate_gb_per_s = rate;
  info.switched = true;
  return info;
}

/// Makes two GPUs, the second of which does not answer, and a NIC.
Topology small_machine() {
  Topology topology;
  topology.host = "node1";
  topology.driver = std::string("580.159.04");
  TopologyGpu gpu;
  gpu.name = "NVIDIA H200";
  gpu.uuid = "GPU-00";
  gpu.pci_bus_id = "00000000:00:06.0";
  gpu.cuda_index = hidden_from_cuda();
  gpu.cpus = std::string("0-31");
  gpu.numa_node = 0;
  gpu.nvlink = nvlink(6, 18, 26.5625);
  gpu.pcie.generation = 5;
  topology.gpus = {gpu, TopologyGpu{}};
  topology.gpus[1].index = 1;
  topology.gpus[1].no_answer = "GPU is lost";
  topology.nics = {{"mlx5_0", "0000:03:00.0", 1}};
  TopologyPair gpus{0, 1, Ancestor::phb, 18, {}, {}, {}, {}};
  gpus.read = P2pStatus{true, ""};
  gpus.write = P2pStatus{false, "chipset not supported"};
  topology.pairs = {gpus, {0, 2, Ancestor::node, {}, {}, {}, {}, {}}};
  return topology;
}

TEST(AncestorLabel, IsNvidiaSmis) {
  EXPECT_EQ(name_of(Ancestor::self), "X");
  EXPECT_EQ(name_of(Ancestor::pix), "PIX");
  EXPECT_EQ(name_of(Ancestor::pxb), "PXB");
  EXPECT_EQ(name_of(Ancestor::phb), "PHB");
  EXPECT_EQ(name_of(Ancestor::node), "NODE");
  EXPECT_EQ(name_of(Ancestor::sys), "SYS");
}

TEST(FindPair, GoesOneWayOnly) {
  const Topology topology = small_machine();
  EXPECT_EQ(find_pair(topology, 0, 2), &topology.pairs[1]);
  EXPECT_EQ(find_pair(topology, 2, 0), nullptr);
}

TEST(PairLabel, IsNvlinkThenAncestorThenUnknown) {
  TopologyPair pair;
  EXPECT_EQ(label_of(pair), "?");
  pair.ancestor = Ancestor::phb;
  EXPECT_EQ(label_of(pair), "PHB");
  pair.nvlinks = 0;
  EXPECT_EQ(label_of(pair), "PHB");
  pair.nvlinks = 4;
  EXPECT_EQ(label_of(pair), "NV4");
  pair.nvlinks = Missing{"old driver"};
  pair.over_nvlink = P2pStatus{true, ""};
  EXPECT_EQ(label_of(pair), "NV?");
  pair.over_nvlink = P2pStatus{false, "not supported"};
  EXPECT_EQ(label_of(pair), "PHB");
}

TEST(NvlinkRate, IsLinksTimesRateAsTheGuideCalculates) {
  const NvlinkInfo ga102 = nvlink(5, 4, 14.0625);
  EXPECT_DOUBLE_EQ(rate_of(ga102).value(), 56.25);
  EXPECT_FALSE(payload_limit_of(ga102).measured());
  EXPECT_NEAR(payload_limit_of(nvlink(6, 18, 26.5625)).value(), 450.0, 1e-9);
}

TEST(NvlinkRate, IsTheSumWhereLinksDiffer) {
  NvlinkInfo info = nvlink(6, 18, 26.5625);
  info.slower = {{3, 13.28125}, {7, 0.28125}};
  EXPECT_DOUBLE_EQ(rate_of(info).value(), 16 * 26.5625 + 13.28125 + 0.28125);
  EXPECT_NEAR(payload_limit_of(info).value(), 16 * 25.0 + 12.5 + 0.28125 * 16 / 17, 1e-9);
}

TEST(NvlinkRate, SaysWhyItIsNotKnown) {
  NvlinkInfo info = nvlink(6, 0, 26.5625);
  Situations answers;
  answers.add("rate of links that are down", rate_of(info).reason());
  answers.add("payload of a coding that is not public",
              payload_limit_of(nvlink(5, 4, 14.0625)).reason());
  answers.expect_golden("rates_missing.txt");
  info.active = Missing{"GPU is lost"};
  EXPECT_EQ(rate_of(info).reason(), "GPU is lost");
  EXPECT_EQ(payload_limit_of(info).reason(), "GPU is lost");
  info = nvlink(6, 18, 0);
  info.rate_gb_per_s = Missing{"Not Supported"};
  EXPECT_EQ(rate_of(info).reason(), "Not Supported");
  info = nvlink(6, 18, 26.5625);
  info.version = Missing{"Not Found"};
  EXPECT_EQ(payload_limit_of(info).reason(), "Not Found");
}

TopologyPair pair_of(int from, int to) {
  TopologyPair pair;
  pair.from = from;
  pair.to = to;
  return pair;
}

TEST(DeviceLabel, CountsGpusThenNics) {
  Topology topology = small_machine();
  topology.gpus[1].index = 3;
  EXPECT_EQ(device_labels(topology, pair_of(1, 2)), "GPU3-NIC0");
  EXPECT_EQ(device_label(topology, 0), "GPU0");
  EXPECT_EQ(device_label(topology, 1), "GPU3");
  EXPECT_EQ(device_label(topology, 2), "NIC0");
}

TEST(P2pRefusal, IsOfEitherDirection) {
  Topology topology = small_machine();
  topology.pairs = {pair_of(0, 1), pair_of(1, 0), pair_of(0, 2)};
  for (TopologyPair& pair : topology.pairs) pair.read = pair.write = P2pStatus{true, {}};
  ASSERT_EQ(gpu_pairs(topology).size(), 1U) << "each once, no NIC";
  const auto refusal = [&] { return p2p_refusal(topology, gpu_pairs(topology).front()); };
  EXPECT_EQ(refusal().why_not + refusal().unknown, "");
  topology.pairs[1].read = Missing{"Unknown Error"};
  EXPECT_EQ(refusal().unknown, "Unknown Error");
  topology.pairs[1].write = P2pStatus{false, "not supported"};
  EXPECT_EQ(refusal().why_not, "not supported");
  EXPECT_EQ(name_of(refusal().use), "writes");
  EXPECT_EQ(refusal().unknown, "");
  topology.pairs[0].read = P2pStatus{false, "disabled"};
  EXPECT_EQ(refusal().use, P2pUse::reads);
}

TEST(PcieP2p, IsNeededWhereAPairIsNotJoined) {
  Topology topology = small_machine();
  topology.pairs = {pair_of(0, 1)};
  EXPECT_EQ(needs_pcie_p2p(topology), std::nullopt);
  topology.pairs[0].nvlinks = 4;
  EXPECT_EQ(needs_pcie_p2p(topology), false);
  topology.pairs[0].nvlinks = 0;
  EXPECT_EQ(needs_pcie_p2p(topology), true);
}

TEST(TopologyJson, HoldsReadingsOrTheirReasons) {
  const Json json = Json::parse(to_json(small_machine()));
  EXPECT_EQ(json.at("schema"), "linkgain.topology/1");
  EXPECT_EQ(json.at("host"), "node1");
  EXPECT_EQ(json.at("driver"), "580.159.04");
  EXPECT_FALSE(json.contains("no_gpus"));
  const Json& gpu = json.at("gpus").at(0);
  EXPECT_EQ(gpu.at("cuda_index"), Json({{"not_measured", "hidden by CUDA_VISIBLE_DEVICES"}}));
  EXPECT_EQ(gpu.at("cpu_affinity"), "0-31");
  EXPECT_EQ(gpu.at("numa_affinity"), 0);
  EXPECT_EQ(gpu.at("pcie").at("generation"), 5);
  EXPECT_EQ(gpu.at("pcie").at("width"), Json({{"not_measured", "not looked for"}}));
  const Json& links = gpu.at("nvlink");
  EXPECT_EQ(links.at("version"), "4.0");
  EXPECT_EQ(links.at("links_active"), 18);
  EXPECT_EQ(links.at("links_possible"), 18);
  EXPECT_EQ(links.at("to_switch"), true);
  EXPECT_DOUBLE_EQ(links.at("link_gb_per_s"), 26.5625);
  EXPECT_DOUBLE_EQ(links.at("direction_gb_per_s"), 478.125);
  EXPECT_DOUBLE_EQ(links.at("both_ways_gb_per_s"), 956.25);
  EXPECT_NEAR(links.at("payload_direction_gb_per_s").get<double>(), 450.0, 1e-9);
  EXPECT_EQ(links.at("slower_links"), Json::array());
}

TEST(TopologyJson, NamesLinksThatAreSlower) {
  Topology topology = small_machine();
  topology.gpus[0].nvlink.slower = {{3, 13.25}};
  const Json links = Json::parse(to_json(topology)).at("gpus").at(0).at("nvlink");
  EXPECT_EQ(links.at("slower_links"), Json::array({{{"link", 3}, {"gb_per_s", 13.25}}}));
  EXPECT_DOUBLE_EQ(links.at("direction_gb_per_s"), 17 * 26.5625 + 13.25);
}

TEST(TopologyJson, HoldsPairsAndNics) {
  const Json json = Json::parse(to_json(small_machine()));
  EXPECT_EQ(json.at("nics").at(0).at("name"), "mlx5_0");
  EXPECT_EQ(json.at("nics").at(0).at("numa_affinity"), 1);
  const Json& pair = json.at("pairs").at(0);
  EXPECT_EQ(pair.at("from"), "GPU0");
  EXPECT_EQ(pair.at("to"), "GPU1");
  EXPECT_EQ(pair.at("label"), "NV18");
  EXPECT_EQ(pair.at("ancestor"), "PHB");
  EXPECT_EQ(pair.at("nvlinks"), 18);
  EXPECT_EQ(pair.at("p2p").at("read"), Json({{"ok", true}}));
  EXPECT_EQ(pair.at("p2p").at("write"),
            Json({{"ok", false}, {"why_not", "chipset not supported"}}));
  EXPECT_EQ(pair.at("p2p").at("atomics"), Json({{"not_measured", "not looked for"}}));
  EXPECT_EQ(json.at("pairs").at(1).at("to"), "NIC0");
  EXPECT_EQ(json.at("pairs").at(1).at("label"), "NODE");
  EXPECT_FALSE(json.at("pairs").at(1).contains("p2p"));
}

TEST(TopologyJson, NeverHoldsAnEmptyName) {
  const Json lost = Json::parse(to_json(small_machine())).at("gpus").at(1);
  for (const char* key : {"name", "uuid", "pci_bus_id"}) {
    EXPECT_EQ(lost.at(key), Json({{"not_measured", "GPU is lost"}})) << key;
  }
  Topology none;
  none.no_gpus = "no driver";
  EXPECT_EQ(Json::parse(to_json(none)).at("no_gpus"), "no driver");
}

}  // namespace

}  // namespace linkgain::test
