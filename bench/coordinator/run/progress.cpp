#include "linkgain/run/progress.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_order.hpp"

namespace linkgain {
namespace {

/// By how many doublings a measured size may lie above one of which it tells the time.
constexpr int kMostDoublings = 4;

int doublings(Bytes size) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size.value)));
}

/// Takes the costs of a run's earlier parts, and the time that their record tells.
template <typename Costs>
Costs& going_on(std::optional<Costs>& costs, const Record& record) {
  return costs && record.wall_seconds ? *costs : costs.emplace();
}

/// Returns the time of a run's earlier parts; by a journal that does not tell it, until its last
/// launch began.
double time_of_earlier_parts(const Record& record) {
  const std::vector<double>& begins = record.launch_begins_s;
  const double begun = begins.empty() ? 0.0 : std::ranges::max(begins);
  return record.wall_seconds.value_or(begun);
}

}  // namespace

RunCosts::RunCosts(Record& record, bool counts_links, Seconds start)
    : record_(record),
      start_(start.value - time_of_earlier_parts(record)),
      spent_(going_on(record.time_spent, record)) {
  if (!counts_links) return;
  looking_ = &going_on(record.evidence_cost, record);
  looking_->health_s = looking_->health_s.value_or(0.0);
}

Record& RunCosts::record_until_now() {
  record_.wall_seconds = run_time().value;
  return record_;
}

void RunCosts::probing_took(double seconds) {
  if (looking_ != nullptr) looking_->probes_s += seconds;
}

void RunCosts::counting_took(double seconds) {
  if (looking_ != nullptr) looking_->counters_s += seconds;
}

void RunCosts::health_took(double seconds) {
  if (looking_ != nullptr) *looking_->health_s += seconds;
}

std::optional<Seconds> RunCosts::rested() const {
  if (!last_work_) return std::nullopt;
  return Seconds{now().value - last_work_->value};
}

bool RunCosts::looking_costs_within(double share) const {
  return looking_ == nullptr ||
         looking_->counters_s + *looking_->health_s <= share * run_time().value;
}

void RunCosts::started(const protocol::HelloReply& reply) {
  starting_.ranks_s = std::max(starting_.ranks_s, reply.ranks_time.value);
  starting_.gpus_s = std::max(starting_.gpus_s, reply.gpus_time.value);
  starting_.connecting_s = std::max(starting_.connecting_s, reply.connecting_time.value);
}

void RunCosts::all_started(Seconds time) {
  const TimeSpent slowest = std::exchange(starting_, {});
  spent_.starting_s += time.value;
  spent_.ranks_s += slowest.ranks_s;
  spent_.gpus_s += slowest.gpus_s;
  spent_.connecting_s += slowest.connecting_s;
}

RunPace::RunPace(const RunPlan& plan, const RunObserver& clock)
    : plan_(plan),
      clock_(clock),
      start_(clock.now().value),
      launches_(plan.launches),
      order_(order_within(plan.cases, plan.budget.has_value())),
      cases_(plan.cases.size()) {
  plan_steps();
}

int RunPace::rounds(int case_index, int launch) const {
  const auto index = static_cast<std::size_t>(case_index);
  if (cases_[index].left_out) return 0;
  return rounds_in_launch(plan_, plan_.cases[index], launch, launches_);
}

void RunPace::plan_steps() {
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    cases_[i].planned = cases_[i].added * passes();
    for (int launch = 0; launch < launches_; ++launch) {
      if (rounds(static_cast<int>(i), launch) > 0) cases_[i].planned += passes();
    }
    cases_[i].planned -= cases_[i].kept_steps;
    if (cases_[i].left_out) cases_[i].planned = cases_[i].steps;
  }
}

void RunPace::keeps(int case_index, int launch) {
  Spent& spent = cases_[static_cast<std::size_t>(case_index)];
  const int kept = rounds(case_index, launch);
  if (kept == 0) return;
  ++spent.kept_steps;
  spent.kept_rounds += kept;
  plan_steps();
}

