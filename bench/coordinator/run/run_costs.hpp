#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "linkgain/base/units.hpp"
#include "linkgain/protocol/protocol.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/progress.hpp"

namespace linkgain {

/// Sums up in a record what a run's time goes into, and what looking costs.
class RunCosts : public RunObserver {
 public:
  /// The record must outlive this. Of an earlier part of the run only the cost of looking is
  /// forgotten, which there is where links could be counted.
  RunCosts(Record& record, bool counts_links)
      : spent_(record.time_spent && record.wall_seconds ? *record.time_spent
                                                        : record.time_spent.emplace()) {
    if (!counts_links) return;
    looking_ = &record.evidence_cost.emplace();
    looking_->health_s = 0.0;
  }

  void probing_took(double seconds) override {
    if (looking_ != nullptr) looking_->probes_s += seconds;
  }
  void counting_took(double seconds) override {
    if (looking_ != nullptr) looking_->counters_s += seconds;
  }
  void health_took(double seconds) override {
    if (looking_ != nullptr) *looking_->health_s += seconds;
  }
  void spent(double TimeSpent::*what, Seconds time) override { spent_.*what += time.value; }
  void worked() override { last_work_ = now(); }
  std::optional<Seconds> rested() const override {
    if (!last_work_) return std::nullopt;
    return Seconds{now().value - last_work_->value};
  }

 protected:
  /// Whether looking has cost no more than this share of the run's `elapsed` seconds. What asking
  /// NCCL for algorithms took does not count: leaving readings out wins nothing back of it.
  bool looking_costs_within(double share, double elapsed) const {
    return looking_ == nullptr || looking_->counters_s + *looking_->health_s <= share * elapsed;
  }
  /// A job of those that start together, of which the slowest counts.
  void started(const protocol::HelloReply& reply) {
    starting_.ranks_s = std::max(starting_.ranks_s, reply.ranks_time.value);
    starting_.gpus_s = std::max(starting_.gpus_s, reply.gpus_time.value);
    starting_.connecting_s = std::max(starting_.connecting_s, reply.connecting_time.value);
  }
  /// All of them, in this time.
  void all_started(Seconds time) {
    const TimeSpent slowest = std::exchange(starting_, {});
    spent_.starting_s += time.value;
    spent_.ranks_s += slowest.ranks_s;
    spent_.gpus_s += slowest.gpus_s;
    spent_.connecting_s += slowest.connecting_s;
  }

 private:
  TimeSpent& spent_;                  ///< the record's
  EvidenceCost* looking_ = nullptr;   ///< the record's, where links can be counted
  TimeSpent starting_{};              ///< by the slowest of the jobs that are starting
  std::optional<Seconds> last_work_;  ///< of any job, when it ended
};

}  // namespace linkgain
