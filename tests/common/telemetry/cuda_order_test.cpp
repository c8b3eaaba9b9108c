#include "linkgain/telemetry/cuda_order.hpp"

#include <gmock/gmock.h>

#include <set>

#include "support/scoped_environment.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TopologyGpu gpu(const std::string& uuid, const std::string& id, const std::string& name = "H200") {
  TopologyGpu made;
  made.uuid = uuid;
  made.pci_bus_id = id;
  made.name = name;
  return made;
}

const std::vector<TopologyGpu> kThree{gpu("GPU-aa11", "00000000:06:00.0"),
                                      gpu("GPU-ab22", "00000000:07:00.0"),
                                      gpu("GPU-b333", "00000000:41:00.0")};

/// Returns indexes of three equal GPUs, -1 where hidden, with CUDA_VISIBLE_DEVICES like this.
std::vector<int> visible(const std::string& list, const std::vector<TopologyGpu>& gpus = kThree) {
  std::vector<int> indexes;
  for (const Reading<int>& index : cuda_indexes(gpus, {list, std::nullopt})) {
    if (!index.measured()) {
      EXPECT_THAT(index.reason(), HasSubstr("CUDA_VISIBLE_DEVICES"));
    }
    indexes.push_back(index.value_or(-1));
  }
  return indexes;
}

TEST(CudaOrder, ThatIsNotKnownSaysWhy) {
  Situations answers;
  const auto ask = [&](const char* what, const std::vector<TopologyGpu>& gpus,
                       const CudaSettings& settings) {
    std::set<std::string> reasons;
    for (const Reading<int>& index : cuda_indexes(gpus, settings)) {
      EXPECT_FALSE(index.measured()) << what;
      reasons.insert(index.reason());
    }
    ASSERT_EQ(reasons.size(), 1U) << what;
    answers.add(what, *reasons.begin());
  };
  answers.about("of the GPUs");
  std::vector<TopologyGpu> gpus = kThree;
  gpus[1].pci_bus_id.clear();
  ask("no PCI id", gpus, {});
  gpus = kThree;
  gpus[0].name = "L4";
  ask("different models", gpus, {});
  ask("different models in the default order", gpus, {"1,0", "FASTEST_FIRST"});
  gpus = kThree;
  gpus[1].no_answer = "GPU is lost";
  gpus[0] = TopologyGpu{};
  ask("a lost GPU", gpus, {});
  answers.about("of CUDA_VISIBLE_DEVICES");
  for (const char* list : {"0,1,0", "GPU-aa,GPU-aa11", "MIG-aa11", "-1"}) {
    ask(list, kThree, {list, {}});
  }
  answers.expect_golden("cuda_order_unknown.txt");
}

TEST(CudaOrder, IsByPciIdWhateverTheOrderOfTheGpusHere) {
  const std::vector<TopologyGpu> mixed{kThree[2], kThree[0], kThree[1]};
  EXPECT_THAT(cuda_indexes(mixed, {}),
              ElementsAre(Reading<int>(2), Reading<int>(0), Reading<int>(1)));
  EXPECT_THAT(visible("2,0", mixed), ElementsAre(0, 1, -1));
  EXPECT_EQ(cuda_indexes(mixed, {"2,0", std::nullopt}).back(), hidden_from_cuda());
}

TEST(CudaOrder, ComparesLongerDomainsAsNumbers) {
  const std::vector<TopologyGpu> two{gpu("GPU-1", "00010000:01:00.0"),
                                     gpu("GPU-2", "0000FFFF:01:00.0")};
  EXPECT_THAT(cuda_indexes(two, {}), ElementsAre(Reading<int>(1), Reading<int>(0)));
}

TEST(VisibleDevices, AreNumbersInTheirOrder) {
  EXPECT_THAT(visible("1,0"), ElementsAre(1, 0, -1));
  EXPECT_THAT(visible(" 2 , 1"), ElementsAre(-1, 1, 0));
  EXPECT_THAT(visible("+1"), ElementsAre(-1, 0, -1));
}

TEST(VisibleDevices, EndAtTheFirstThatNamesNone) {
  EXPECT_THAT(visible("2,7,0"), ElementsAre(-1, -1, 0));
  EXPECT_THAT(visible("1,-1,0"), ElementsAre(-1, 0, -1));
  EXPECT_THAT(visible("1,,0"), ElementsAre(-1, 0, -1));
  EXPECT_THAT(visible("0,GPU-b333"), ElementsAre(0, -1, -1)) << "by the kind of the first";
  EXPECT_THAT(visible("99999999999999999999999"), ElementsAre(-1, -1, -1));
}

TEST(VisibleDevices, AreNoneWhereTheListIsEmpty) {
  for (const char* list : {"", "-1", "NoDevFiles", "none", ","}) {
    EXPECT_THAT(visible(list), ElementsAre(-1, -1, -1)) << list;
  }
}

