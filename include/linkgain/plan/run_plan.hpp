#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/cases/case.hpp"
#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/cases/profiles.hpp"
#include "linkgain/cases/selection.hpp"
#include "linkgain/gpt2/token_file.hpp"
#include "linkgain/jobs/job.hpp"
#include "linkgain/plan/site.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// `linkgain run` as it was asked for; absent means not asked for.
struct RunOptions : SelectionOptions {
  std::vector<std::string> argv;
  Profile profile = Profile::standard;
  std::optional<std::filesystem::path> profile_file;  ///< whose options were added to these
  std::optional<int> ranks;
  std::vector<std::string> variants;
  bool tune = false;  ///< race settings of NCCL
  std::optional<Seconds> budget;
  std::optional<int> launches;
  std::optional<Schedule> schedule;
  std::optional<double> ci_width;  ///< of every case, instead of what its size has
  bool require_healthy = false;    ///< exit status 8 where a sample is one of an unhealthy GPU
  Seconds timeout = protocol::kDefaultTimeout;
  TokenFacts token_facts;  ///< of the file `tokens`
  std::string launcher;    ///< its name or path; empty: what the plan chooses
  std::optional<std::filesystem::path> hostfile;
  std::optional<std::filesystem::path> out;
  std::optional<std::filesystem::path> resume;  ///< a folder; all else but what is printed is its
  bool dry_run = false;                         ///< print the plan
  bool list = false;                            ///< print what options can be
  std::string label;
  bool json = false;
  bool quiet = false;
  bool color = true;
};

/// A run with nothing left to decide.
struct RunPlan {
  BackendKind backend = BackendKind::nccl;
  std::string launcher;  ///< its name or path
  std::vector<Variant> variants;
  std::vector<Case> cases;
  int ranks = 2;
  int hosts = 1;  ///< that the ranks are put on
  std::vector<int> gpus;
  int launches = 1;                ///< of a race those that screen
  std::optional<RaceStages> race;  ///< of variants beside the first one
  bool adds_launches = true;  ///< up to as many again, where they make an interval narrow enough
  /// Launches whose jobs, one of every variant each, are up at once; absent: all.
  std::optional<int> launches_at_once;
  Schedule schedule = Schedule::paired;  ///< sequential: one job at a time
  /// Bytes that jobs may use of each GPU, or of each host; absent: not known.
  std::optional<std::int64_t> memory;
  /// Launches come one after the other, evenly over the budget, until that is used up.
  bool is_soak = false;
  unsigned seed = 1;  ///< of every random order
  std::optional<double> ci_width;
  std::optional<Seconds> budget;
  Seconds sample_target = kDefaultSampleTarget;
  Seconds timeout = protocol::kDefaultTimeout;
  std::optional<TrainingPlan> training;  ///< where some case is one
  std::string profile;
  std::vector<Warning> warnings;  ///< decisions the reader must know
};

/// Returns whether srun is to start the ranks.
bool is_by_srun(const RunOptions& options);

/// Returns whether a rank of the plan is on this GPU of those that are visible: one of `gpus`, or
/// of the first ones where none are named.
bool uses_gpu(const RunPlan& plan, int gpu);

/// Samples of every variant that a case has in a launch, in two pairs of mirrored rounds.
inline constexpr int kRoundsPerLaunch = 4;

/// A budget that is too short lowers the launches no further than this, and a training's steps are
/// split over no fewer: fewer launches give no interval worth the name.
inline constexpr int kFewestLaunches = 3;

/// Counts the rounds of a case in a launch of `launches`, to which the plan's may have been lowered
/// after the first one. A training's are blocks of its steps: all of the plan's, distributed evenly
/// over the launches, the first ones having one more, so that it may have none in the last; without
/// communication, which only stands beside them, one at most.
int rounds_in_launch(const RunPlan& plan, const Case& c, int launch, int launches);

/// Guesses what so many jobs take to start together, on usual machines.
Seconds guessed_start_time(BackendKind backend, int jobs);

/// Counts the launches whose jobs may be up at once.
int launches_at_once(const RunPlan& plan);

/// Bytes that a job takes at most: of the GPU that holds most of it, or of a host.
struct JobMemory {
  std::int64_t measuring;  ///< with the largest case open, as one job of every variant at once
  std::int64_t waiting;    ///< without a case
};

JobMemory job_memory(const RunPlan& plan);

/// Makes `plan`, with everything else decided, fit into the memory of the GPUs or of the host. A
/// case that one job cannot hold, or that the variants' jobs cannot hold at once where
/// `--schedule paired` asks for that, is left out with a warning if only a profile brought it, else
/// refused: sizes by `--sizes`, trainings by `--only` or any option of theirs. Where no case is
/// left all are refused. Where the jobs do not fit together, they run one after the other, with a
/// warning that names the largest case; where only the launches' do not, the launches run in
/// groups. Throws UsageError for what it refuses.
void fit_memory(const RunOptions& options, const Site& site, RunPlan& plan);

/// Throws UsageError for options that no machine could carry out. Looks at nothing but its argument
/// and the files that variants name, so that it can come before the machine is looked at.
void require_usable(const RunOptions& options);

/// Decides everything, or throws: UsageError for what cannot be meant, MachineError for what this
/// machine cannot do. Looks at nothing but its arguments, and the files that variants name.
RunPlan make_plan(const RunOptions& options, const Site& site);

/// Returns indices of `cases` in the order in which they are to be measured: their own, or, where
/// time is `limited`, so that most is known at whatever moment it ends. Then the largest size of
/// each operation comes first, then that of its other curves, then the smallest size of every
/// curve, and those between from the largest down. Launch modes are no curves of their own: small
/// sizes are launched otherwise than large ones.
std::vector<int> order_within(const std::vector<Case>& cases, bool limited);

}  // namespace linkgain
