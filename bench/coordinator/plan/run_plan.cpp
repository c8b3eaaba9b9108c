#include "linkgain/plan/run_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/gpt2/gpt2_config.hpp"
#include "linkgain/gpt2/training_strategy.hpp"
#include "linkgain/jobs/launcher.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/statistics/launch_shift.hpp"
#include "tuning_plan.hpp"

namespace linkgain {
namespace {

constexpr int kMostGpus = 8;

/// Says where the ranks go, other than to this host alone.
std::optional<Hosts> choose_hosts(const RunOptions& options, const Site& site) {
  if (!is_by_srun(options)) return site.hostfile;
  if (!site.allocation) {
    throw UsageError("--launcher srun needs a Slurm allocation around it: SLURM_JOB_ID is not set",
                     "as in: salloc --nodes=2 --exclusive linkgain run --launcher srun");
  }
  return site.allocation;
}

/// Chooses what starts the ranks: this host's are started without MPI, unless that is what is
/// measured, or a variant has a worker of another build, which may need it.
std::string choose_launcher(const RunOptions& options, const Site& site, const RunPlan& plan) {
  if (!options.launcher.empty()) return options.launcher;
  const bool others = std::ranges::any_of(
      plan.variants, [](const Variant& variant) { return !variant.worker.empty(); });
  const bool several_hosts = options.hostfile || (site.allocation && site.allocation->count > 1);
  return plan.backend == BackendKind::mpi || several_hosts || others ? "mpirun" : "local";
}

/// Returns whether a variant is measured by this build's own worker.
bool uses_own_worker(const RunPlan& plan) {
  return std::ranges::any_of(plan.variants, [](const Variant& v) { return v.worker.empty(); });
}

/// Requires NCCL of this build, and a driver for it, where its worker measures, and GPUs, unless
/// the ranks go `elsewhere`: to hosts with the GPUs that a login node lacks.
void require_nccl(const Site& site, const RunPlan& plan, bool elsewhere) {
  if (uses_own_worker(plan) && !site.has_nccl) {
    throw MachineError(
        fmt::format("this build has no nccl backend: {}", site.nccl_missing),
        "install the CUDA toolkit and NCCL and run scripts/quickstart again, or measure "
        "MPI in CPU memory with --backend mpi");
  }
  if (uses_own_worker(plan) && !elsewhere) require_driver_for(site.built_cuda, site.driver_cuda);
  if (site.gpus < 2 && !elsewhere) {
    throw without_two_gpus(site.no_gpus_reason, site.no_gpus_advice);
  }
}

/// Refuses a list of GPUs that no machine could have.
void require_gpu_list(const std::vector<int>& gpus, BackendKind backend) {
  if (gpus.empty()) return;
  if (backend == BackendKind::mpi) throw UsageError("--gpus goes with the nccl backend");
  std::set<int> distinct;
  for (const int gpu : gpus) {
    if (gpu < 0) throw UsageError(fmt::format("--gpus {}: there is no such GPU", gpu));
    if (!distinct.insert(gpu).second) {
      throw UsageError(fmt::format("--gpus names GPU {} twice", gpu));
    }
  }
  if (gpus.size() == 1) {
    throw UsageError("--gpus names one GPU, a link needs two", "name two or more, such as 0,1");
  }
}

/// Returns as many ranks as several hosts have slots, else as many on each as there are GPUs here.
int usual_ranks(const Hosts& hosts, int gpus_here) {
  return hosts.slots.value_or(std::max(2, hosts.count * std::clamp(gpus_here, 1, kMostGpus)));
}

int choose_mpi_ranks(const RunOptions& options, const std::optional<Hosts>& hosts) {
  const int ranks = options.ranks.value_or(hosts ? usual_ranks(*hosts, 1) : 2);
  if (ranks >= 2 && ranks <= kMostRanks) return ranks;
  throw UsageError(fmt::format("--np {} is outside 2 to {}", ranks, kMostRanks));
}

int choose_nccl_ranks(const RunOptions& options, const Site& site,
                      const std::optional<Hosts>& hosts) {
  const bool elsewhere = hosts.has_value();
  for (const int gpu : options.gpus) {
    if (gpu < site.gpus || elsewhere) continue;
    throw UsageError(fmt::format("--gpus {}: there is no such GPU", gpu),
                     fmt::format("this machine shows GPUs 0 to {}", site.gpus - 1));
  }
  const int listed = static_cast<int>(options.gpus.size());
  const int gpus = listed > 0 ? listed : std::min(site.gpus, kMostGpus);
  const int most = elsewhere ? kMostRanks : gpus;
  const int ranks = options.ranks.value_or(elsewhere ? usual_ranks(*hosts, gpus) : most);
  if (ranks >= 2 && ranks <= most) return ranks;
  std::string advice;
  if (!elsewhere) {
    advice = listed > 0
                 ? "it cannot exceed the GPUs in --gpus"
                 : fmt::format("this machine shows {} GPUs, one rank goes on each", site.gpus);
  }
  throw UsageError(fmt::format("--np {} is outside 2 to {}", ranks, most), advice);
}

bool measures(const Selection& selection, OperationKind operation) {
  return std::ranges::find(selection.operations, operation) != selection.operations.end();
}

bool trains(const Selection& selection) { return measures(selection, OperationKind::gpt2_step); }

/// Returns whether the profile's copies and latencies are but a taste of them.
bool has_reduced_sets(Profile profile) {
  return profile == Profile::quick || profile == Profile::standard;
}

/// Returns the profile's selections of the operations asked for; of one that the profile leaves
/// out, or has a taste of, its usual cases. Trainings only where no sizes were asked for, or they
/// themselves were; a taste of a decoder only where all that was asked for can stand in one.
std::vector<Selection> choose_operations(const RunOptions& options, BackendKind backend) {
  std::vector<Selection> profile = plan_of(options.profile, backend).selections;
  if (options.operations.empty()) {
    // Who asks for sizes means what has some of its own.
    const bool has_taste = has_reduced_sets(options.profile);
    if (!options.sizes.empty()) std::erase_if(profile, trains);
    const bool fits_decoder = options.sizes.empty() && options.types.empty() &&
                              options.reductions.empty() && !options.in_place;
    if (has_taste && !fits_decoder) std::erase_if(profile, is_in_decoder);
    return profile;
  }
  std::vector<Selection> chosen;
  for (OperationKind operation : options.operations) {
    const auto of_operation = [&](const Selection& s) {
      return measures(s, operation) && !(s.where_possible && has_reduced_sets(options.profile));
    };
    if (std::ranges::none_of(profile, of_operation)) {
      chosen.push_back(usual_selection(operation, backend));
    }
    std::ranges::copy_if(profile, std::back_inserter(chosen), of_operation);
  }
  if (!options.sizes.empty() && std::ranges::all_of(chosen, trains)) {
    throw UsageError("--sizes goes with operations that have one, not with gpt2_step alone",
                     "leave it out; a training is made larger by --batch and --sequence");
  }
  for (Selection& selection : chosen) selection.where_possible = false;
  return chosen;
}

std::vector<OperationKind> tuned_operations(const RunOptions& options) {
  return options.operations.empty() ? std::vector{OperationKind::all_reduce} : options.operations;
}

/// Returns the same with every parameter that was asked for put in its place.
std::vector<Selection> choose_selections(const RunOptions& options, BackendKind backend) {
  std::vector<Selection> selections = options.tune
                                          ? tuning_selections(tuned_operations(options), backend)
                                          : choose_operations(options, backend);
  for (Selection& selection : selections) selection = with_options(selection, options);
  return selections;
}

std::vector<Variant> choose_variants(const RunOptions& options, const RunPlan& plan) {
  const VariantContext context{plan.backend, plan.hosts > 1};
  if (options.tune) return tuning_variants(tuned_operations(options), current_environment());
  if (options.variants.empty()) return default_variants(context);
  std::vector<Variant> variants;
  for (const std::string& text : options.variants) {
    variants.push_back(with_files(parse_variant(text, context), context));
  }
  require_distinct(variants);
  return variants;
}

void require_range(double value, double low, double high, std::string_view option) {
  if (value >= low && value <= high) return;
  throw UsageError(fmt::format("{} {} is outside {} to {}", option, value, low, high));
}

void require_tokens(const RunOptions& options, const TrainingParameters& training) {
  const TokenFacts& facts = options.token_facts;
  require_sequence(*options.tokens, facts.count, training.length);
  require_known(*options.tokens, facts.largest, facts.largest_at,
                gpt2_config(training.model).vocabulary);
}

[[noreturn]] void refuse_without_training(const RunOptions& options) {
  std::vector<std::string_view> given;
  if (options.steps) given.emplace_back("--steps");
  if (options.tokens) given.emplace_back("--tokens");
  throw UsageError(
      fmt::format("{} gpt2_step", go_with(given)),
      fmt::format("add --only gpt2_step, or leave {} out", given.size() > 1 ? "them" : "it"));
}

/// Returns what trainings run, where there are some.
std::optional<TrainingPlan> choose_training(const RunOptions& options, const RunPlan& plan) {
  const bool any =
      std::ranges::any_of(plan.cases, [](const Case& c) { return c.training.has_value(); });
  if (!any) {
    if (!options.steps && !options.tokens) return std::nullopt;
    refuse_without_training(options);
  }
  TrainingPlan training;
  training.steps = options.steps.value_or(training.steps);
  require_range(static_cast<double>(training.steps), kStepsPerBlock, 1e6, "--steps");
  if (training.steps % kStepsPerBlock != 0) {
    throw UsageError(fmt::format("--steps {} is no multiple of {}", training.steps, kStepsPerBlock),
                     fmt::format("steps are timed in blocks of ten: take {} or {}",
                                 training.steps / kStepsPerBlock * kStepsPerBlock,
                                 (training.steps / kStepsPerBlock + 1) * kStepsPerBlock));
  }
  const std::int64_t fewest = std::min(plan.launches, kFewestLaunches) * kStepsPerBlock;
  if (training.steps < fewest) {
    throw UsageError(
        fmt::format("--steps {} are too few for {} launches of ten or more each", training.steps,
                    fewest / kStepsPerBlock),
        fmt::format("take {} or more, or --launches {}", fewest, training.steps / kStepsPerBlock));
  }
  if (!options.tokens) return training;
  for (const Case& c : plan.cases) {
    if (c.training) require_tokens(options, *c.training);
  }
  training.tokens = std::filesystem::absolute(*options.tokens).string();
  training.tokens_digest = options.token_facts.digest;
  return training;
}

/// Throws UsageError for an option that does not go with --tune.
void require_tunable(const RunOptions& options) {
  const std::array<std::pair<bool, std::string_view>, 5> kRefused{
      {{!options.variants.empty(), "--variant"},
       {options.profile != Profile::standard, "a profile"},
       {options.kernels, "--kernels"},
       {options.budget.has_value(), "--budget"},
       {options.ci_width.has_value(), "--ci-width"}}};
  for (const auto& [is_given, option] : kRefused) {
    if (!is_given) continue;
    throw UsageError(fmt::format("--tune does not go with {}", option),
                     "it has variants, sizes and launches of its own, which --dry-run shows; "
                     "--only, --sizes and --launches change them");
  }
  if (options.launches && *options.launches < kFewestOfASide) {
    throw UsageError(fmt::format("--launches {}: --tune confirms by {} launches or more",
                                 *options.launches, kFewestOfASide));
  }
}

/// Returns the fewest and the most ranks that any machine could give; none if its hosts decide.
std::optional<std::pair<int, int>> possible_ranks(const RunOptions& options, BackendKind backend,
                                                  bool elsewhere) {
  const int listed = static_cast<int>(options.gpus.size());
  if (options.ranks) {
    const bool any = elsewhere || backend == BackendKind::mpi;
    const int most = any ? kMostRanks : listed > 0 ? listed : kMostGpus;
    require_range(*options.ranks, 2, most, "--np");
    return std::pair(*options.ranks, *options.ranks);
  }
  if (elsewhere) return std::nullopt;
  if (backend == BackendKind::mpi) return std::pair(2, 2);
  return listed > 0 ? std::pair(listed, listed) : std::pair(2, kMostGpus);
}

/// Returns the cases with the fewest ranks that can have them.
std::vector<Case> possible_cases(const std::vector<Selection>& selections,
                                 const std::pair<int, int>& ranks, BackendKind backend) {
  for (int count = ranks.first; count < ranks.second; ++count) {
    try {
      return expand(selections, count, backend);
    } catch (const UsageError&) {
      continue;
    }
  }
  return expand(selections, ranks.second, backend);
}

void choose_schedule(const RunOptions& options, const Site& site, RunPlan& plan) {
  const bool exclusive = plan.backend == BackendKind::nccl && site.exclusive_compute_mode;
  plan.schedule = options.schedule.value_or(exclusive ? Schedule::sequential : Schedule::paired);
  if (exclusive && plan.schedule == Schedule::paired) {
    throw UsageError("--schedule paired needs GPUs that two processes may share",
                     "leave it out, or ask for the default compute mode");
  }
  if (exclusive && !options.schedule) {
    plan.warnings.push_back(
        {name_of(WarningCode::sequential),
         "the variants run one after the other: the GPUs are in exclusive compute mode",
         "drift between them is not cancelled; the default compute mode lets them run in turn"});
  }
}

/// Throws UsageError where a GPU of the plan has no arithmetic in the training's precision.
void require_arithmetic(const TrainingParameters& training, const Site& site, const RunPlan& plan) {
  if (training.precision != TrainingPrecision::bf16) return;
  for (std::size_t i = 0; i < site.architectures.size(); ++i) {
    const int architecture = site.architectures[i].value_or(kFirstWithBfloat16);
    if (architecture >= kFirstWithBfloat16 || !uses_gpu(plan, static_cast<int>(i))) continue;
    throw UsageError(
        fmt::format("{} (sm_{}) has no arithmetic in bfloat16, which begins with sm_{}",
                    i == 0 ? site.gpu_name : fmt::format("GPU {}", i), architecture,
                    kFirstWithBfloat16),
        "train in fp32");
  }
}

/// Leaves trainings of which `require` throws UsageError out of the plan, with a warning; throws it
/// on for those that `is_named` says were asked for.
template <typename Require, typename IsNamed>
void leave_out_trainings(RunPlan& plan, Require require, IsNamed is_named) {
  using Reason = std::pair<std::string, std::string>;  // text and advice
  std::map<Reason, std::vector<std::string>> left_out;
  std::erase_if(plan.cases, [&](const Case& c) {
    if (!c.training) return false;
    try {
      require(*c.training, c.ranks);
    } catch (const UsageError& error) {
      if (is_named(*c.training)) throw;
      left_out[{error.what(), error.advice()}].push_back(spoken_case(c));
      return true;
    }
    return false;
  });
  for (const auto& [reason, names] : left_out) {
    plan.warnings.push_back(
        {name_of(WarningCode::left_out),
         fmt::format("left out, because {}: {}", reason.first, fmt::join(names, ", ")),
         reason.second});
  }
}

/// Fits trainings to the ranks and the GPUs: those of `plan` whose strategy cannot share the
/// parameters out evenly among its ranks, or whose precision its GPUs lack, are left out with a
/// warning if only a profile brought the strategy, or the precision; what was named is refused with
/// UsageError. Both say what would do.
void fit_trainings(const RunOptions& options, const Site& site, RunPlan& plan) {
  const auto is_among = [](const auto& all, const auto& one) {
    return std::ranges::find(all, one) != all.end();
  };
  leave_out_trainings(
      plan,
      [](const TrainingParameters& training, int ranks) { require_equal_shards(training, ranks); },
      [&](const TrainingParameters& training) {
        return is_among(options.training.strategies, training.strategy);
      });
  leave_out_trainings(
      plan,
      [&](const TrainingParameters& training, int) { require_arithmetic(training, site, plan); },
      [&](const TrainingParameters& training) {
        return is_among(options.training.precisions, training.precision);
      });
}

/// Plans a soak with so few launches that its samples fit into memory and files, whatever its
/// budget, and so long batches that its links carry something for about half of the time.
void plan_soak(const RunOptions& options, RunPlan& plan) {
  constexpr double kSecondsPerLaunch = 60.0;
  constexpr double kFewest = 8.0;
  constexpr double kMost = 240.0;
  constexpr double kBusy = 0.5;
  constexpr double kLongestSample = 2.0;
  const double budget = plan.budget->value;
  plan.is_soak = true;
  if (!options.launches) {
    plan.launches = static_cast<int>(std::clamp(budget / kSecondsPerLaunch, kFewest, kMost));
  }
  const auto samples = static_cast<double>(plan.cases.size() * plan.variants.size()) *
                       kRoundsPerLaunch * plan.launches;
  plan.sample_target = Seconds{std::clamp(kBusy * budget / std::max(1.0, samples),
                                          kDefaultSampleTarget.value, kLongestSample)};
}

}  // namespace

bool uses_gpu(const RunPlan& plan, int gpu) {
  if (plan.gpus.empty()) return gpu < plan.ranks;
  return std::ranges::find(plan.gpus, gpu) != plan.gpus.end();
}

int rounds_in_launch(const RunPlan& plan, const Case& c, int launch, int launches) {
  if (!c.training) return kRoundsPerLaunch;
  std::int64_t blocks = plan.training->steps / kStepsPerBlock;
  std::int64_t over = plan.launches;
  if (launch > 0) {
    blocks -= divide_up(blocks, over);
    over = std::min<std::int64_t>(launches, plan.launches) - 1;
    --launch;
  }
  const std::int64_t own = launch < over ? blocks / over + (launch < blocks % over ? 1 : 0) : 0;
  return static_cast<int>(uses_link(c) ? own : std::min<std::int64_t>(own, 1));
}

Seconds guessed_start_time(BackendKind backend, int jobs) {
  return {backend == BackendKind::nccl ? 0.8 + 0.5 * jobs : 0.3 + 0.2 * jobs};
}

int launches_at_once(const RunPlan& plan) {
  if (plan.is_soak) return 1;
  return plan.schedule == Schedule::sequential ? 1 : plan.launches_at_once.value_or(plan.launches);
}

bool is_by_srun(const RunOptions& options) {
  return !options.launcher.empty() && parse_launcher(options.launcher) == LauncherKind::srun;
}

void require_usable(const RunOptions& options) {
  const bool by_srun = is_by_srun(options);
  const bool locally = options.launcher == "local";
  if (!by_srun && current_environment().contains("OMPI_COMM_WORLD_SIZE")) {
    throw UsageError("linkgain run starts its ranks itself, and mpirun starts none below mpirun",
                     "start it without mpirun, and say with --np how many ranks there are");
  }
  if (locally && options.hostfile) {
    throw UsageError("--hostfile goes with mpirun, --launcher local starts ranks on this host",
                     "omit --launcher local");
  }
  if (by_srun && options.hostfile) {
    throw UsageError("--hostfile goes with mpirun, srun puts ranks where its allocation is",
                     "choose hosts with salloc --nodelist, or omit --launcher srun");
  }
  const bool elsewhere = by_srun || options.hostfile;
  RunPlan plan;
  plan.backend = options.backend.value_or(BackendKind::nccl);
  plan.hosts = elsewhere ? 2 : 1;
  if (locally && plan.backend == BackendKind::mpi) {
    throw UsageError("--launcher local goes with the nccl backend: MPI has launchers of its own",
                     "omit --launcher local");
  }
  if (options.require_healthy && plan.backend == BackendKind::mpi) {
    throw UsageError("--require-healthy goes with the nccl backend: MPI in CPU memory uses no GPU",
                     "omit --require-healthy");
  }
  if (options.tune) require_tunable(options);
  plan.launches = options.launches.value_or(plan_of(options.profile, plan.backend).launches);
  require_range(plan.launches, 1, 1000, "--launches");
  require_gpu_list(options.gpus, plan.backend);
  choose_variants(options, plan);
  const std::vector<Selection> selections = choose_selections(options, plan.backend);
  const auto ranks = possible_ranks(options, plan.backend, elsewhere);
  if (!ranks) return;
  plan.cases = possible_cases(selections, *ranks, plan.backend);
  choose_training(options, plan);
}

RunPlan make_plan(const RunOptions& options, const Site& site) {
  require_usable(options);
  RunPlan plan;
  const std::optional<Hosts> hosts = choose_hosts(options, site);
  if (hosts) plan.hosts = hosts->count;
  plan.backend = options.backend.value_or(BackendKind::nccl);
  plan.variants = choose_variants(options, plan);
  plan.launcher = choose_launcher(options, site, plan);
  if (plan.backend == BackendKind::nccl) require_nccl(site, plan, hosts.has_value());
  plan.ranks = plan.backend == BackendKind::mpi ? choose_mpi_ranks(options, hosts)
                                                : choose_nccl_ranks(options, site, hosts);
  if (plan.backend == BackendKind::mpi && !hosts && plan.ranks > site.processors) {
    plan.warnings.push_back(
        warning_of(WarningCode::oversubscribed,
                   fmt::format("{} ranks share {} processors: times include waiting for one",
                               plan.ranks, site.processors)));
  }
  plan.gpus = options.gpus;
  plan.profile = name_of(options.profile);
  if (options.profile_file) plan.profile += " and " + options.profile_file->string();
  const ProfilePlan profile = plan_of(options.profile, plan.backend);
  plan.launches = options.launches.value_or(profile.launches);
  plan.budget = options.budget ? options.budget : profile.budget;
  plan.ci_width = options.ci_width;
  if (options.tune) {
    plan.race.emplace();
    plan.race->confirming = plan.launches;
    plan.launches = plan.race->screening;
  }
  plan.adds_launches = profile.adds_launches || plan.budget || plan.ci_width;
  plan.timeout = options.timeout;
  plan.cases = expand(choose_selections(options, plan.backend), plan.ranks, plan.backend);
  fit_trainings(options, site, plan);
  if (options.profile == Profile::soak) plan_soak(options, plan);
  plan.training = choose_training(options, plan);
  choose_schedule(options, site, plan);
  fit_memory(options, site, plan);
  return plan;
}

}  // namespace linkgain
