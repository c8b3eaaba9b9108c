#include "linkgain/delivery/delivery_proof.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace linkgain::test {
namespace {

std::vector<GpuPair> all_pairs(int gpus) {
  std::vector<GpuPair> pairs;
  for (int first = 0; first < gpus; ++first) {
    for (int second = first + 1; second < gpus; ++second) pairs.push_back({first, second});
  }
  return pairs;
}

TEST(DeliveryGroups, PairsOfAGroupShareNoGpuAndGroupsAreAsFewAsCanBe) {
  for (const auto& [gpus, groups_needed] : std::vector<std::pair<int, std::size_t>>{
           {0, 0}, {1, 0}, {2, 1}, {3, 3}, {4, 3}, {5, 5}, {8, 7}}) {
    const auto groups = disjoint_groups(all_pairs(gpus), gpus);
    EXPECT_EQ(groups.size(), groups_needed) << gpus;
    std::size_t pairs = 0;
    for (const std::vector<GpuPair>& group : groups) {
      std::set<int> busy;
      for (const GpuPair& pair : group) {
        EXPECT_TRUE(busy.insert(pair.first).second) << gpus;
        EXPECT_TRUE(busy.insert(pair.second).second) << gpus;
      }
      pairs += group.size();
    }
    EXPECT_EQ(pairs, all_pairs(gpus).size());
  }
}

}  // namespace
}  // namespace linkgain::test
