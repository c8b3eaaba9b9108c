#include "linkgain/record/training_losses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace linkgain {
namespace {

double relative_difference(double first, double other) {
  if (first == other) return 0.0;
  const double difference = std::abs((other - first) / first);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

}  // namespace

Losses losses_of(const std::vector<const Sample*>& samples) {
  Losses losses;
  for (const Sample* sample : samples) {
    if (sample->loss) losses[{sample->launch, sample->round}] = *sample->loss;
  }
  return losses;
}

std::optional<double> largest_difference(const Losses& first, const Losses& other) {
  std::optional<double> largest;
  for (const auto& [key, loss] : other) {
    const auto match = first.find(key);
    if (match == first.end()) continue;
    largest = std::max(largest.value_or(0.0), relative_difference(match->second, loss));
  }
  return largest;
}

}  // namespace linkgain
