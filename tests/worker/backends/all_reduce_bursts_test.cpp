#include "all_reduce_bursts.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

namespace linkgain::test {
namespace {

using kernels::AllReduceMethod;
using testing::Contains;
using testing::Not;

constexpr std::int64_t kMebibyte = 1 << 20;
constexpr int kBursts = 20'000;

Limits two_ranks() {
  Limits limits;
  limits.data_bytes = 1024 * kMebibyte;
  limits.scratch_bytes = 2304 * kMebibyte;
  limits.scratch_of = [](AllReduceMethod, std::int64_t bytes) { return 4 * bytes; };
  return limits;
}

template <typename Visit>
void for_bursts(const Limits& limits, Visit visit) {
  for (std::uint64_t number = 0; number < kBursts; ++number) {
    visit(draw_burst(1, number, limits, 1'000));
  }
}

TEST(AllReduceBursts, ComeFromTheSeedAndTheirNumberAlone) {
  const Burst one = draw_burst(7, 30, two_ranks(), 1'000);
  const Burst again = draw_burst(7, 30, two_ranks(), 1'000);
  EXPECT_EQ(one.elements, again.elements);
  EXPECT_EQ(one.seed, again.seed);
  EXPECT_NE(one.seed, draw_burst(8, 30, two_ranks(), 1'000).seed);
  EXPECT_NE(one.seed, draw_burst(7, 31, two_ranks(), 1'000).seed);
}

TEST(AllReduceBursts, HaveEveryMethodTypeAndForm) {
  std::set<AllReduceMethod> methods;
  std::set<kernels::ElementType> types;
  std::set<std::pair<bool, bool>> forms;
  for_bursts(two_ranks(), [&](const Burst& burst) {
    methods.insert(burst.method);
    types.insert(burst.type);
    forms.insert({burst.in_place, burst.graph});
  });
  EXPECT_EQ(methods.size(), std::size(kernels::kAllReduceMethods));
  EXPECT_EQ(types.size(), 3u);
  EXPECT_EQ(forms.size(), 4u);
}

TEST(AllReduceBursts, HaveOneLargeOperationInAHundred) {
  double operations = 0.0;
  double large = 0.0;
  std::int64_t largest = 0;
  for_bursts(two_ranks(), [&](const Burst& burst) {
    const auto count = static_cast<double>(burst.elements.size());
    operations += count;
    if (burst.most_bytes() > 4 * kMebibyte) large += count;
    largest = std::max(largest, burst.most_bytes());
  });
  EXPECT_NEAR(large / operations, 0.01, 0.002);
  EXPECT_GT(largest, 200 * kMebibyte);
  EXPECT_LE(largest, 256 * kMebibyte);
}

TEST(AllReduceBursts, AreOfAllSizesAlike) {
  std::map<int, int> by_power;
  for_bursts(two_ranks(), [&](const Burst& burst) {
    ++by_power[static_cast<int>(std::log2(static_cast<double>(burst.most_bytes())))];
  });
  for (int power = 2; power < 22; ++power) {
    EXPECT_NEAR(by_power[power], kBursts / 20, kBursts / 100) << power;
  }
}

TEST(AllReduceBursts, FitTheMemory) {
  Limits limits = two_ranks();
  limits.data_bytes = 3 * kMebibyte;
  limits.scratch_bytes = 2 * kMebibyte;
  for_bursts(limits, [&](const Burst& burst) {
    ASSERT_FALSE(burst.elements.empty());
    EXPECT_LE(Slots(burst).pitch, limits.data_bytes);
    EXPECT_LE(limits.scratch_of(burst.method, burst.most_bytes()), limits.scratch_bytes);
    for (const std::int64_t each : burst.elements) EXPECT_LE(each, burst.most_elements);
  });
}

TEST(AllReduceBursts, AreAlikeWhereFlagsAreInData) {
  for_bursts(two_ranks(), [](const Burst& burst) {
    if (!kernels::traits_of(burst.method).has(kernels::kFlagsInData)) return;
    for (const std::int64_t each : burst.elements) ASSERT_EQ(each, burst.most_elements);
  });
}

TEST(AllReduceBursts, TakeOnlyWhatThePathAllows) {
  std::map<kernels::AllReducePath, std::set<AllReduceMethod>> methods;
  for (const auto path : {kernels::AllReducePath::p2p, kernels::AllReducePath::host_memory}) {
    Limits limits = two_ranks();
    limits.path = path;
    for_bursts(limits, [&](const Burst& burst) { methods[path].insert(burst.method); });
  }
  EXPECT_EQ(methods[kernels::AllReducePath::p2p].size(), std::size(kernels::kAllReduceMethods));
  EXPECT_THAT(methods[kernels::AllReducePath::host_memory],
              testing::UnorderedElementsAre(AllReduceMethod::ll, AllReduceMethod::sentinel,
                                            AllReduceMethod::staged_two_shot));
}

/// Expects counters to wrap within half of the bursts.
TEST(AllReduceBursts, LetCountersWrap) {
  int near_end = 0;
  int wrapping = 0;
  for_bursts(two_ranks(), [&](const Burst& burst) {
    const auto after = burst.operations + static_cast<std::uint32_t>(burst.elements.size());
    if (after < burst.operations) ++wrapping;
    if (burst.signals > 0xffffffc0U - 1) ++near_end;
  });
  EXPECT_GT(wrapping, kBursts / 4);
  EXPECT_NEAR(near_end, kBursts / 2, kBursts / 50);
}

TEST(AllReduceBursts, HaveNoMoreOperationsThanAreLeft) {
  for (std::uint64_t number = 0; number < 200; ++number) {
    EXPECT_EQ(draw_burst(1, number, two_ranks(), 1).elements.size(), 1u);
  }
}

}  // namespace
}  // namespace linkgain::test
