#include "linkgain/coordinator/run_pace.hpp"

#include <algorithm>
#include <utility>

namespace linkgain {
namespace {

/// Measuring time that a case may take on average where no budget is given. CPUs' timings scatter
/// more than GPUs', so their rounds get longer.
constexpr Seconds kTimePerGpuCase{0.33};
constexpr Seconds kTimePerCpuCase{1.5};
/// Short runs may take this long in all, so that few cases get nearer to the precision asked for.
constexpr Seconds kTimeOfShortRun{10.0};
/// Part of a budget's share that goes into rounds; the rest is for opening, verifying and closing.
constexpr double kSampledShare = 0.85;

int steps_of(const RunPlan& plan) {
  const int passes = plan.sequential ? static_cast<int>(plan.variants.size()) : 1;
  return static_cast<int>(plan.cases.size()) * plan.launches * passes;
}

/// Blocks of a training that is not compared, and the fewest of a launch.
constexpr int kBlocksAlone = 5;

/// The plan's steps are spread over the launches.
StoppingRule training_rule(const Case& c, const RunPlan& plan) {
  const auto all = static_cast<int>(plan.training.steps / kStepsPerBlock);
  const int share = (all + plan.launches - 1) / plan.launches;
  const int blocks = std::max(std::min(kBlocksAlone, all), share);
  StoppingRule::Limits limits;
  limits.precision = plan.precision;
  limits.first_look = uses_link(c) ? blocks : std::min(kBlocksAlone, all);
  limits.most_rounds = limits.first_look;
  return StoppingRule(limits);
}

}  // namespace

RunPace::RunPace(const RunPlan& plan, std::function<Seconds()> clock)
    : plan_(plan), clock_(std::move(clock)), start_(clock_().value), steps_(steps_of(plan)) {}

void RunPace::finished(double seconds) {
  measured_ += seconds;
  ++step_;
}

bool RunPace::out_of_budget() const { return plan_.budget && elapsed() >= plan_.budget->value; }

double RunPace::seconds_left() const {
  if (step_ == 0) return -1.0;
  const double by_pace = measured_ / step_ * (steps_ - step_);
  return plan_.budget ? std::min(by_pace, plan_.budget->value - elapsed()) : by_pace;
}

StoppingRule RunPace::rule(const Case& c) const {
  if (is_training(c.operation)) return training_rule(c, plan_);
  const double per_case =
      std::max((plan_.backend == BackendKind::mpi ? kTimePerCpuCase : kTimePerGpuCase).value,
               kTimeOfShortRun.value / steps_);
  StoppingRule::Limits limits;
  limits.precision = plan_.precision;
  limits.most_time = Seconds{std::max(per_case, per_case * (step_ + 1) - measured_)};
  if (plan_.budget) {
    const double share = (plan_.budget->value - elapsed()) / std::max(1, steps_ - step_);
    limits.most_time = Seconds{std::max(0.0, kSampledShare * share)};
  }
  return StoppingRule(limits);
}

}  // namespace linkgain
