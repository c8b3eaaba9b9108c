#include "linkgain/run/progress.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "linkgain/base/standard_streams.hpp"

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

/// Of `cases` of the plan's.
int steps_of(const RunPlan& plan, std::size_t cases) {
  const int passes = plan.sequential ? static_cast<int>(plan.variants.size()) : 1;
  return static_cast<int>(cases) * plan.launches * passes;
}

std::size_t count_trainings(const RunPlan& plan) {
  return static_cast<std::size_t>(std::count_if(
      plan.cases.begin(), plan.cases.end(), [](const Case& c) { return c.training.has_value(); }));
}

/// Blocks of a training that is not compared, and the fewest of a launch.
constexpr int kBlocksAlone = 5;

}  // namespace

RunPace::RunPace(const RunPlan& plan, const RunObserver& clock)
    : plan_(plan),
      clock_(clock),
      start_(clock.now().value),
      steps_(steps_of(plan, plan.cases.size())),
      training_steps_(steps_of(plan, count_trainings(plan))) {}

void RunPace::finished(const Case& c, double seconds) {
  Spent& spent = c.training ? trainings_ : others_;
  spent.seconds += seconds;
  ++spent.steps;
}

bool RunPace::out_of_budget() const { return plan_.budget && elapsed() >= plan_.budget->value; }

double RunPace::seconds_left() const {
  if (step() == 0) return -1.0;
  const int trainings_left = training_steps_ - trainings_.steps;
  // Trainings come first unless --only says otherwise: then nothing is known of theirs yet.
  if (trainings_left > 0 && trainings_.steps == 0) {
    return plan_.budget ? plan_.budget->value - elapsed() : -1.0;
  }
  const auto pace = [](const Spent& spent, double unknown) {
    return spent.steps > 0 ? spent.seconds / spent.steps : unknown;
  };
  const double by_pace =
      pace(trainings_, 0.0) * trainings_left +
      pace(others_, usual_time().value) * (steps_ - training_steps_ - others_.steps);
  return plan_.budget ? std::min(by_pace, plan_.budget->value - elapsed()) : by_pace;
}

StoppingRule RunPace::rule(const Case& c) const {
  if (is_training(c.operation)) return training_rule(c);
  const double per_case = std::max(usual_time().value, kTimeOfShortRun.value / steps_);
  StoppingRule::Limits limits;
  limits.precision = plan_.precision;
  limits.most_time = Seconds{std::max(per_case, per_case * (others_.steps + 1) - others_.seconds)};
  if (plan_.budget) limits.most_time = budget_share();
  return StoppingRule(limits);
}

/// The plan's steps are spread over the launches. A budget ends a training once it has the fewest
/// blocks that say something.
StoppingRule RunPace::training_rule(const Case& c) const {
  const auto all = static_cast<int>(plan_.training->steps / kStepsPerBlock);
  const int fewest = std::min(kBlocksAlone, all);
  const int share = (all + plan_.launches - 1) / plan_.launches;
  StoppingRule::Limits limits;
  limits.precision = plan_.precision;
  limits.most_rounds = uses_link(c) ? std::max(fewest, share) : fewest;
  limits.first_look = plan_.budget ? fewest : limits.most_rounds;
  if (plan_.budget) limits.most_time = budget_share();
  return StoppingRule(limits);
}

Seconds RunPace::usual_time() const {
  return plan_.backend == BackendKind::mpi ? kTimePerCpuCase : kTimePerGpuCase;
}

Seconds RunPace::budget_share() const {
  const double share = (plan_.budget->value - elapsed()) / std::max(1, steps_ - step());
  return Seconds{std::max(0.0, kSampledShare * share)};
}

Progress::Progress(bool terminal, bool quiet, std::FILE* log)
    : terminal_(terminal), quiet_(quiet), log_(log) {}

Progress::~Progress() { clear_line(); }

void Progress::clear_line() {
  if (!line_open_) return;
  print_message(stderr, "\r\033[K");
  line_open_ = false;
}

void Progress::note(const std::string& text) {
  clear_line();
  if (!quiet_) print_message(stderr, text + "\n");
  if (log_ != nullptr) print_message(log_, text + "\n");
}

void Progress::measuring(int step, int steps, const Case& c, int round, double seconds_left) {
  if (quiet_ || !terminal_) return;
  const std::string left =
      seconds_left < 0 ? "" : fmt::format(", about {:.0f} s left", seconds_left);
  print_message(stderr, fmt::format("\r\033[K[{:>3}/{}] {}, round {}{}", step, steps, case_name(c),
                                    round, left));
  line_open_ = true;
}

void Progress::finished(int step, int steps, const CaseResult& result) {
  const std::string text = fmt::format("[{:>3}/{}] {}: {}\n", step, steps,
                                       case_name(result.definition), summary_of(result));
  clear_line();
  if (!quiet_ && !terminal_) print_message(stderr, text);
  if (log_ != nullptr) print_message(log_, text);
}

std::string summary_of(const CaseResult& result) {
  std::vector<std::string> parts;
  for (const VariantResult& variant : result.variants) {
    if (variant.time) {
      parts.push_back(fmt::format("{} {}", variant.variant, readable_time(*variant.time)));
    } else {
      parts.push_back(fmt::format("{} skipped ({})", variant.variant,
                                  variant.skipped.value_or("not measured")));
    }
  }
  for (const RatioResult& entry : result.ratios) {
    const Ratio& ratio = entry.ratio;
    parts.push_back(ratio.low && ratio.high
                        ? fmt::format("{:.3f}x ({:.3f}x to {:.3f}x) in {} rounds", ratio.estimate,
                                      *ratio.low, *ratio.high, ratio.rounds)
                        : fmt::format("{:.3f}x", ratio.estimate));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace linkgain
