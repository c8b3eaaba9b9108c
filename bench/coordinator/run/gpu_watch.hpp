#pragma once

#include <vector>

#include "linkgain/record/record.hpp"
#include "linkgain/run/observer.hpp"
#include "linkgain/run/world.hpp"

namespace linkgain {

/// What a run's GPUs tell on the way: errors on their links, and that they have fallen silent.
class GpuWatch {
 public:
  /// Watches from now on: earlier Xid errors do not count. All must outlive it.
  GpuWatch(RunWorld& world, Record& record, RunObserver& observer);

  /// Returns since when Xid errors are the run's, in this part of it.
  Seconds begun() const { return begun_; }
  /// Reads the counters before the first launch and after each, while no job works; returns whether
  /// an error grew. What grew stands in the record and is told at once: a long run is looked at
  /// meanwhile.
  bool read_errors();
  /// Warns, once, of each GPU of which a reading (temperature, power, SM clock or clock events) was
  /// in an earlier case's last sample and is not in this one's.
  void look_at_health(const CaseResult& result);

 private:
  RunWorld& world_;
  Record& record_;
  RunObserver& observer_;
  Seconds begun_;
  ErrorReadings errors_;
  std::vector<Health> health_;  ///< by rank, of its GPU in the last sample seen
};

}  // namespace linkgain
