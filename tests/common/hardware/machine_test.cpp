#include "linkgain/hardware/machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/errors.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

PairLink link(std::optional<bool> p2p, std::optional<bool> nvlink) { return {0, 1, p2p, nvlink}; }

/// Makes ranks with GPUs of these names; empty: a rank without one.
Machine with_gpus(const std::vector<std::string>& names) {
  Machine machine;
  for (const std::string& name : names) {
    RankInfo rank;
    if (!name.empty()) {
      rank.gpu.emplace();
      rank.gpu->name = name;
    }
    machine.ranks.push_back(rank);
  }
  return machine;
}

/// Keeps what `topo` and `doctor` draw.
TEST(MachineOfTopology, KeepsWhatIsKnownOfGpusAndPairs) {
  Topology topology;
  topology.host = "node1";
  topology.gpus.resize(2);
  topology.gpus[1].index = 1;
  topology.gpus[1].name = "NVIDIA H200";
  topology.gpus[1].nvlink.possible = 18;
  topology.gpus[1].nvlink.active = Missing{"Timeout"};
  TopologyPair pair;
  pair.to = 1;
  pair.ancestor = Ancestor::phb;
  pair.nvlinks = 17;
  pair.read = pair.write = P2pStatus{true, {}};
  topology.pairs.push_back(pair);
  Machine machine = machine_of(topology);
  ASSERT_EQ(machine.ranks.size(), 2U);
  EXPECT_EQ(gpu_label(machine, 1), "GPU1");
  EXPECT_EQ(machine.ranks[1].gpu->nvlink_links, 18);
  EXPECT_EQ(machine.ranks[1].gpu->nvlink_links_active, std::nullopt);
  EXPECT_EQ(link_label(machine, machine.links.at(0)), "NV17");
  topology.pairs[0].write = P2pStatus{false, "no"};
  machine = machine_of(topology);
  EXPECT_EQ(link_label(machine, machine.links.at(0)), "NV17 without P2P");
  topology.pairs[0].write = Missing{"Timeout"};
  EXPECT_EQ(machine_of(topology).links.at(0).p2p, std::nullopt);
}

TEST(CudaVersion, IsReadFromItsInteger) {
  EXPECT_EQ(cuda_version_text(13000), "13.0");
  EXPECT_EQ(cuda_version_text(12080), "12.8");
}

/// Expects a driver to start programs of its own major version of CUDA and of older ones.
TEST(Driver, IsOfTheBuildsMajorVersionOrNewer) {
  for (const auto& [built, driver] : std::vector<std::pair<std::string, std::string>>{
           {"13.0", "13.0"}, {"13.1", "13.0"}, {"12.4", "13.0"}, {"13.0", ""}, {"", "11.8"}}) {
    EXPECT_NO_THROW(require_driver_for(built, driver)) << built << " by " << driver;
  }
  for (const auto& [built, driver, newer] :
       std::vector<std::array<std::string, 3>>{{"13.0", "12.9", "580"}, {"12.4", "11.8", "525"}}) {
    try {
      require_driver_for(built, driver);
      FAIL() << built << " by " << driver;
    } catch (const MachineError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr(built), HasSubstr(driver)));
      EXPECT_THAT(error.advice(), HasSubstr(newer));
    }
  }
}

TEST(Path, NamesParseBack) {
  for (const Path path : {Path::nvlink, Path::pcie_p2p, Path::host_memory, Path::network,
                          Path::mixed, Path::unknown}) {
    EXPECT_EQ(from_name<Path>(name_of(path)), path);
  }
  EXPECT_EQ(name_of(Path::pcie_p2p), "pcie-p2p");
  EXPECT_EQ(name_of(Path::host_memory), "host-memory");
  try {
    from_name<Path>("nvlnk");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'nvlnk'"), HasSubstr("nvlink?")));
  }
}

