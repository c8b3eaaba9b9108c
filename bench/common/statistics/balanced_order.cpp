#include "linkgain/statistics/balanced_order.hpp"

#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace linkgain {
namespace {

/// Draws once from a full-period generator: a Weyl sequence through the finalizer of Austin
/// Appleby's MurmurHash3. Small on purpose: the orders of a record can be repeated from its seed
/// anywhere, which the standard library's shuffle and distributions do not promise.
std::uint32_t draw(unsigned& state) {
  state += 0x9e3779b9U;
  std::uint32_t bits = state;
  bits = (bits ^ (bits >> 16)) * 0x85ebca6bU;
  bits = (bits ^ (bits >> 13)) * 0xc2b2ae35U;
  return bits ^ (bits >> 16);
}

/// Draws uniformly from 0 … bound-1: draws from the incomplete last stretch are thrown away.
std::uint32_t draw_below(std::uint32_t bound, unsigned& state) {
  const std::uint32_t end = std::numeric_limits<std::uint32_t>::max() / bound * bound;
  std::uint32_t bits = draw(state);
  while (bits >= end) bits = draw(state);
  return bits % bound;
}

/// Shuffles by the algorithm of Fisher and Yates.
void shuffle(std::vector<int>& order, unsigned seed) {
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[draw_below(static_cast<std::uint32_t>(left), seed)]);
  }
}

}  // namespace

BalancedOrder::BalancedOrder(int variants, unsigned seed) {
  if (variants < 1) throw std::invalid_argument("an order needs at least one variant");
  next_.resize(static_cast<std::size_t>(variants));
  std::iota(next_.begin(), next_.end(), 0);
  shuffle(next_, seed);
}

std::vector<int> BalancedOrder::next() {
  return std::exchange(next_, std::vector<int>(next_.rbegin(), next_.rend()));
}

std::vector<Turn> shuffled_order(std::size_t variants, int times, unsigned seed) {
  if (variants == 0) throw std::invalid_argument("an order needs at least one variant");
  std::vector<int> order;
  for (int time = 0; time < times; ++time) {
    for (std::size_t i = 0; i < variants; ++i) order.push_back(static_cast<int>(i));
  }
  shuffle(order, seed);
  std::vector<int> next(variants);
  std::vector<Turn> turns;
  for (const int variant : order) {
    turns.push_back({variant, next[static_cast<std::size_t>(variant)]++});
  }
  return turns;
}

}  // namespace linkgain
