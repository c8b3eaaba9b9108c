#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "linkgain/hardware/neighbours.hpp"
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

}  // namespace linkgain
