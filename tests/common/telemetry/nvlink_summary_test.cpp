#include "nvlink_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace linkgain {
namespace {

using Numbers = Reading<std::vector<int>>;

NvlinkState to_gpu(double rate) {
  return {.active = true,
          .version = 5,
          .rate_gb_per_s = rate,
          .remote = NvlinkRemote::gpu,
          .remote_pci_bus_id = "00000000:07:00.0"};
}

Reading<NvlinkState> unanswered() { return Reading<NvlinkState>::missing("Unknown Error"); }

TEST(NvlinkSummary, NamesTheLinksThatAreSlowerAndThoseThatAreDown) {
  const NvlinkInfo info = summary_of(4, {NvlinkState{}, to_gpu(14.0), to_gpu(7.0), NvlinkState{}});
  EXPECT_EQ(info.possible, Reading<int>(4));
  EXPECT_EQ(info.active, Reading<int>(2));
  EXPECT_EQ(info.version, Reading<int>(5));
  EXPECT_EQ(info.rate_gb_per_s, Reading<double>(14.0));
  EXPECT_THAT(info.slower, ::testing::ElementsAre(SlowNvlink{2, 7.0}));
  EXPECT_EQ(rate_of(info), Reading<double>(21.0));
  EXPECT_EQ(info.switched, Reading<bool>(false));
  EXPECT_EQ(info.dark, Numbers(std::vector<int>{0, 3}));
}

TEST(NvlinkSummary, OfALinkThatCannotBeReadKnowsNoNumbers) {
  const NvlinkInfo info = summary_of(2, {to_gpu(14.0), unanswered()});
  EXPECT_EQ(info.version, Reading<int>(5));
  EXPECT_EQ(info.rate_gb_per_s, Reading<double>(14.0));
  EXPECT_EQ(info.active.reason(), "Unknown Error");
  EXPECT_EQ(info.switched.reason(), "Unknown Error");
  EXPECT_EQ(info.dark.reason(), "Unknown Error");
}

TEST(NvlinkSummary, HasNoRateWhereOneLinksIsNotKnown) {
  NvlinkState silent = to_gpu(14.0);
  silent.rate_gb_per_s = Reading<double>::missing("Not Supported");
  for (const NvlinkStates& links : {NvlinkStates{to_gpu(7.0), silent, to_gpu(14.0)},
                                    NvlinkStates{silent, to_gpu(7.0), to_gpu(14.0)}}) {
    const NvlinkInfo info = summary_of(3, links);
    EXPECT_EQ(info.rate_gb_per_s.reason(), "Not Supported");
    EXPECT_TRUE(info.slower.empty());
    EXPECT_EQ(rate_of(info).reason(), "Not Supported");
  }
}

TEST(NvlinkSummary, SaysWhyThereIsNoVersion) {
  EXPECT_EQ(summary_of(0, {}).version.reason(), "the GPU has no NVLink");
  EXPECT_EQ(summary_of(1, {NvlinkState{}}).version.reason(), "no link is active");
  NvlinkState silent = to_gpu(14.0);
  silent.version = Reading<int>::missing("Unknown Error");
  EXPECT_EQ(summary_of(1, {silent}).version.reason(), "Unknown Error");
  const NvlinkInfo none = summary_of(Reading<int>::missing("Not Supported"), {});
  EXPECT_EQ(none.version.reason(), "Not Supported");
  EXPECT_EQ(none.active.reason(), "Not Supported");
  EXPECT_EQ(none.dark.reason(), "Not Supported");
}

}  // namespace
}  // namespace linkgain