RunPace::ToGo RunPace::to_go(std::size_t index, int launches) const {
  const Spent& spent = cases_[index];
  if (spent.left_out) return {};
  ToGo all{spent.added, spent.added * kRoundsPerLaunch};
  for (int launch = 0; launch < launches; ++launch) {
    const int own = rounds_in_launch(plan_, plan_.cases[index], launch, launches);
    all.steps += own > 0 ? 1 : 0;
    all.rounds += own;
  }
  return {std::max(0, all.steps * passes() - spent.kept_steps - spent.steps),
          std::max(0, all.rounds * passes() - spent.kept_rounds - spent.rounds)};
}

int RunPace::groups_to_go(int launches) const {
  const int at_once = launches_at_once(plan_);
  const int groups = static_cast<int>(divide_up(launches, at_once));
  return std::max(0, (groups + added_groups_) * passes() - groups_);
}

double RunPace::seconds_for(int launches, const Spent* first) const {
  double seconds = groups_to_go(launches) * group_seconds_;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    if (first != nullptr && cases_[i].steps == 0 && &cases_[i] != first) continue;
    seconds += seconds_of(i, to_go(i, launches)).value_or(0.0);
  }
  return seconds;
}

bool RunPace::admits(int case_index) {
  Spent& own = cases_[static_cast<std::size_t>(case_index)];
  begun_ = clock_.now().value;
  measuring_ = case_index;
  if (own.left_out || own.steps > 0 || !plan_.budget || step() == 0) return !own.left_out;
  const int fewest = plan_.is_soak ? 1 : kFewestLaunches;
  own.left_out = seconds_for(std::min(launches_, fewest), &own) > seconds_of_budget_left();
  if (own.left_out) plan_steps();
  return !own.left_out;
}

bool RunPace::lower_launches() {
  if (!plan_.budget) return false;
  const int before = launches_;
  while (launches_ > kFewestLaunches && seconds_for(launches_) > seconds_of_budget_left()) {
    --launches_;
  }
  double room = seconds_of_budget_left() - groups_to_go(2) * group_seconds_;
  for (const int index : order_) {
    const auto place = static_cast<std::size_t>(index);
    const double more = seconds_of(place, to_go(place, 2)).value_or(0.0);
    if (launches_ > 1 && more > room && index != order_.front()) cases_[place].left_out = true;
    if (!cases_[place].left_out) room -= more;
  }
  plan_steps();
  return launches_ < before;
}

int RunPace::holds(const std::vector<int>& cases, int launches) const {
  if (!plan_.budget) return launches;
  const bool all =
      launches_ == plan_.launches &&
      std::none_of(cases_.begin(), cases_.end(), [](const Spent& each) { return each.left_out; });
  double seconds = 0.0;
  for (const int index : cases) {
    seconds += seconds_of(static_cast<std::size_t>(index), {1, kRoundsPerLaunch}).value_or(0.0);
  }
  const double left = seconds_of_budget_left() / passes() - group_seconds_;
  if (!all || left <= 0.0) return 0;
  return static_cast<int>(std::min<double>(launches, std::floor(left / std::max(seconds, 1e-9))));
}

void RunPace::add_group(const std::vector<int>& cases, int launches) {
  added_ += launches;
  added_groups_ += static_cast<int>(divide_up(launches, launches_at_once(plan_)));
  for (const int index : cases) cases_[static_cast<std::size_t>(index)].added += launches;
  plan_steps();
}

int RunPace::total(int Spent::*part) const {
  int sum = 0;
  for (const Spent& each : cases_) sum += each.*part;
  return sum;
}

void RunPace::finished(int case_index, int launch, double seconds, double rounds_seconds) {
  Spent& spent = cases_[static_cast<std::size_t>(case_index)];
  spent.seconds += seconds;
  spent.rounds_seconds += rounds_seconds;
  spent.rounds += rounds(case_index, launch);
  ++spent.steps;
  begun_.reset();
  measuring_.reset();
}

