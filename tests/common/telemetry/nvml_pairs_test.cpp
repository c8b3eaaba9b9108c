// What lies between two GPUs, through the NVML double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/telemetry/nvml.hpp"
#include "support/nvml_scenario.hpp"

namespace linkgain {
namespace {

using linkgain::test::NvmlScenario;

const Reading<P2pStatus> kOk = P2pStatus{.ok = true, .why_not = ""};

Reading<P2pStatus> refused(const char* why) { return P2pStatus{.ok = false, .why_not = why}; }

Reading<P2pStatus> missing(const char* why) { return Reading<P2pStatus>::missing(why); }

struct Expectation {
  const char* scenario;
  Reading<P2pStatus> read;
  Reading<P2pStatus> write;
  Reading<P2pStatus> atomics;
  Reading<P2pStatus> over_nvlink;
};

class NvmlP2p : public ::testing::TestWithParam<Expectation> {};

TEST_P(NvmlP2p, SaysYesOrWhyNot) {
  const NvmlScenario scenario(GetParam().scenario, NVML_DOUBLE);
  ASSERT_NE(scenario.nvml(), nullptr) << scenario.reason();
  const Nvml::Device from = scenario.gpu(0);
  const Nvml::Device to = scenario.gpu(1);
  EXPECT_EQ(from.p2p_read(to), GetParam().read);
  EXPECT_EQ(from.p2p_write(to), GetParam().write);
  EXPECT_EQ(from.p2p_atomics(to), GetParam().atomics);
  EXPECT_EQ(from.p2p_over_nvlink(to), GetParam().over_nvlink);
}

const auto kNo = refused("not supported");
const auto kChipset = refused("chipset not supported");
const auto kUnknown = missing("the driver answers: unknown");
const auto kError = missing("Unknown Error (NVML error 999)");
const auto kLost = missing("GPU is lost (NVML error 15)");

INSTANTIATE_TEST_SUITE_P(
    Scenarios, NvmlP2p,
    ::testing::Values(Expectation{"h200x2", kOk, kOk, kOk, kOk},
                      Expectation{"titan-rtx-phb", kNo, kNo, kNo, kNo},
                      Expectation{"no-nvlink", kNo, kNo, kNo, kNo},
                      Expectation{"p2p-refused", kChipset, kChipset, kChipset, kOk},
                      Expectation{"p2p-read-only", kOk, kNo, kNo, kOk},
                      Expectation{"p2p-unknown", kUnknown, kUnknown, kUnknown, kUnknown},
                      Expectation{"p2p-error", kError, kError, kError, kError},
                      Expectation{"p2p-reasons", refused("GPU not supported"),
                                  refused("topology of the I/O hub not supported"),
                                  refused("disabled by a registry key of the driver"),
                                  missing("the driver's answer (42) is younger than linkgain")},
                      Expectation{"lost-gpu", kLost, kLost, kLost, kLost}),
    [](const auto& test) {
      std::string name = test.param.scenario;
      std::erase(name, '-');
      return name;
    });

TEST(NvmlP2p, WithoutTheFunctionSaysSo) {
  const NvmlScenario minimal("", NVML_DOUBLE_MINIMAL);
  EXPECT_EQ(minimal.gpu(0).p2p_read(minimal.gpu(1)),
            missing("this driver's NVML has no nvmlDeviceGetP2PStatus"));
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
  EXPECT_EQ(levels.gpu(0).common_ancestor(levels.gpu(7)).reason(),
            "the driver's answer (60) is younger than linkgain");
}

TEST(NvmlAncestor, IsPartOfALink) {
  const NvmlScenario levels("every-level", NVML_DOUBLE);
  EXPECT_EQ(levels.gpu(0).link_to(levels.gpu(3)).ancestor, Ancestor::pxb);
  EXPECT_EQ(levels.gpu(0).link_to(levels.gpu(7)).ancestor, std::nullopt) << "younger than linkgain";
}

TEST(NvmlAncestor, IsMissingWithTheReason) {
  const NvmlScenario lost("lost-gpu", NVML_DOUBLE);
  EXPECT_EQ(lost.gpu(0).common_ancestor(lost.gpu(1)).reason(), "GPU is lost (NVML error 15)");
  const NvmlScenario minimal("", NVML_DOUBLE_MINIMAL);
  EXPECT_EQ(minimal.gpu(0).common_ancestor(minimal.gpu(1)).reason(),
            "this driver's NVML has no nvmlDeviceGetTopologyCommonAncestor");
}

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
