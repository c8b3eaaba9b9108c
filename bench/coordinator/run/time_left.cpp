#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "linkgain/run/pace.hpp"

namespace linkgain {
namespace {

/// By how many doublings a measured size may lie above one of which it tells the time.
constexpr int kMostDoublings = 4;

int doublings(Bytes size) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size.value)));
}

}  // namespace

void TimeLeft::took(std::size_t index, int rounds, double seconds, double rounds_seconds) {
  Took& all = took_[index];
  all.seconds += seconds;
  all.rounds_seconds += rounds_seconds;
  all.done.rounds += rounds;
  ++all.done.steps;
}

std::optional<double> TimeLeft::seconds_of(std::size_t index, ToGo part) const {
  Took like = took_[index];
  const Case& own = plan_.cases[index];
  std::optional<int> nearest;
  for (std::size_t i = 0; took_[index].done.steps == 0 && i < took_.size(); ++i) {
    const Took& took = took_[i];
    const Case& other = plan_.cases[i];
    if (took.done.steps == 0 || other.training.has_value() != own.training.has_value()) continue;
    const int larger = doublings(other.size) - doublings(own.size);
    if (plan_.budget && larger > kMostDoublings) continue;
    if (nearest && std::abs(larger) > *nearest) continue;
    if (nearest && std::abs(larger) < *nearest) like = {};
    nearest = std::abs(larger);
    like.done.steps += took.done.steps;
    like.done.rounds += took.done.rounds;
    like.seconds += took.seconds;
    like.rounds_seconds += took.rounds_seconds;
  }
  if (like.done.steps == 0) return std::nullopt;
  return part.steps * (like.seconds - like.rounds_seconds) / like.done.steps +
         part.rounds * like.rounds_seconds / std::max(1, like.done.rounds);
}

double TimeLeft::guessed_seconds(std::size_t index, ToGo part) const {
  const bool gpus = plan_.backend == BackendKind::nccl;
  const auto variants = static_cast<double>(plan_.variants.size()) / passes_of(plan_);
  const double opening = gpus ? 0.05 : 0.15;
  const double a_mebibyte = gpus ? 0.0005 : 0.02;
  const Case& c = plan_.cases[index];
  const double mebibytes = static_cast<double>(c.size.value) / (1 << 20);
  if (!c.training) return variants * part.steps * (opening + a_mebibyte * mebibytes);
  const double training_opening = gpus ? 1.0 : 0.5;
  const double block = gpus ? 0.8 : 0.3;
  return variants * (part.steps * training_opening + part.rounds * block);
}

double TimeLeft::growth_to(std::size_t index) const {
  double growth = std::numeric_limits<double>::infinity();
  const Case& own = plan_.cases[index];
  for (std::size_t i = 0; i < took_.size() && !own.training; ++i) {
    const Case& other = plan_.cases[i];
    if (took_[i].done.steps == 0 || other.training || other.size > own.size) continue;
    growth = std::min(growth, static_cast<double>(own.size.value) /
                                  static_cast<double>(std::max<std::int64_t>(1, other.size.value)));
  }
  return growth;
}

double TimeLeft::expected_seconds(std::size_t index, ToGo part) const {
  const std::optional<double> like = seconds_of(index, part);
  if (took_[index].done.steps > 0) return *like;
  const double guess = guessed_seconds(index, part);
  // Smaller sizes, which are measured first, take less, but no less than in proportion.
  const double most = like ? std::max(*like, *like * growth_to(index)) : guess;
  return std::clamp(guess, like.value_or(0.0), most);
}

}  // namespace linkgain
