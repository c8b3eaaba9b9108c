#include "training_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace linkgain {

std::string problem_of_gradients(int from, std::uint64_t found, std::uint64_t expected) {
  if (found == expected) return {};
  return fmt::format(
      "gradients of rank {} alone came out of communication with hash {:x} instead of {:x}", from,
      found, expected);
}

std::string problem_of_parameters(std::span<const std::uint64_t> hashes, int rank) {
  const auto count = [&](std::uint64_t hash) { return std::ranges::count(hashes, hash); };
  // The first of the most frequent ones.
  const std::uint64_t expected = *std::ranges::max_element(hashes, {}, count);
  const std::uint64_t own = hashes[static_cast<std::size_t>(rank)];
  if (own == expected) return {};
  std::vector<std::size_t> right;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (hashes[i] == expected) right.push_back(i);
  }
  return fmt::format("parameters after a step have hash {:x}, those of {} {} have {:x}", own,
                     right.size() == 1 ? "rank" : "ranks", fmt::join(right, ", "), expected);
}

}  // namespace linkgain