std::optional<double> RunPace::seconds_of(std::size_t index, ToGo part) const {
  Spent like = cases_[index];
  const Case& own = plan_.cases[index];
  std::optional<int> nearest;
  for (std::size_t i = 0; cases_[index].steps == 0 && i < cases_.size(); ++i) {
    const Case& other = plan_.cases[i];
    if (cases_[i].steps == 0 || other.training.has_value() != own.training.has_value()) continue;
    const int larger = doublings(other.size) - doublings(own.size);
    if (plan_.budget && larger > kMostDoublings) continue;
    if (nearest && std::abs(larger) > *nearest) continue;
    if (nearest && std::abs(larger) < *nearest) like = {};
    nearest = std::abs(larger);
    like.steps += cases_[i].steps;
    like.rounds += cases_[i].rounds;
    like.seconds += cases_[i].seconds;
    like.rounds_seconds += cases_[i].rounds_seconds;
  }
  if (like.steps == 0) return std::nullopt;
  return part.steps * (like.seconds - like.rounds_seconds) / like.steps +
         part.rounds * like.rounds_seconds / std::max(1, like.rounds);
}

double RunPace::guessed_seconds(std::size_t index, ToGo part) const {
  const bool gpus = plan_.backend == BackendKind::nccl;
  const auto variants = static_cast<double>(plan_.variants.size()) / passes();
  const double opening = gpus ? 0.05 : 0.15;
  const double a_mebibyte = gpus ? 0.0005 : 0.02;
  const Case& c = plan_.cases[index];
  const double mebibytes = static_cast<double>(c.size.value) / (1 << 20);
  if (!c.training) return variants * part.steps * (opening + a_mebibyte * mebibytes);
  const double training_opening = gpus ? 1.0 : 0.5;
  const double block = gpus ? 0.8 : 0.3;
  return variants * (part.steps * training_opening + part.rounds * block);
}

double RunPace::growth_to(std::size_t index) const {
  double growth = std::numeric_limits<double>::infinity();
  const Case& own = plan_.cases[index];
  for (std::size_t i = 0; i < cases_.size() && !own.training; ++i) {
    const Case& other = plan_.cases[i];
    if (cases_[i].steps == 0 || other.training || other.size > own.size) continue;
    growth = std::min(growth, static_cast<double>(own.size.value) /
                                  static_cast<double>(std::max<std::int64_t>(1, other.size.value)));
  }
  return growth;
}

double RunPace::seconds_of_group() const {
  if (group_seconds_ > 0.0 || step() > 0) return group_seconds_;
  const int jobs = launches_at_once(plan_) * static_cast<int>(plan_.variants.size()) / passes();
  return guessed_start_time(plan_.backend, jobs).value;
}

double RunPace::seconds_of_begun() const {
  if (!begun_) return 0.0;
  if (!measuring_) return seconds_of_group();
  const auto index = static_cast<std::size_t>(*measuring_);
  const ToGo one{1, rounds(*measuring_, step() / std::max(1, steps() / launches()))};
  return seconds_of(index, one).value_or(guessed_seconds(index, one));
}

double RunPace::seconds_left() const {
  double seconds = groups_to_go(launches_) * seconds_of_group();
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    const ToGo part = to_go(i, launches_);
    if (part.steps == 0) continue;
    const std::optional<double> like = seconds_of(i, part);
    // Smaller sizes, which are measured first, take less, but no less than in proportion.
    const double most = like ? std::max(*like, *like * growth_to(i)) : guessed_seconds(i, part);
    seconds += cases_[i].steps > 0 ? *like
                                   : std::clamp(guessed_seconds(i, part), like.value_or(0.0), most);
  }
  const bool starting = begun_ && !measuring_;
  if (starting) seconds += seconds_of_group();
  if (begun_) seconds -= std::min(clock_.now().value - *begun_, seconds_of_begun());
  seconds = std::max(0.0, seconds);
  return plan_.budget ? std::min(seconds, seconds_of_budget_left()) : seconds;
}

}  // namespace linkgain
