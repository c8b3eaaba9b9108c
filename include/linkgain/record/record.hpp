#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/names.hpp"
#include "linkgain/cases/backend.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/hardware/health.hpp"
#include "linkgain/hardware/link_counters.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/neighbours.hpp"
#include "linkgain/record/evidence.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

/// Something the reader of a report must know, and what to do about it.
struct Warning {
  std::string code;  ///< stable, kebab-case: "not-converged"
  std::string text;
  std::string advice;
  bool operator==(const Warning&) const = default;
};

/// Adds it where it is not among them.
void add_once(std::vector<Warning>& warnings, const Warning& warning);

/// A path through the machine: its name and the environment that selects it.
struct Variant {
  std::string name;
  Environment environment;
  std::vector<std::string> arguments{};  ///< that a user's program is given with it
  std::string nccl{};                    ///< file of an NCCL of its own; empty: what is found
  std::string worker{};                  ///< a linkgain-bench of its own; empty: this build's
  bool is_control = false;               ///< of exec: it runs as the first one does
  std::vector<std::string> unset{};      ///< variables of the caller's that it takes away
  bool operator==(const Variant&) const = default;
};

/// One batch of back-to-back operations, seen by every rank.
struct Sample {
  int sequence = 0;  ///< place among all of the run's samples, in the order measured
  int variant = 0;   ///< place among the case's variants
  int launch = 0;
  int round = 0;
  /// Place of this variant within its round, 0 = first; of a program's run, among all runs.
  int position = 0;
  std::int64_t operations = 1;
  /// Per operation, on each rank; absent on ranks that take no part.
  std::vector<std::optional<Seconds>> times;
  std::vector<Health> health;  ///< per rank
  /// What a training's last step of the batch gave, over all ranks; absent of other operations.
  std::optional<double> loss{};
  /// Taken, as far as is known, while others worked on a GPU: since the last look that saw none.
  bool disturbed = false;
  /// Its launch's data were not checked: the job was lost, or the run was ended, before they were.
  bool unverified = false;
  /// For a number that a program printed: what a unit of its last digit is of it. 0 of all else.
  double resolution = 0.0;

  /// Returns the sample's value: the maximum over ranks.
  Seconds time() const;
};

/// Outcome of checking every element of a case's output on all ranks. A training's elements are
/// compared by hashes of all that a rank holds: there `checked` and `wrong` count ranks.
struct Verification {
  std::int64_t checked = 0;
  std::int64_t wrong = 0;
  double largest_error = 0.0;  ///< absolute
  double bound = 0.0;          ///< allowed absolute error; 0 where the arithmetic is exact
  std::string first_wrong;     ///< "rank 1, element 17: 3 instead of 5"; empty when none
};

/// Execution::form of an operation of which every message is a call of its own, all in one group.
inline constexpr std::string_view kGroupedForm = "grouped send/recv";

/// How a variant ran a case.
struct Execution {
  std::int64_t operations_per_sample = 1;
  /// Run before those of every sample and not timed: what has state comes back to its pace.
  std::int64_t discarded_per_sample = 0;
  int operations_per_graph = 0;  ///< 0: not launched as a graph
  std::int64_t buffer_slots = 1;
  bool cold_data = false;  ///< successive operations walk at least twice the last-level cache
  /// What calls an operation is made of where it is not the library's one; "grouped send/recv",
  /// with an NCCL that has no alltoall, gather and scatter.
  std::string form{};
  /// Whether our own work went through host memory instead of straight to other GPUs' memory;
  /// absent where the library chose.
  std::optional<bool> through_host{};
  /// A training's matrix products' algorithms, in the library's numbers, by the order in which the
  /// model plans them; all variants take those of the first job.
  std::vector<std::string> products{};
};

/// What came of a training, beside the time of a step.
struct TrainingResult {
  std::int64_t steps = 0;              ///< that were timed, in all launches
  Seconds sum{};                       ///< of their times
  std::optional<double> first_loss{};  ///< of the first launch's first sample
  std::optional<double> last_loss{};   ///< of its last one
  /// Among samples of the same launch and round the largest |difference to the first variant's
  /// loss| over that; absent for the first variant.
  std::optional<double> loss_difference{};
  /// exposed_communication() of a run that is over, in seconds; absent while it goes on.
  std::optional<Estimate> exposed{};
  std::optional<int> buckets{};  ///< in which gradients go; absent where none can be chosen
  bool operator==(const TrainingResult&) const = default;
};

