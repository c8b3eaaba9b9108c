#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/jobs/job.hpp"
#include "linkgain/plan/run_plan.hpp"
#include "linkgain/protocol/protocol.hpp"
#include "linkgain/record/evidence.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/observer.hpp"
#include "linkgain/statistics/balanced_order.hpp"

namespace linkgain {

/// A variant and its resident job; the job is null before it is started and once it is lost.
struct VariantJob {
  int variant = 0;
  std::string name;
  std::unique_ptr<Job> job;
  protocol::HelloReply hello{};  ///< once it is up
  bool lost = false;             ///< in a case, and not started again since
};

/// Asks all jobs to end whatever they do, without waiting, so that their ends overlap.
void give_up(std::vector<VariantJob>& jobs) noexcept;

/// Returns whether those that are up have the GPUs of this machine.
bool on_same_gpus(const std::vector<VariantJob>& jobs, const Machine& machine);

/// Ends all jobs at once, so that their ends overlap, and forgets them. `observer` is warned of
/// each that does not end as asked within the deadline, or ends with an error: what it measured
/// stands.
void end_together(std::vector<VariantJob>& jobs, Seconds deadline, RunObserver& observer);

/// How often a variant's job was lost in a case, by case and variant.
using JobLosses = std::map<std::pair<int, int>, int>;

/// Takes the jobs that are not to measure a case out of a launch while it lives: of variants that
/// were lost in it twice, and of those that do not race in it. What hangs always would cost a
/// deadline in every launch. Counts who is lost meanwhile.
class KeptOut {
 public:
  /// Asks `races` of each variant, by its place.
  KeptOut(std::vector<VariantJob>& jobs, int index, JobLosses& losses,
          const std::function<bool(int)>& races);
  ~KeptOut();
  KeptOut(const KeptOut&) = delete;
  KeptOut& operator=(const KeptOut&) = delete;

 private:
  std::vector<VariantJob>& jobs_;
  int index_;
  JobLosses& losses_;
  std::vector<std::unique_ptr<Job>> taken_;
  std::vector<bool> measures_;
};

/// How batches are counted.
struct TrafficSettings {
  bool counting = false;       ///< the jobs have GPUs whose links could be counted
  bool several_hosts = false;  ///< ranks are on more than one
  /// Every job's ranks have the same GPUs, so that one job's reading serves the next one too.
  bool same_gpus = false;
};

/// What the links of one job's GPUs carried in the counted batches of a case. A reading takes about
/// a millisecond, so only the first round of a launch is counted, and in launches after the first
/// one only while looking has not cost more than a run may pay for it.
class TrafficCount {
 public:
  /// Counts the traffic of a case; `nccl` is the version of the job's library, empty if it has
  /// none.
  TrafficCount(const Case& c, TransferPlan plan, const TrafficSettings& settings,
               std::string_view nccl);

  /// Adds the readings of every rank just before and just after a batch of `operations`.
  void add(const protocol::CountersReply& before, const protocol::CountersReply& after,
           std::int64_t operations);

  /// Returns the evidence; nothing until something was counted.
  const std::optional<TrafficEvidence>& evidence() const { return evidence_; }

 private:
  Case case_;
  TransferPlan plan_;
  bool several_hosts_;
  std::string_view why_no_algorithm_;
  std::optional<TrafficEvidence> evidence_;
};

/// What all cases of a run have in common.
struct MeasurementSettings {
  const RunPlan& plan;
  TrafficSettings traffic;
  RunObserver& observer;
};

/// Where in a run a case is measured.
struct CasePlace {
  int case_index = 0;
  int launch = 0;
  int samples_before = 0;  ///< of all cases
  /// As products_before() has them.
  std::vector<std::string> products{};
};

/// Returns the algorithms that the run's first job to train this model in this precision took for
/// its matrix products; empty where none has yet, or the case is no training.
std::vector<std::string> products_before(const Record& record, const Case& c);

/// The seed of an order within a run of that seed.
enum class Order { rounds, opening, start };
unsigned seed_of(Order order, unsigned run_seed, int launch, int case_index = 0);

/// Measures one case of one launch: opens it in every live job in random order, samples rounds in
/// balanced order, verifies and closes in the mirror image of the order of opening. A job that is
/// lost (it may also refuse what it had opened) is reset and the others go on. Samples are appended
/// to `result` as they come, so that they are there even when this throws (Interrupted). It keeps
/// what earlier launches found and gets its variants at the first one.
void measure_case(std::vector<VariantJob>& jobs, CaseResult& result, const CasePlace& place,
                  int rounds, const MeasurementSettings& settings);

/// Sums the times of the case's samples from this sequence number on.
Seconds time_of_batches(const CaseResult& result, int first);

/// Notes which path the variant took, and how near to that path's limit it came.
void locate(VariantResult& variant, const Case& c, const Machine& machine, Path by_transport);

/// Returns whether some rank's copies between pinned host memory and its GPU are known.
bool has_host_copies(const Machine& machine);

/// Has all ranks of a job measure their copies between pinned host memory and GPUs and enters them
/// into the machine, with the PCIe links as they are just after, where that is more than before.
/// Where the job refuses, `observer` is told. Throws JobLost.
void read_host_copies(Job& job, Seconds deadline, Machine& machine, RunObserver& observer);

}  // namespace linkgain
