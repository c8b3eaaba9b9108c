#include "linkgain/gpt2/gradient_buckets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

constexpr Bytes kFirstLimit{std::int64_t{1} << 20};
constexpr Bytes kUsualLimit{std::int64_t{25} << 20};

Bytes first_limit(const BucketSettings& settings) {
  if (settings.rule == BucketRule::current && settings.limit) return *settings.limit;
  return kFirstLimit;
}

/// Returns the tensors in the order in which they are put into buckets.
std::vector<int> order_of(const ParameterTable& table, BucketRule rule) {
  std::vector<int> order(table.ready_order().begin(), table.ready_order().end());
  if (rule == BucketRule::legacy) std::ranges::sort(order);
  return order;
}

/// Returns the place of all tensors of a bucket. They are neighbours in any order of definition,
/// and in its reverse, which is the one in which GPT-2's gradients become final.
ParameterRange range_of(const ParameterTable& table, std::span<const int> tensors) {
  std::int64_t begin = table.count();
  std::int64_t end = 0;
  std::int64_t count = 0;
  for (const int index : tensors) {
    const ParameterRange range = table.tensors()[static_cast<std::size_t>(index)].range();
    begin = std::min(begin, range.offset);
    end = std::max(end, range.end());
    count += range.count;
  }
  if (end - begin != count) throw std::logic_error("a bucket's tensors are no neighbours");
  return {begin, count};
}

}  // namespace

std::vector<GradientBucket> gradient_buckets(const ParameterTable& table,
                                             const BucketSettings& settings, DataType type) {
  if (settings.limit && settings.limit->value < 1) {
    throw UsageError(fmt::format("buckets of {} bytes hold nothing", settings.limit->value),
                     "take a limit of 1 byte or more; 25 MiB is PyTorch's");
  }
  std::vector<GradientBucket> buckets;
  Bytes limit = first_limit(settings);
  Bytes size{0};
  bool is_open = false;
  for (const int index : order_of(table, settings.rule)) {
    if (!is_open) buckets.emplace_back();
    buckets.back().tensors.push_back(index);
    size.value += table.tensors()[static_cast<std::size_t>(index)].count() * size_of(type);
    is_open = size < limit;
    if (is_open) continue;
    limit = settings.limit.value_or(kUsualLimit);
    size = Bytes{0};
  }
  for (GradientBucket& bucket : buckets) bucket.range = range_of(table, bucket.tensors);
  if (settings.rule == BucketRule::legacy) std::ranges::reverse(buckets);
  return buckets;
}

}  // namespace linkgain
