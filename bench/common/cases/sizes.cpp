#include "linkgain/cases/sizes.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <set>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view reason) {
  throw UsageError(
      fmt::format("sizes '{}': {} (a list 8,64K,1G, a size sweep 8:1G:x4 with a factor "
                  "from 2, or 1M:64M:+1M)",
                  text, reason));
}

void add(std::set<Bytes>& sizes, Bytes size, std::string_view text) {
  sizes.insert(size);
  if (sizes.size() > static_cast<std::size_t>(kMaxSweepSizes)) {
    refuse(text, fmt::format("more than {} sizes", kMaxSweepSizes));
  }
}

std::int64_t parse_factor(std::string_view digits, std::string_view text) {
  const auto factor = whole_number<std::int64_t>(digits);
  if (factor && *factor >= 2) return *factor;
  refuse(text, fmt::format("the factor '{}' is no whole number from 2", digits));
}

/// Says "8:1G:x2" of "8-1G", "8..1G" and "8:1G", which name two sizes; empty of all else.
std::string meant_sweep(std::string_view item) {
  for (const std::string_view between : {"-", "..", ":"}) {
    const std::size_t at = item.find(between);
    if (at == std::string_view::npos || at == 0) continue;
    const std::string_view end = item.substr(at + between.size());
    try {
      parse_bytes(item.substr(0, at));
      parse_bytes(end);
      return fmt::format("{}:{}:x2", item.substr(0, at), end);
    } catch (const UsageError&) {
      continue;
    }
  }
  return {};
}

/// Adds begin, every step below `end`, and `end`.
void add_sweep(std::set<Bytes>& sizes, const std::vector<std::string>& parts,
               std::string_view text) {
  const Bytes begin = parse_bytes(parts[0]);
  const Bytes end = parse_bytes(parts[1]);
  if (begin > end) {
    refuse(text, fmt::format("{} is above {}, a size sweep must rise", parts[0], parts[1]));
  }
  const std::string_view step = parts[2];
  const bool times = step.starts_with('x');
  if (!times && !step.starts_with('+')) {
    refuse(text, fmt::format("the step '{}' begins with neither x nor +", step));
  }
  const std::int64_t amount =
      times ? parse_factor(step.substr(1), text) : parse_bytes(step.substr(1)).value;
  std::int64_t value = begin.value;
  // The bound is rearranged so that no step overflows.
  while (value < end.value) {
    add(sizes, Bytes{value}, text);
    const bool beyond = times ? value > end.value / amount : value > end.value - amount;
    value = beyond ? end.value : (times ? value * amount : value + amount);
  }
  add(sizes, end, text);
}

}  // namespace

std::vector<Bytes> parse_sizes(std::string_view text) {
  if (text.empty()) refuse(text, "nothing given");
  std::set<Bytes> sizes;
  for (const std::string& item : split(text, ',')) {
    const std::vector<std::string> parts = split(item, ':');
    if (const std::string sweep = meant_sweep(item); !sweep.empty()) {
      refuse(text, fmt::format("'{}' is no size sweep: did you mean {}?", item, sweep));
    } else if (parts.size() == 1) {
      add(sizes, parse_bytes(parts[0]), text);
    } else if (parts.size() == 3) {
      add_sweep(sizes, parts, text);
    } else {
      refuse(text, fmt::format("'{}' is neither a size nor a size sweep begin:end:step", item));
    }
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace linkgain
