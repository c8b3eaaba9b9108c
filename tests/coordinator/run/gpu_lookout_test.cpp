#include <gmock/gmock.h>

#include "linkgain/run/world.hpp"
#include "support/scoped_environment.hpp"

/// Which GPUs a run looks at, of those that NVML's double shows.
namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class GpusLookedAt : public testing::Test {
 protected:
  GpusLookedAt() : site_(survey_site(std::nullopt)) {
    plan_.backend = BackendKind::nccl;
    plan_.ranks = 2;
  }

  std::vector<int> numbers() const {
    std::vector<int> gpus;
    for (const GpuUse& use : GpuLookout(plan_, site_).look()) gpus.push_back(use.gpu);
    return gpus;
  }
  std::string why_not_all() const { return GpuLookout(plan_, site_).why_not_all(); }

  ScopedEnvironment library_{"LINKGAIN_NVML_LIBRARY", NVML_DOUBLE};
  ScopedEnvironment scenario_{"LINKGAIN_NVML_SCENARIO", "h200x4"};
  Site site_;
  RunPlan plan_;
};

TEST_F(GpusLookedAt, AreThoseOfTheRanks) {
  ASSERT_EQ(site_.gpus, 4);
  EXPECT_THAT(numbers(), ElementsAre(0, 1));
  plan_.gpus = {3, 1};
  EXPECT_THAT(numbers(), ElementsAre(1, 3));
  EXPECT_THAT(why_not_all(), IsEmpty());
  plan_.backend = BackendKind::mpi;
  EXPECT_THAT(numbers(), IsEmpty());
}

TEST_F(GpusLookedAt, TellWhatIsDoneOnThem) {
  const std::vector<GpuUse> uses = GpuLookout(plan_, site_).look();
  ASSERT_THAT(uses, SizeIs(2));
  for (const GpuUse& use : uses) {
    EXPECT_TRUE(use.busy_percent);
    EXPECT_TRUE(use.processes);
    EXPECT_TRUE(use.nvlink_bytes);
  }
}

TEST_F(GpusLookedAt, AreLeftOutWithAReason) {
  site_.gpu_pci_bus_ids[1] = "00000000:7f:00.0";
  EXPECT_THAT(numbers(), ElementsAre(0));
  EXPECT_FALSE(why_not_all().empty());
  site_.gpu_pci_bus_ids.clear();
  EXPECT_THAT(numbers(), IsEmpty());
  EXPECT_FALSE(why_not_all().empty());
  const ScopedEnvironment none("LINKGAIN_NVML_LIBRARY", "/nonexistent");
  EXPECT_THAT(numbers(), IsEmpty());
  EXPECT_FALSE(why_not_all().empty());
}

}  // namespace
}  // namespace linkgain::test
