// What lies between two GPUs, through the NVML double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/telemetry/nvml.hpp"
#include "support/nvml_scenario.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string text_of(const Reading<P2pStatus>& status) {
  if (!status.measured()) return "not known: " + status.reason();
  return status.value().ok ? "yes" : "no: " + status.value().why_not;
}

TEST(NvmlP2p, SaysYesOrWhyNot) {
  Situations answers;
  for (const char* name : {"h200x2", "titan-rtx-phb", "no-nvlink", "p2p-refused", "p2p-read-only",
                           "p2p-unknown", "p2p-error", "p2p-reasons", "lost-gpu", ""}) {
    const bool minimal = *name == '\0';
    const NvmlScenario scenario(name, minimal ? NVML_DOUBLE_MINIMAL : NVML_DOUBLE);
    ASSERT_NE(scenario.nvml(), nullptr) << scenario.reason();
    const Nvml::Device from = scenario.gpu(0);
    const Nvml::Device to = scenario.gpu(1);
    answers.about(minimal ? "a driver without the function" : name);
    answers.add("read", text_of(from.p2p_read(to)));
    answers.add("write", text_of(from.p2p_write(to)));
    answers.add("atomics", text_of(from.p2p_atomics(to)));
    answers.add("over NVLink", text_of(from.p2p_over_nvlink(to)));
  }
  answers.expect_golden("p2p.txt");
}

TEST(NvmlAncestor, IsNamedAsNvidiaSmiDoes) {
  const NvmlScenario two("h200x2", NVML_DOUBLE);
  EXPECT_EQ(two.gpu(0).common_ancestor(two.gpu(1)), Reading<Ancestor>(Ancestor::phb));
  EXPECT_EQ(two.gpu(0).common_ancestor(two.gpu(0)), Reading<Ancestor>(Ancestor::self));
  const NvmlScenario eight("h200x8", NVML_DOUBLE);
  EXPECT_EQ(eight.gpu(0).common_ancestor(eight.gpu(3)), Reading<Ancestor>(Ancestor::node));
  EXPECT_EQ(eight.gpu(3).common_ancestor(eight.gpu(4)), Reading<Ancestor>(Ancestor::sys));
}

/// The double's machine of 5 GPUs: GPU n is at level n of NVML's list from GPU 0.
TEST(NvmlAncestor, KnowsEveryLevel) {
  const NvmlScenario levels("every-level", NVML_DOUBLE);
  const std::vector<Ancestor> expected{Ancestor::pix, Ancestor::pix,  Ancestor::pxb,
                                       Ancestor::phb, Ancestor::node, Ancestor::sys};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(levels.gpu(0).common_ancestor(levels.gpu(static_cast<int>(i) + 1)),
              Reading<Ancestor>(expected[i]));
  }
  EXPECT_THAT(levels.gpu(0).common_ancestor(levels.gpu(7)).reason(), HasSubstr("60"));
}

TEST(NvmlAncestor, IsPartOfALink) {
  const NvmlScenario levels("every-level", NVML_DOUBLE);
  EXPECT_EQ(levels.gpu(0).link_to(levels.gpu(3)).ancestor, Ancestor::pxb);
  EXPECT_EQ(levels.gpu(0).link_to(levels.gpu(7)).ancestor, std::nullopt)
      << "not known to this version";
}

TEST(NvmlAncestor, IsMissingWithTheReason) {
  const NvmlScenario lost("lost-gpu", NVML_DOUBLE);
  EXPECT_THAT(lost.gpu(0).common_ancestor(lost.gpu(1)).reason(), HasSubstr("NVML error 15"));
  const NvmlScenario minimal("", NVML_DOUBLE_MINIMAL);
  EXPECT_THAT(minimal.gpu(0).common_ancestor(minimal.gpu(1)).reason(),
              HasSubstr("nvmlDeviceGetTopologyCommonAncestor"));
}

/// Of the scenario's GPUs with these numbers; -1 stands for one that is not known.
std::vector<PairLink> pair_links_of(const char* name, const std::vector<int>& gpus) {
  const NvmlScenario scenario(name, NVML_DOUBLE);
  std::vector<std::optional<Nvml::Device>> devices;
  for (const int gpu : gpus) {
    devices.push_back(gpu < 0 ? std::nullopt : std::optional(scenario.gpu(gpu)));
  }
  return links_between(devices);
}

std::vector<std::string> labels_of(const char* name, const std::vector<int>& gpus) {
  std::vector<std::string> labels;
  for (const PairLink& link : pair_links_of(name, gpus)) labels.push_back(label_of(link));
  return labels;
}

TEST(PairLinks, AreNamedAsTheTopologyNamesThem) {
  EXPECT_THAT(labels_of("h200x2", {0, 1}), ElementsAre("NV18"));
  EXPECT_THAT(labels_of("titan-rtx-nv2", {1, 0}), ElementsAre("NV2"));
  EXPECT_THAT(labels_of("titan-rtx-phb", {0, 1}), ElementsAre("PHB"));
  EXPECT_THAT(labels_of("p2p-refused", {0, 1}), ElementsAre("NV4"));
}

TEST(PairLinks, AreThereForEveryPairOnce) {
  const std::vector<PairLink> links = pair_links_of("h200x8", {0, 1, 2, 3, 4, 5, 6, 7});
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
  const std::vector<PairLink> links = pair_links_of("h200x2", {0, -1, 1});
  ASSERT_THAT(links, SizeIs(3));
  EXPECT_EQ(label_of(links[0]), "?");
  EXPECT_EQ(links[0].p2p, std::nullopt);
  EXPECT_EQ(label_of(links[1]), "NV18");
  EXPECT_EQ(links[2].from, 1);
  EXPECT_EQ(links[2].to, 2);
}

TEST(PairLinks, AreNotCountedWhereTheGpuHasNone) {
  const std::vector<PairLink> links = pair_links_of("no-nvlink", {0, 1});
  ASSERT_THAT(links, SizeIs(1));
  EXPECT_EQ(links[0].nvlinks, std::nullopt);
  EXPECT_EQ(links[0].nvlink, false);
}

}  // namespace

}  // namespace linkgain::test
