#include "linkgain/run/progress.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "linkgain/base/standard_streams.hpp"

namespace linkgain {
namespace {

/// "[  3/12] launch 2 of 6, all_reduce/…".
std::string place_of(const RunPace& pace, int step, int launch, const Case& c) {
  const std::string launches =
      pace.launches() == 1 ? "" : fmt::format("launch {} of {}, ", launch + 1, pace.launches());
  return fmt::format("[{:>3}/{}] {}{}", step, pace.steps(), launches, case_name(c));
}

}  // namespace

RunPace::RunPace(const RunPlan& plan, const RunObserver& clock)
    : plan_(plan),
      clock_(clock),
      start_(clock.now().value),
      launches_(plan.launches),
      cases_(plan.cases.size()) {
  plan_steps();
}

void RunPace::plan_steps() {
  const int passes = plan_.sequential ? static_cast<int>(plan_.variants.size()) : 1;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    cases_[i].planned = 0;
    for (int launch = 0; launch < launches_; ++launch) {
      if (rounds_in_launch(plan_, plan_.cases[i], launch) > 0) cases_[i].planned += passes;
    }
  }
}

bool RunPace::lower_launches(double pass, double start, int up) {
  if (!plan_.budget) return false;
  const int at_once = plan_.launches_at_once.value_or(plan_.launches);
  const auto cost_of = [&](int launches) {
    const int starts = static_cast<int>(divide_up(std::max(0, launches - up), at_once));
    return (launches - 1) * pass + starts * start;
  };
  const int before = launches_;
  while (launches_ > kFewestLaunches && cost_of(launches_) > seconds_of_budget_left()) --launches_;
  plan_steps();
  return launches_ < before;
}

bool RunPace::holds(const std::vector<int>& cases, double start) const {
  if (!plan_.budget) return true;
  double seconds = start;
  for (const int index : cases) {
    seconds += step_seconds(static_cast<std::size_t>(index)).value_or(0.0);
  }
  return seconds <= seconds_of_budget_left();
}

void RunPace::add_launch(const std::vector<int>& cases) {
  ++launches_;
  const int passes = plan_.sequential ? static_cast<int>(plan_.variants.size()) : 1;
  for (const int index : cases) cases_[static_cast<std::size_t>(index)].planned += passes;
}

int RunPace::step() const {
  int sum = 0;
  for (const Spent& each : cases_) sum += each.steps;
  return sum;
}

int RunPace::steps() const {
  int sum = 0;
  for (const Spent& each : cases_) sum += each.planned;
  return sum;
}

void RunPace::finished(int case_index, double seconds) {
  Spent& spent = cases_[static_cast<std::size_t>(case_index)];
  spent.seconds += seconds;
  ++spent.steps;
}

std::optional<double> RunPace::step_seconds(std::size_t index) const {
  if (cases_[index].steps > 0) return cases_[index].seconds / cases_[index].steps;
  // A training takes its own time, and so tells nothing of the others.
  Spent others;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    if (plan_.cases[i].training.has_value() != plan_.cases[index].training.has_value()) continue;
    others.steps += cases_[i].steps;
    others.seconds += cases_[i].seconds;
  }
  if (others.steps == 0) return std::nullopt;
  return others.seconds / others.steps;
}

double RunPace::seconds_left() const {
  double seconds = 0.0;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    const int left = cases_[i].planned - cases_[i].steps;
    if (left <= 0) continue;
    const std::optional<double> each = step_seconds(i);
    if (!each) return plan_.budget && step() > 0 ? seconds_of_budget_left() : -1.0;
    seconds += *each * left;
  }
  return plan_.budget ? std::min(seconds, seconds_of_budget_left()) : seconds;
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

void Progress::measuring(const RunPace& pace, int launch, const Case& c) {
  if (quiet_ || !terminal_) return;
  const double seconds = pace.seconds_left();
  const std::string left = seconds < 0 ? "" : fmt::format(", about {:.0f} s left", seconds);
  print_message(stderr,
                fmt::format("\r\033[K{}{}", place_of(pace, pace.step() + 1, launch, c), left));
  line_open_ = true;
}

void Progress::finished(const RunPace& pace, int launch, const CaseResult& result) {
  const std::string text = fmt::format(
      "{}: {}\n", place_of(pace, pace.step(), launch, result.definition), summary_of(result));
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
    parts.push_back(fmt::format("{:.3f}x", entry.ratio.estimate));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace linkgain
