#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "linkgain/hardware/neighbours.hpp"
#include "linkgain/plan/run_plan.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/observer.hpp"
#include "linkgain/run/world.hpp"

namespace linkgain {

/// Looks for others' work on a run's GPUs, writes what it sees into the record and marks the
/// samples that were taken beside it.
///
/// The list of processes is read at hand-overs. Utilization tells others' work from ours only while
/// none of our jobs works: for a second before anything is started, and then at most every 10 s, in
/// windows that end as soon as the driver's sampling period holds none of our work any more. Where
/// the driver shows no process ids, or those of another namespace, the window alone decides.
class NeighbourWatch {
 public:
  /// Watches for neighbours from now on. All must outlive it.
  NeighbourWatch(RunWorld& world, Record& record, RunObserver& observer);

  /// Takes a second, two beside a neighbour; nothing where no GPU can be looked at.
  void before_start();
  /// Notes that a job of ours started.
  void add_own(const Machine& machine);
  /// Looks while jobs of ours are up and none works.
  void hand_over();
  /// Looks when no job is left: with a window, if one can be afforded.
  void at_end();
  /// Marks what was measured since the last window without work of others, where there is such
  /// work.
  void mark_samples();

 private:
  /// What is known of one GPU.
  struct State {
    bool busy = false;
    std::set<std::int64_t> known;  ///< others' process ids that were told of
    std::size_t most_listed = 0;   ///< processes, where ids are those of another namespace
    std::vector<GpuProcess> others{};
  };
  /// What a GPU did while none of our jobs worked.
  struct Idle {
    int gpu = 0;
    std::optional<double> busy_percent;
    std::optional<double> nvlink_gb_per_s;
  };
  enum class Window { full, brief };

  std::vector<GpuUse> look();
  bool find_others(const std::vector<GpuUse>& uses);
  std::vector<Idle> watch(Window window);
  void judge(const std::vector<Idle>& window, bool before);
  void tell(const GpuNeighbour& neighbour);
  double elapsed() const;

  RunWorld& world_;
  Record& record_;
  RunObserver& observer_;
  double start_;
  double last_look_;
  double last_window_;
  double looks_s_ = 0.0;
  double windows_s_ = 0.0;
  bool looking_ = false;
  bool arrived_ = false;    ///< processes that no window has judged yet
  bool lists_own_ = false;  ///< some list of processes had ours
  bool disturbed_ = false;
  int unsure_since_;  ///< the first sample since the last window without work of others
  std::set<std::int64_t> own_;
  std::map<int, State> gpus_;
};

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