/// Within one launch times changed level, by more than the case's precision allows.
struct LevelShift {
  int launch = 0;
  int round = 0;       ///< the first of the new level
  double ratio = 1.0;  ///< of the new level to the old one
  bool operator==(const LevelShift&) const = default;
};

/// Why a variant has no time of a case.
enum class SkipReason {
  refused,  ///< by linkgain-bench or by us: another job would not measure it either
  job_lost,
  out_of_time,
};

struct Skip {
  SkipReason reason = SkipReason::refused;
  std::string refusal{};  ///< why it was refused
  bool operator==(const Skip&) const = default;
};

/// What limits a path.
enum class LimitKind {
  unknown,
  nvlink_payload,
  nvlink_rate,   ///< where the payload's share of it is not known
  copy_at_once,  ///< between pinned host memory and GPUs, of all ranks
  copy_alone,    ///< of one rank
  copy,          ///< in records of before these two were told apart: at once
};

template <>
inline constexpr auto kNames<LimitKind> =
    names<LimitKind>("limit", {{LimitKind::unknown, ""},
                               {LimitKind::nvlink_payload, "NVLink payload"},
                               {LimitKind::nvlink_rate, "NVLink rate"},
                               {LimitKind::copy_at_once, "pinned host copy of all ranks at once"},
                               {LimitKind::copy_alone, "pinned host copy of a rank alone"},
                               {LimitKind::copy, "pinned host copy"}});

/// What one variant gave for one case.
struct VariantResult {
  std::string variant;
  std::optional<Skip> skipped;  ///< when it could not run; the rest is then unset
  std::optional<Seconds> time;  ///< geometric mean of the launches' medians
  std::optional<double> algbw;  ///< 1e9 B/s
  std::optional<double> busbw;
  std::optional<double> skew;  ///< median over samples of (slowest - fastest rank) / slowest
  std::optional<Verification> verification;
  Path path = Path::unknown;
  std::optional<TrafficEvidence> evidence;  ///< absent where nothing was counted
  /// busbw over the limit of the path taken, and what limits it; absent where either is not known.
  std::optional<double> fraction_of_limit;
  LimitKind limit = LimitKind::unknown;
  HealthSummary health;
  int disturbed_samples = 0;              ///< taken while others worked on a GPU
  std::optional<LevelShift> level_shift;  ///< the most significant one
  Execution execution;
  std::optional<TrainingResult> training;  ///< of gpt2_step only
};

bool has_wrong_data(const VariantResult& variant);

/// Returns "the job was lost", "the time budget was used up", or the refusal; empty where the
/// variant was not skipped.
std::string why_skipped(const VariantResult& variant);
/// Finds what why_skipped() gives these words for.
Skip parse_skip(const std::string& why);

/// Says how much a check of `definition` found wrong, in the words of every report and warning: "12
/// of 64 elements are wrong", of a training "1 of 2 ranks has wrong data".
std::string count_of_wrong(const Case& definition, const Verification& verification);

/// Says the same and the first of it: "12 of 64 elements are wrong, first: rank 1, element 17:
/// ...".
std::string describe_wrong(const Case& definition, const Verification& verification);

/// A variant's time compared with the first variant's.
struct RatioResult {
  std::string variant;
  Estimate ratio;
  bool is_refused = false;  ///< by judge_variants(): it means nothing, and no file shows it
};

/// Why the sampling of a case ended.
enum class StopReason {
  converged,
  out_of_rounds,  ///< in records of the time before launches were the replicates
  out_of_time,
  launches_differ,     ///< by so much that the interval is wider than asked for, or there is one
  nothing_to_compare,  ///< one variant ran
  skipped,             ///< none did
  job_lost,
  interrupted,
};

template <>
inline constexpr auto kNames<StopReason> =
    names<StopReason>("stop reason", {{StopReason::converged, "converged"},
                                      {StopReason::out_of_rounds, "out of rounds"},
                                      {StopReason::out_of_time, "out of time"},
                                      {StopReason::launches_differ, "launches differ"},
                                      {StopReason::nothing_to_compare, "nothing to compare"},
                                      {StopReason::skipped, "skipped"},
                                      {StopReason::job_lost, "job lost"},
                                      {StopReason::interrupted, "interrupted"}});

struct CaseResult {
  Case definition;
  std::vector<VariantResult> variants;
  std::vector<RatioResult> ratios;  ///< one for each variant after the first that ran
  bool converged = false;
  std::optional<StopReason> stopped{};  ///< absent before sampling began
  std::vector<Sample> samples{};        ///< in the order measured
};

