#pragma once

#include <algorithm>
#include <optional>

#include "linkgain/base/units.hpp"
#include "linkgain/protocol/protocol.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/progress.hpp"

namespace linkgain {

/// Sums up in a record what a run's time goes into, and what looking costs.
class RunCosts : public RunObserver {
 public:
  /// What the record had of an earlier part of the run is forgotten. It must outlive this. Looking
  /// costs where links could be counted.
  RunCosts(Record& record, bool counts_links) : spent_(record.time_spent.emplace()) {
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
  /// By the job in which it took longest.
  void started(const protocol::HelloReply& reply) {
    spent_.ranks_s = std::max(spent_.ranks_s, reply.ranks_time.value);
    spent_.gpus_s = std::max(spent_.gpus_s, reply.gpus_time.value);
    spent_.connecting_s = std::max(spent_.connecting_s, reply.connecting_time.value);
  }

 private:
  TimeSpent& spent_;                  ///< the record's
  EvidenceCost* looking_ = nullptr;   ///< the record's, where links can be counted
  std::optional<Seconds> last_work_;  ///< of any job, when it ended
};

}  // namespace linkgain
