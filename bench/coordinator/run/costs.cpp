#include "costs.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace linkgain {
namespace {

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

void RunCosts::probing_took(Seconds time) {
  if (looking_ != nullptr) looking_->probes_s += time.value;
}

void RunCosts::counting_took(Seconds time) {
  if (looking_ != nullptr) looking_->counters_s += time.value;
}

void RunCosts::health_took(Seconds time) {
  if (looking_ != nullptr) *looking_->health_s += time.value;
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

}  // namespace linkgain
