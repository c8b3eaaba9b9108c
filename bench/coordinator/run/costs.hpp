#pragma once

#include <optional>

#include "linkgain/protocol/protocol.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/observer.hpp"

namespace linkgain {

/// Sums up in a record what a run's time goes into, and what looking costs.
class RunCosts : public RunObserver {
 public:
  /// Counts the costs of a run. The record must outlive this. The part that begins at `start` goes
  /// on with the earlier one's wall time and costs; looking costs where links can be counted.
  RunCosts(Record& record, bool counts_links, Seconds start);

  Seconds run_time() const override { return {now().value - start_}; }
  void probing_took(Seconds time) override;
  void counting_took(Seconds time) override;
  void health_took(Seconds time) override;
  void spent(double TimeSpent::*what, Seconds time) override { spent_.*what += time.value; }
  void worked() override { last_work_ = now(); }
  std::optional<Seconds> rested() const override;

 protected:
  /// Returns the record, whose wall time is that until now.
  Record& record_until_now();
  /// Returns whether looking has cost no more than this share of the run's time. What asking NCCL
  /// for algorithms took does not count: leaving readings out wins nothing back of it.
  bool looking_costs_within(double share) const;
  /// Notes a job of those that start together, of which the slowest counts.
  void started(const protocol::HelloReply& reply);
  void all_started(Seconds time);

 private:
  Record& record_;
  double start_;                      ///< as if no part had been before this one
  TimeSpent& spent_;                  ///< the record's
  EvidenceCost* looking_ = nullptr;   ///< the record's, where links can be counted
  TimeSpent starting_{};              ///< by the slowest of the jobs that are starting
  std::optional<Seconds> last_work_;  ///< of any job, when it ended
};

}  // namespace linkgain
