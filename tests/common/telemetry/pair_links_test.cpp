#include "linkgain/telemetry/pair_links.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/nvml_scenario.hpp"

namespace linkgain {
namespace {

using linkgain::testing::NvmlScenario;
using ::testing::ElementsAre;
using ::testing::SizeIs;

/// Of the scenario's GPUs with these numbers; -1 stands for one that is not known.
std::vector<PairLink> links_of(const char* name, const std::vector<int>& gpus) {
  const NvmlScenario scenario(name, NVML_DOUBLE);
  std::vector<std::optional<Nvml::Device>> devices;
  for (const int gpu : gpus) {
    devices.push_back(gpu < 0 ? std::nullopt : std::optional(scenario.gpu(gpu)));
  }
  return links_between(devices);
}

std::vector<std::string> labels_of(const char* name, const std::vector<int>& gpus) {
  std::vector<std::string> labels;
  for (const PairLink& link : links_of(name, gpus)) labels.push_back(label_of(link));
  return labels;
}

TEST(PairLinks, AreNamedAsTheTopologyNamesThem) {
  EXPECT_THAT(labels_of("h200x2", {0, 1}), ElementsAre("NV18"));
  EXPECT_THAT(labels_of("titan-rtx-nv2", {1, 0}), ElementsAre("NV2"));
  EXPECT_THAT(labels_of("titan-rtx-phb", {0, 1}), ElementsAre("PHB"));
  EXPECT_THAT(labels_of("p2p-refused", {0, 1}), ElementsAre("NV4"));
}

TEST(PairLinks, AreThereForEveryPairOnce) {
  const std::vector<PairLink> links = links_of("h200x8", {0, 1, 2, 3, 4, 5, 6, 7});
  ASSERT_THAT(links, SizeIs(28));
  for (const PairLink& link : links) {
    EXPECT_LT(link.from, link.to);
    EXPECT_EQ(link.nvlinks, 18);
    EXPECT_EQ(link.p2p, true);
  }
  EXPECT_EQ(links.back().from, 6);
  EXPECT_EQ(links.back().to, 7);
}

TEST(PairLinks, KnowNothingOfADeviceThatIsNotThere) {
  const std::vector<PairLink> links = links_of("h200x2", {0, -1, 1});
  ASSERT_THAT(links, SizeIs(3));
  EXPECT_EQ(label_of(links[0]), "?");
  EXPECT_EQ(links[0].p2p, std::nullopt);
  EXPECT_EQ(label_of(links[1]), "NV18");
  EXPECT_EQ(links[2].from, 1);
  EXPECT_EQ(links[2].to, 2);
}

TEST(PairLinks, AreNotCountedWhereTheGpuHasNone) {
  const std::vector<PairLink> links = links_of("no-nvlink", {0, 1});
  ASSERT_THAT(links, SizeIs(1));
  EXPECT_EQ(links[0].nvlinks, std::nullopt);
  EXPECT_EQ(links[0].nvlink, false);
}

}  // namespace
}  // namespace linkgain
