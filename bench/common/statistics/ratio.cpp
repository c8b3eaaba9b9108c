#include "linkgain/statistics/ratio.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace linkgain {
namespace {

std::vector<double> log_ratios(std::span<const double> first, std::span<const double> other) {
  if (first.size() != other.size() || first.empty()) {
    throw std::invalid_argument("a ratio needs the same rounds from both variants");
  }
  const auto measurable = [](double time) { return time > 0.0 && std::isfinite(time); };
  std::vector<double> logs(first.size());
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (!measurable(first[i]) || !measurable(other[i])) {
      throw std::invalid_argument("a ratio needs times above zero");
    }
    logs[i] = std::log(other[i] / first[i]);
  }
  return logs;
}

std::optional<double> exponential(std::optional<double> logarithm) {
  if (!logarithm) return std::nullopt;
  return std::exp(*logarithm);
}

Ratio from_logs(const SignedRankEstimate& logs, std::size_t rounds) {
  Ratio ratio;
  ratio.estimate = std::exp(logs.estimate);
  ratio.low = exponential(logs.low);
  ratio.high = exponential(logs.high);
  ratio.rounds = static_cast<int>(rounds);
  return ratio;
}

bool precise(const Ratio& ratio, double precision) {
  const std::optional<double> half_width = ratio.relative_half_width();
  return half_width && *half_width <= precision && !ratio.correlated;
}

/// One draw of a full-period generator: a Weyl sequence through the finalizer of Austin Appleby's
/// MurmurHash3. Small on purpose: the orders of a record can be repeated from its seed anywhere,
/// which the standard library's shuffle and distributions do not promise.
std::uint32_t draw(unsigned& state) {
  state += 0x9e3779b9U;
  std::uint32_t bits = state;
  bits = (bits ^ (bits >> 16)) * 0x85ebca6bU;
  bits = (bits ^ (bits >> 13)) * 0xc2b2ae35U;
  return bits ^ (bits >> 16);
}

/// Uniform in 0 … bound-1: draws from the incomplete last stretch are thrown away.
std::uint32_t draw_below(std::uint32_t bound, unsigned& state) {
  const std::uint32_t end = std::numeric_limits<std::uint32_t>::max() / bound * bound;
  std::uint32_t bits = draw(state);
  while (bits >= end) bits = draw(state);
  return bits % bound;
}

}  // namespace

std::optional<double> Ratio::relative_half_width() const {
  if (!low || !high) return std::nullopt;
  return 0.5 * std::log(*high / *low);
}

double less_time(double ratio) { return 1.0 - 1.0 / ratio; }

// The lag-1 estimate of n independent values has a standard error of about 1/sqrt(n), so at 20
// rounds some 15 % of quiet cases are grouped by chance. That costs width, not validity: means of
// neighbours of independent values are independent too, and the signed-rank interval is exact for
// ten of them (coverage 95.1 %). Where correlation remains and there are too few rounds to go on,
// the interval is too narrow: `correlated` says so, and StoppingRule asks for more rounds.
Ratio estimate_ratio(std::span<const double> first, std::span<const double> other) {
  const std::vector<double> logs = log_ratios(first, other);
  const Groups groups = grouped_while_correlated(logs);
  Ratio ratio = from_logs(hodges_lehmann(groups.values), logs.size());
  ratio.rounds_per_group = groups.length;
  ratio.correlated = groups.correlated;
  return ratio;
}

Ratio combine_launches(std::span<const Ratio> launches) {
  if (launches.empty()) throw std::invalid_argument("no launches to combine");
  if (launches.size() == 1) return launches.front();
  std::vector<double> logs;
  std::size_t rounds = 0;
  for (const Ratio& launch : launches) {
    logs.push_back(std::log(launch.estimate));
    rounds += static_cast<std::size_t>(launch.rounds);
  }
  return from_logs(student_mean(logs), rounds);
}

int StoppingRule::rounds_at_look(int look) const {
  std::int64_t rounds = std::max(1, limits_.first_look);
  for (int i = 0; i < look && rounds < limits_.most_rounds; ++i) {
    rounds += (rounds + 1) / 2;
  }
  return static_cast<int>(std::min<std::int64_t>(rounds, limits_.most_rounds));
}

StoppingRule::Decision StoppingRule::decide(int look, std::span<const Ratio> ratios,
                                            Seconds elapsed) const {
  const bool all_precise = std::all_of(ratios.begin(), ratios.end(), [this](const Ratio& ratio) {
    return precise(ratio, limits_.precision);
  });
  if (all_precise) return Decision::converged;
  const int rounds = rounds_at_look(look);
  if (rounds >= limits_.most_rounds) return Decision::out_of_rounds;
  const double reaching_next =
      elapsed.value * rounds_at_look(look + 1) / static_cast<double>(rounds);
  return reaching_next > limits_.most_time.value ? Decision::out_of_time : Decision::go_on;
}

BalancedOrder::BalancedOrder(int variants, unsigned seed) : variants_(variants), state_(seed) {
  if (variants < 1) throw std::invalid_argument("an order needs at least one variant");
}

std::vector<int> BalancedOrder::next() {
  if (!pending_.empty()) return std::exchange(pending_, {});
  std::vector<int> order(static_cast<std::size_t>(variants_));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[draw_below(static_cast<std::uint32_t>(left), state_)]);
  }
  pending_.assign(order.rbegin(), order.rend());
  return order;
}

}  // namespace linkgain