TEST(VisibleDevices, AreHiddenWhereOneIsNamedTwice) {
  for (const Reading<int>& index : cuda_indexes(kThree, {"0,1,0", std::nullopt})) {
    EXPECT_EQ(index.why(), WhyMissing::hidden);
  }
}

TEST(VisibleDevices, MayBeInstances) {
  EXPECT_TRUE(names_mig_instance({" MIG-aa11,MIG-bb22", std::nullopt}));
  for (const char* list : {"", "0", "GPU-aa11", "0,MIG-aa11"}) {
    EXPECT_FALSE(names_mig_instance({list, std::nullopt})) << list;
  }
  EXPECT_FALSE(names_mig_instance({}));
}

TEST(VisibleDevices, AreUuidsOrTheirBeginnings) {
  EXPECT_THAT(visible("GPU-b333,GPU-aa11"), ElementsAre(1, -1, 0));
  EXPECT_THAT(visible("GPU-B3,GPU-aa"), ElementsAre(1, -1, 0));
  EXPECT_THAT(visible("GPU-b,GPU-a"), ElementsAre(-1, -1, 0)) << "GPU-a fits two";
  EXPECT_THAT(visible("GPU-b,1"), ElementsAre(-1, -1, 0));
  EXPECT_THAT(visible("GPU-cc"), ElementsAre(-1, -1, -1));
}

TEST(DeviceOrder, OfDifferentModelsIsKnownByPciOnly) {
  std::vector<TopologyGpu> gpus = kThree;
  gpus[0].name = "L4";
  EXPECT_THAT(visible("GPU-b3,GPU-aa", gpus), ElementsAre(1, -1, 0));
  EXPECT_THAT(visible("", gpus), ElementsAre(-1, -1, -1));
  EXPECT_THAT(cuda_indexes(gpus, {"2,0", "PCI_BUS_ID"}),
              ElementsAre(Reading<int>(1), ::testing::_, Reading<int>(0)));
}

TEST(DeviceOrder, IsNotKnownWhereAGpuDoesNotAnswer) {
  std::vector<TopologyGpu> gpus = kThree;
  gpus[1].no_answer = "GPU is lost";
  gpus[0] = TopologyGpu{};
  EXPECT_THAT(visible("GPU-b3", gpus), ElementsAre(-1, -1, 0));
}

TEST(VisibleToCuda, AreInCudasOrder) {
  EXPECT_THAT(visible_to_cuda(kThree, {}), ElementsAre(0, 1, 2));
  EXPECT_THAT(visible_to_cuda({kThree[2], kThree[0]}, {}), ElementsAre(1, 0));
  EXPECT_THAT(visible_to_cuda(kThree, {"1, 0", {}}), ElementsAre(1, 0));
  EXPECT_THAT(visible_to_cuda(kThree, {"GPU-b3,GPU-aa", {}}), ElementsAre(2, 0));
  EXPECT_THAT(visible_to_cuda(kThree, {"GPU-b3,GPU-a", {}}), ElementsAre(2)) << "GPU-a fits two";
  for (const char* list : {"", "-1", "0,0", "GPU-aa,GPU-aa11"}) {
    EXPECT_THAT(visible_to_cuda(kThree, {list, {}}), IsEmpty()) << list;
  }
  EXPECT_THAT(visible_to_cuda({}, {"0", {}}), IsEmpty());
}

TEST(VisibleToCuda, AreAsGivenWhereTheOrderIsNotKnown) {
  std::vector<TopologyGpu> gpus{kThree[2], kThree[0]};
  gpus[0].name = "L4";
  EXPECT_THAT(visible_to_cuda(gpus, {}), ElementsAre(0, 1));
  EXPECT_THAT(visible_to_cuda(gpus, {"1,0", {}}), ElementsAre(1, 0));
  EXPECT_THAT(visible_to_cuda(gpus, {"1", {}}), ElementsAre(1)) << "how many is known";
  EXPECT_THAT(visible_to_cuda(gpus, {"0", "PCI_BUS_ID"}), ElementsAre(1));
  EXPECT_THAT(visible_to_cuda(gpus, {"MIG-aa11", {}}), ElementsAre(0, 1));
}

TEST(CudaSettings, AreThisProcessesVariables) {
  const ScopedEnvironment list("CUDA_VISIBLE_DEVICES", "1,0");
  const ScopedEnvironment order("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  EXPECT_EQ(cuda_settings().visible_devices, "1,0");
  EXPECT_EQ(cuda_settings().device_order, "PCI_BUS_ID");
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(cuda_settings().visible_devices, std::nullopt);
  EXPECT_EQ(cuda_settings({{"CUDA_VISIBLE_DEVICES", ""}}).visible_devices, "");
  EXPECT_EQ(cuda_settings({{"CUDA_VISIBLE_DEVICES", ""}}).device_order, std::nullopt);
}

}  // namespace
}  // namespace linkgain::test
