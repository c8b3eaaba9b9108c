#include <gtest/gtest.h>

#include "compared_runs.hpp"
#include "linkgain/hardware/machine.hpp"

namespace linkgain::test {
namespace {

PairLink link_of(std::optional<bool> nvlink, std::optional<int> nvlinks,
                 std::optional<bool> p2p = true, std::optional<Ancestor> ancestor = Ancestor::phb) {
  return {
      .from = 0, .to = 1, .p2p = p2p, .nvlink = nvlink, .ancestor = ancestor, .nvlinks = nvlinks};
}

bool differ(const PairLink& a, const PairLink& b) {
  const Machine machine = four_titans("", {0, 0, 0, 0, 0, 0}).machine;
  EXPECT_EQ(links_differ(machine, a, machine, b), links_differ(machine, b, machine, a));
  return links_differ(machine, a, machine, b);
}

TEST(LinkLabel, CountsLinksOnlyWhereTwoGpusShareThem) {
  RunFigures run = two_titans("a", true);
  EXPECT_EQ(link_label(run.machine, run.machine.links[0]), "NV2");
  run.machine.ranks.push_back(run.machine.ranks[1]);
  EXPECT_EQ(link_label(run.machine, run.machine.links[0]), "NVLink");
  EXPECT_EQ(link_label(run.machine, {.from = 0, .to = 1, .p2p = true, .nvlink = false}),
            "no NVLink");
  EXPECT_EQ(link_label(run.machine, {.from = 0, .to = 1, .p2p = {}, .nvlink = {}}), "");
  EXPECT_EQ(gpu_label(run.machine, 7), "rank 7");
}

/// Prefers the pair's own count to what the GPU has active for all its peers.
TEST(LinkLabel, IsOfThePairsOwnCount) {
  const Machine machine = two_titans("a", true).machine;
  EXPECT_EQ(link_label(machine, link_of(true, 1)), "NV1");
  EXPECT_EQ(link_label(machine, link_of({}, 1)), "NV1");
  EXPECT_EQ(link_label(machine, link_of(true, 0)), "PHB");
  EXPECT_EQ(link_label(machine, link_of(true, 4, false)), "NV4 without P2P");
  EXPECT_EQ(link_label(machine, link_of(false, 0, false)), "PHB without P2P");
  EXPECT_EQ(link_label(machine, link_of({}, 0, true, {})), "no NVLink");
  EXPECT_EQ(path_label(link_of(true, 4)), "NVLink");
  EXPECT_EQ(path_label(link_of(true, {}, false)), "NVLink without P2P");
}

TEST(LinksDiffer, InWhatIsKnownOfBoth) {
  EXPECT_TRUE(differ(link_of(true, 2), link_of(true, 4)));
  EXPECT_TRUE(differ(link_of(true, 2), link_of(false, 0)));
  EXPECT_TRUE(differ(link_of(true, {}), link_of(false, {})));
  EXPECT_TRUE(differ(link_of(true, 2), link_of(true, 2, false)));
  EXPECT_TRUE(differ(link_of(false, 0), link_of(false, 0, true, Ancestor::sys)));
  EXPECT_FALSE(differ(link_of(true, 2), link_of(true, 2, true, Ancestor::sys)));
  EXPECT_FALSE(differ(link_of(true, 2), link_of(true, {})));
  EXPECT_FALSE(differ(link_of(true, 2), link_of({}, {})));
  EXPECT_FALSE(differ(link_of(false, 0), link_of(false, {}, {}, {})));
}

}  // namespace
}  // namespace linkgain::test
