#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "linkgain/plan/run_plan.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/observer.hpp"
#include "linkgain/run/world.hpp"

namespace linkgain {

/// Compares what this host's processors did with what the run's own ranks had of them. Of a run by
/// MPI in CPU memory, whose ranks' processors are what carries the data, samples are marked that
/// were taken while others left fewer processors than a job has ranks; elsewhere it only warns.
class HostWatch {
 public:
  /// Watches this host for a run. All must outlive it.
  HostWatch(const RunPlan& plan, RunWorld& world, Record& record, RunObserver& observer);

  /// Reads the load before anything is started; end_of_start_window() lets half a second pass
  /// since, unless it has.
  void before_start();
  void end_of_start_window();
  /// Notes that a job of ours started.
  void add_own(const Machine& machine);
  /// Says that the run measures from here on until pause().
  void resume();
  /// Looks at what others do while jobs of ours are up and none works.
  void hand_over();
  void pause();
  /// Warns of what was too much, once.
  void tell();

 private:
  struct Reading {
    double at;
    HostLoad load;
  };
  /// Returns how many processors' worth of time others had between two readings; nothing if it is
  /// not known.
  std::optional<double> others(const Reading& from, const Reading& to) const;
  bool leave_too_few(double others) const;
  Reading read() const;
  int ranks_here() const;

  const RunPlan& plan_;
  RunWorld& world_;
  Record& record_;
  RunObserver& observer_;
  std::vector<std::int64_t> own_;
  std::optional<Reading> before_start_;
  std::optional<Reading> segment_;  ///< the last hand-over's
  std::optional<Reading> began_;    ///< at the last resume()
  int unsure_since_ = 0;            ///< the first sample since the last hand-over
  double seconds_ = 0.0;            ///< between resume() and pause(), and what grew in them
  double pressure_s_ = 0.0;
  double stolen_s_ = 0.0;
  double switches_ = 0.0;
};

}  // namespace linkgain