/// Leaves out what is refused.
std::vector<RatioResult> shown_ratios(const CaseResult& result);

/// Finds what the variant of that name gave; null where the case has none.
const VariantResult* find_variant(const CaseResult& result, std::string_view name);

/// A launch's median over its samples, each the slowest rank's.
struct LaunchMedian {
  int launch = 0;
  Seconds time;
  double resolution = 0.0;  ///< the median of its samples'
  bool operator==(const LaunchMedian&) const = default;
};

/// A median of fewer samples is no median: one disturbed sample could be it. A training's sample is
/// itself the mean of a block of steps, and a program's is a whole run: one is enough of these.
inline constexpr int kFewestSamples = 3;

/// Returns, for one variant by its place, the launches with enough samples, in their order. They
/// are the replicates of a measurement, so samples go no further than this.
std::vector<LaunchMedian> launch_medians(const CaseResult& result, std::size_t variant);

/// Returns the mean of the logarithms of the launches' medians; there must be one.
double mean_log(std::span<const LaunchMedian> launches);

/// Returns the median of the launches' resolutions: a program that leaves out zeros at the end
/// prints some numbers in fewer digits than it has. 0 where there are none.
double resolution_of(std::span<const LaunchMedian> launches);

/// Returns what stands for several launches: its logarithm is mean_log(). That of one launch is its
/// median.
Seconds geometric_mean(std::span<const LaunchMedian> launches);

/// Losses of one variant by launch and round.
using Losses = std::map<std::pair<int, int>, double>;

Losses losses_of(const std::vector<const Sample*>& samples);

/// Returns, of samples that both have, the largest |other - first| over |first|: infinite where
/// only one is a number, absent where they have none in common.
std::optional<double> largest_difference(const Losses& first, const Losses& other);

/// What all trainings of a run have in common.
struct TrainingPlan {
  /// For which a table gives the time: this many times the median step. As many are run, in blocks.
  std::int64_t steps = 200;
  std::string tokens;           ///< a token file's path; empty: generated
  std::string tokens_digest{};  ///< of that file's tokens; empty in older records
  bool operator==(const TrainingPlan&) const = default;
};

/// What a run of `linkgain exec` is of; values of secret variables are masked.
struct ProgramPlan {
  std::vector<std::string> command;
  std::string server;                ///< started before and ended after each run; empty: none
  std::string prepare;               ///< a shell command before each run; empty: none
  std::string cleanup;               ///< the same after it
  std::vector<std::string> metrics;  ///< as they were asked for, "loss: last of 'loss=([0-9.]+)'"
  int warm_up = 0;                   ///< runs of every variant that do not count
  std::map<std::string, std::string> units{};  ///< of metrics, by name, where one was given
  bool operator==(const ProgramPlan&) const = default;
};

/// A race of variants beside the first one, `linkgain run --tune`: launches of each of its stages,
/// in this order.
struct RaceStages {
  int screening = 2;  ///< of all candidates
  int choosing = 2;   ///< of those that may still win; with the ones before they choose the winners
  int confirming = 6;  ///< of the winners, which these launches have no part in choosing

  int launches() const { return screening + choosing + confirming; }
  bool operator==(const RaceStages&) const = default;
};

/// Length of a timed batch, unless another one is asked for.
inline constexpr Seconds kDefaultSampleTarget{0.003};

struct Settings {
  std::vector<std::string> argv;
  BackendKind backend = BackendKind::nccl;
  std::string profile;
  Schedule schedule = Schedule::paired;
  std::vector<Variant> variants;
  std::vector<Environment>
      environment_in_force;  ///< per variant, by allow-list, as the worker saw it
  /// Files of NCCL's, as /etc/nccl.conf, by the variable in force that they set.
  Environment nccl_files{};
  /// Per variant, what its workers or programs had; empty in older records.
  std::vector<Software> software_in_force{};
  int launches = 1;
  std::optional<RaceStages> race{};  ///< of --tune
  /// Half width that every ratio's interval was to have; absent: default_precision() of the case.
  std::optional<double> precision;
  std::optional<Seconds> budget;
  Seconds sample_target = kDefaultSampleTarget;
  std::optional<TrainingPlan> training;  ///< where there is a gpt2_step
  std::optional<ProgramPlan> program{};  ///< of `linkgain exec`
  std::string label{};                   ///< by which the user finds the run again; empty: none
  std::string cases_digest{};            ///< of all planned cases; empty in older records
  bool require_healthy = false;  ///< a sample of a GPU that was throttled decides the exit code
};