TEST(ValueOf, IsEmptyWhereAVariableIsNotSet) {
  const Environment environment{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_ALGO", ""}};
  EXPECT_EQ(value_of(environment, "NCCL_P2P_DISABLE"), "1");
  EXPECT_EQ(value_of(environment, "NCCL_ALGO"), "");
  EXPECT_EQ(value_of(environment, "NCCL_PROTO"), "");
}

TEST(SameGpus, ComparesEveryRanksHostAndGpu) {
  const Machine machine = with_gpus({"A", "A"});
  Machine other = machine;
  EXPECT_TRUE(same_gpus(machine, other));
  other.ranks[1].gpu->pci_bus_id = "0000:99:00.0";
  EXPECT_FALSE(same_gpus(machine, other));
  other = machine;
  other.ranks[1].host = "node2";
  EXPECT_FALSE(same_gpus(machine, other));
  other = machine;
  other.ranks[1].gpu.reset();
  EXPECT_FALSE(same_gpus(machine, other));
  EXPECT_FALSE(same_gpus(machine, with_gpus({"A", "A", "A"})));
}

TEST(OnOneHost, ComparesEveryRank) {
  Machine machine = with_gpus({"A", "A", "A"});
  EXPECT_TRUE(on_one_host(machine));
  machine.ranks[2].host = "node2";
  EXPECT_FALSE(on_one_host(machine));
  EXPECT_TRUE(on_one_host(Machine{}));
}

TEST(PairLink, IsNamedAsTheTopologysMatrixHasIt) {
  PairLink pair = link({}, {});
  EXPECT_EQ(label_of(pair), "?");
  pair.ancestor = Ancestor::phb;
  EXPECT_EQ(label_of(pair), "PHB");
  pair.nvlink = true;
  EXPECT_EQ(label_of(pair), "NV?");
  pair.nvlinks = 4;
  EXPECT_EQ(label_of(pair), "NV4");
  pair.nvlinks = 0;
  EXPECT_EQ(label_of(pair), "PHB");
}

TEST(FindLink, TakesEitherOrder) {
  Machine machine = with_gpus({"A", "A", "A"});
  machine.links = {{0, 1, true, true}, {0, 2, true, false}};
  EXPECT_EQ(find_link(machine, 2, 0), &machine.links[1]);
  EXPECT_EQ(find_link(machine, 0, 1), &machine.links[0]);
  EXPECT_EQ(find_link(machine, 1, 2), nullptr);
}

TEST(AllPairs, NeedsEveryPairAndKnowsWhatItDoesNotKnow) {
  EXPECT_EQ(all_pairs({link(true, false), link(true, true)}, allows_p2p), true);
  EXPECT_EQ(all_pairs({link(true, false), link(true, true)}, joined_by_nvlink), false);
  EXPECT_EQ(all_pairs({link({}, true), link(true, true)}, allows_p2p), std::nullopt);
  EXPECT_EQ(all_pairs({link({}, true), link({}, true)}, joined_by_nvlink), true);
  EXPECT_EQ(all_pairs({}, allows_p2p), std::nullopt);
}

TEST(JoinedByNvlink, RestsOnCountedLinksThenOnTheDriver) {
  PairLink pair;
  EXPECT_EQ(joined_by_nvlink(pair), std::nullopt);
  pair.nvlink = true;
  EXPECT_EQ(joined_by_nvlink(pair), true);
  pair.nvlinks = 0;
  EXPECT_EQ(joined_by_nvlink(pair), false) << "whatever the driver says";
  pair.nvlink = false;
  pair.nvlinks = 4;
  EXPECT_EQ(joined_by_nvlink(pair), true) << "it may refuse P2P over a bridge that is there";
}

TEST(DescribeRanks, CountsGpusByName) {
  EXPECT_EQ(describe_ranks(with_gpus({"NVIDIA H200", "NVIDIA H200"})), "2 x NVIDIA H200");
  EXPECT_EQ(describe_ranks(with_gpus({"NVIDIA H200", "NVIDIA L4"})), "NVIDIA H200 + NVIDIA L4");
  EXPECT_EQ(describe_ranks(with_gpus({"A", "B", "A", "B", "A"})), "3 x A + 2 x B");
}

TEST(DescribeRanks, NamesGpusThatSayNothing) {
  Machine machine = with_gpus({"A", "B", "C"});
  machine.ranks[1].gpu->name.clear();
  machine.ranks[2].gpu->name.clear();
  EXPECT_THAT(describe_ranks(machine), testing::StartsWith("A + 2 x GPU "));
}

TEST(DescribeRanks, CountsRanksWithoutGpus) {
  EXPECT_EQ(describe_ranks(with_gpus({"", "", "", ""})), "4 ranks");
}

}  // namespace
}  // namespace linkgain::test