/// What reading the counters of the links and the GPUs' health cost the run, in seconds of its wall
/// time.
struct EvidenceCost {
  double probes_s = 0.0;           ///< asking NCCL for algorithm and protocol
  double counters_s = 0.0;         ///< reading counters between batches
  std::optional<double> health_s;  ///< reading temperatures, power and clocks after batches
  bool operator==(const EvidenceCost&) const = default;
};

/// What a run's wall time went into, in seconds; the rest of it looked for neighbours, computed and
/// wrote.
struct TimeSpent {
  double starting_s = 0.0;  ///< jobs, until all that are to be up together are
  // Parts of starting, in the slowest of the jobs that start together.
  double ranks_s = 0.0;       ///< MPI's start
  double gpus_s = 0.0;        ///< taking the GPUs
  double connecting_s = 0.0;  ///< the communicator
  double opening_s = 0.0;     ///< cases
  // Parts of opening.
  double buffers_s = 0.0;           ///< allocating and filling
  double clocks_s = 0.0;            ///< working until the GPUs have left their idle clock
  double first_operations_s = 0.0;  ///< connections that are made when needed, and graphs
  double calibrating_s = 0.0;       ///< how many operations make a sample
  double sampling_s = 0.0;
  double verifying_s = 0.0;  ///< and closing cases
  double ending_s = 0.0;     ///< jobs
  bool operator==(const TimeSpent&) const = default;
};

/// How a run ended.
enum class RunStatus {
  complete,
  interrupted,
  job_lost,
  incomplete,  ///< something that was asked for is missing: nothing was measured of it, or not
               ///< checked
  unfinished,  ///< read from a journal: the run still goes on, or was ended before it could say how
};

template <>
inline constexpr auto kNames<RunStatus> = names<RunStatus>("status",
                                                           {{RunStatus::complete, "complete"},
                                                            {RunStatus::interrupted, "interrupted"},
                                                            {RunStatus::job_lost, "job lost"},
                                                            {RunStatus::incomplete, "incomplete"},
                                                            {RunStatus::unfinished, "unfinished"}});

/// One run of a user's program, as `linkgain exec` started it.
struct ProgramRun {
  std::string variant;
  int round = 1;  ///< of warm-up runs counted apart
  bool warm_up = false;
  std::string at{};                 ///< ProgramMetric::at
  std::optional<double> seconds{};  ///< wall time; absent where it failed
  std::string failure{};            ///< why it does not count; empty where it does
  RunEvidence evidence{};
  bool operator==(const ProgramRun&) const = default;
};

/// A row of the answer, for programs that read the JSON.
struct RecordedRow {
  std::string name;                 ///< of the case, or of what is predicted
  std::string variant{};            ///< beside the first one; empty where there is none
  std::optional<Estimate> ratio{};  ///< its time over the first one's; of headroom NCCL's or the
                                    ///< copy engine's over the kernel's; absent where there is none
  bool operator==(const RecordedRow&) const = default;
};

/// What an all-reduce of one size may be made by, from NCCL at its default down to what the link
/// allows.
enum class HeadroomStation {
  nccl,       ///< the first variant
  setting,    ///< the fastest later one that sets variables of NCCL alone and keeps the path
  symmetric,  ///< NCCL in symmetric memory
  kernel,     ///< linkgain's
  floor,      ///< a latency and the bytes at the rate of stores
};

template <>
inline constexpr auto kNames<HeadroomStation> =
    names<HeadroomStation>("station", {{HeadroomStation::nccl, "nccl"},
                                       {HeadroomStation::setting, "setting"},
                                       {HeadroomStation::symmetric, "symmetric"},
                                       {HeadroomStation::kernel, "kernel"},
                                       {HeadroomStation::floor, "floor"}});

struct HeadroomStep {
  HeadroomStation station = HeadroomStation::nccl;
  std::string variant{};  ///< of a setting, and of symmetric memory with one
  Seconds time;
  /// The time of the step before over its own, and that of the first: the product of the factors so
  /// far. The first step has neither.
  std::optional<Estimate> factor{};
  std::optional<Estimate> whole{};
  std::optional<int> blocks{};  ///< TransferPlan::blocks; absent where not known
  bool operator==(const HeadroomStep&) const = default;
};

/// An all-reduce of one size, from NCCL's time to the last one that was measured.
struct HeadroomRow {
  std::string name;  ///< of NCCL's case
  std::vector<HeadroomStep> steps;
  bool operator==(const HeadroomRow&) const = default;
};

/// What the run says first, as screen, report and page do; never read back.
struct RecordedAnswer {
  std::string sentence;
  std::vector<RecordedRow> spoken;
  std::vector<RecordedRow> rows;
  std::vector<RecordedRow> headroom;
  std::vector<HeadroomRow> headroom_steps;
  std::vector<RecordedRow> predicted;
  bool operator==(const RecordedAnswer&) const = default;
};

/// The document of one run.
struct Record {
  std::string started;                 ///< UTC, "2026-11-20T16:40:00Z"
  std::optional<double> wall_seconds;  ///< of a journal until its last line that tells it
  Machine machine;
  Settings settings;
  std::optional<EvidenceCost> evidence_cost;  ///< absent where no counters were read
  std::optional<TimeSpent> time_spent{};      ///< absent in older records, and of programs' runs
  std::optional<Neighbours> neighbours{};   ///< absent of a run without GPUs, and in older records
  std::optional<LinkErrors> link_errors{};  ///< absent where no counter of them could be read
  /// When each launch of a soak began, in seconds since the run did; empty of others, whose
  /// launches are up at once.
  std::vector<double> launch_begins_s{};
  std::vector<ProgramRun> runs{};  ///< of `linkgain exec`, in their order
  std::vector<CaseResult> cases;
  std::vector<Warning> warnings;
  RunStatus status = RunStatus::incomplete;
  int exit_code = 0;
  std::optional<RecordedAnswer> answer{};  ///< absent of records that were read
  /// The digest of the file that it was read from; empty of journals, older records and one not yet
  /// written.
  std::string digest{};
};

inline constexpr std::string_view kEndedByBudget = "budget used up";
inline constexpr std::string_view kEndedByFailure = "failed";

/// Says how the run ended, in JSON, too: kEndedByFailure where it is incomplete since runs of a
/// program failed, kEndedByBudget where it is complete with less than was asked for, else the name
/// of its status.
std::string_view ending_of(const Record& record);

int count_samples(const Record& record);
/// Launches that any case was sampled in.
int count_launches(const Record& record);

/// Derives everything that a case's table row shows but intervals from its samples: times,
/// bandwidths, ratios. `result` keeps its definition, execution, verification, path and samples;
/// the numbers are written anew, and a variant without samples has none. Where no launch has enough
/// samples the time is their median, without a ratio's interval to come.
void summarise(CaseResult& result);

/// Returns the half width, as a share of the ratio, that a case's interval is to have where none
/// was asked for: 1 % from 16 MiB on and for trainings, 2 % from 1 MiB on and for programs, 5 %
/// below. That is what six launches reach on a quiet machine: placement decides more of a small
/// operation's time.
double default_precision(const Case& definition);

/// Returns that of `settings`, or the default.
double precision_of(const Settings& settings, const Case& definition);

/// What a run must be given more of for a ratio to come as close as was asked for.
enum class Remedy {
  time,      ///< the budget ended sampling
  launches,  ///< they differ: each counts once, however much time it has
};

/// Returns the option that gives more of it: "--budget", "--launches".
std::string_view option_of(Remedy remedy);

/// Returns the remedy for a case that did not converge. Absent where it did, where it has no ratio,
/// and where the run broke off (a job lost, an interrupt).
std::optional<Remedy> remedy_for(const Record& record, const CaseResult& result);

/// Writes one JSON document, samples last and in columns. Not measured is null.
std::string to_json(const Record& record);

/// Writes the same without the samples, for `--json`.
std::string to_json_without_samples(const Record& record);

/// Throws UsageError, which begins with `origin` unless that is empty, where it is no record that
/// is known here, or was changed.
Record parse_record(std::string_view text, const std::string& origin);

/// The times of one variant's samples of a case in seconds, by launch, in the order measured.
using LaunchTimes = std::map<int, std::vector<double>>;

/// Returns the medians of the launches with `fewest` samples or more, in their order.
std::vector<std::pair<int, double>> medians_of(const LaunchTimes& times, std::size_t fewest);

/// Finds where times changed level within a launch by this share or more. Twice the half width of
/// an interval that is narrow enough matters.
std::optional<LevelChange> level_change_of(const LaunchTimes& times, double share);

}  // namespace linkgain
