#include "linkgain/run/run_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/gpt2/gpt2_config.hpp"
#include "linkgain/gpt2/token_file.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/run/launcher.hpp"
#include "memory_fit.hpp"
#include "training_fit.hpp"

namespace linkgain {
namespace {

constexpr int kMostGpus = 8;

/// Where the ranks go, other than to this host alone.
std::optional<Hosts> choose_hosts(const RunOptions& options, const Site& site) {
  if (parse_launcher(options.launcher) == LauncherKind::mpirun) return site.hostfile;
  if (options.hostfile) {
    throw UsageError("--hostfile goes with mpirun, srun puts ranks where its allocation is",
                     "choose hosts with salloc --nodelist, or leave --launcher srun away");
  }
  if (!site.allocation) {
    throw UsageError("--launcher srun needs a Slurm allocation around it: SLURM_JOB_ID is not set",
                     "as in: salloc --nodes=2 --exclusive linkgain run --launcher srun");
  }
  return site.allocation;
}

/// `elsewhere`: the ranks go to other hosts, so that this one needs no GPU.
void require_nccl(const Site& site, bool elsewhere) {
  if (!site.has_nccl) {
    throw MachineError(fmt::format("this build has no nccl backend: {}", site.nccl_missing),
                       "install the CUDA toolkit and NCCL and run scripts/quickstart again, or use "
                       "--backend mpi");
  }
  if (site.gpus < 2 && !elsewhere) {
    throw MachineError(fmt::format("the nccl backend needs two GPUs: {}", site.no_gpus_reason),
                       "check `nvidia-smi -L` and CUDA_VISIBLE_DEVICES, or use --backend mpi");
  }
}

BackendKind choose_backend(const RunOptions& options, const Site& site, bool elsewhere,
                           RunPlan& plan) {
  if (options.backend == BackendKind::nccl) require_nccl(site, elsewhere);
  if (options.backend) return *options.backend;
  // Nodes have the GPUs that a login node lacks.
  if (site.has_nccl && (elsewhere || site.gpus >= 2)) return BackendKind::nccl;
  if (!options.gpus.empty()) require_nccl(site, elsewhere);
  const std::string reason =
      site.has_nccl ? site.no_gpus_reason : "this build has no nccl backend: " + site.nccl_missing;
  plan.warnings.push_back(
      {"mpi-backend",
       fmt::format("measured MPI in CPU memory (shared memory against TCP), not GPUs: {}", reason),
       "run on a machine with two GPUs, CUDA and NCCL to measure their link"});
  return BackendKind::mpi;
}

void require_gpu_list(const RunOptions& options, const Site& site, bool elsewhere) {
  std::set<int> distinct;
  for (int gpu : options.gpus) {
    if (gpu < 0 || (gpu >= site.gpus && !elsewhere)) {
      throw UsageError(fmt::format("--gpus {}: there is no such GPU", gpu),
                       fmt::format("this machine shows GPUs 0 to {}", site.gpus - 1));
    }
    if (!distinct.insert(gpu).second) {
      throw UsageError(fmt::format("--gpus names GPU {} twice", gpu));
    }
  }
}

/// On several hosts: as many as they have slots, else as many on each as there are GPUs here.
int usual_ranks(const Hosts& hosts, int gpus_here) {
  return hosts.slots.value_or(std::max(2, hosts.count * std::clamp(gpus_here, 1, kMostGpus)));
}

int choose_mpi_ranks(const RunOptions& options, const std::optional<Hosts>& hosts) {
  if (!options.gpus.empty()) throw UsageError("--gpus goes with the nccl backend");
  const int ranks = options.ranks.value_or(hosts ? usual_ranks(*hosts, 1) : 2);
  if (ranks >= 2 && ranks <= kMostRanks) return ranks;
  throw UsageError(fmt::format("--np {} is outside 2 to {}", ranks, kMostRanks));
}

int choose_nccl_ranks(const RunOptions& options, const Site& site,
                      const std::optional<Hosts>& hosts) {
  const bool elsewhere = hosts.has_value();
  require_gpu_list(options, site, elsewhere);
  const int listed = static_cast<int>(options.gpus.size());
  if (listed == 1) {
    throw UsageError("--gpus names one GPU, a link needs two", "name two or more, such as 0,1");
  }
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
  return std::find(selection.operations.begin(), selection.operations.end(), operation) !=
         selection.operations.end();
}

bool trains(const Selection& selection) { return measures(selection, OperationKind::gpt2_step); }

/// Whether the profile's copies and latencies are but a taste of them.
bool has_tasters(Profile profile) {
  return profile == Profile::quick || profile == Profile::standard;
}

/// The profile's selections of the operations asked for; of one that the profile leaves out, or has
/// a taste of, its usual cases. Trainings only where no sizes were asked for, or they themselves
/// were.
std::vector<Selection> choose_operations(const RunOptions& options, BackendKind backend) {
  std::vector<Selection> profile = plan_of(options.profile, backend).selections;
  if (options.operations.empty()) {
    // Who asks for sizes means what has some.
    if (!options.sizes.empty()) std::erase_if(profile, trains);
    return profile;
  }
  std::vector<Selection> chosen;
  for (OperationKind operation : options.operations) {
    const auto of_operation = [&](const Selection& s) {
      return measures(s, operation) && !(s.where_possible && has_tasters(options.profile));
    };
    if (std::none_of(profile.begin(), profile.end(), of_operation)) {
      chosen.push_back(usual_selection(operation, backend));
    }
    std::copy_if(profile.begin(), profile.end(), std::back_inserter(chosen), of_operation);
  }
  if (!options.sizes.empty() && std::all_of(chosen.begin(), chosen.end(), trains)) {
    throw UsageError("--sizes goes with operations that have one, not with gpt2_step alone",
                     "leave it out; a training is made larger by --batch and --sequence");
  }
  for (Selection& selection : chosen) selection.where_possible = false;
  return chosen;
}

/// The same with every parameter that was asked for put in its place.
std::vector<Selection> choose_selections(const RunOptions& options, BackendKind backend) {
  std::vector<Selection> selections = choose_operations(options, backend);
  for (Selection& selection : selections) selection = with_options(selection, options);
  return selections;
}

std::vector<Variant> choose_variants(const RunOptions& options, const Site& site,
                                     const RunPlan& plan) {
  const VariantContext context{plan.backend, site.nccl_version, plan.hosts > 1};
  if (options.variants.empty()) return default_variants(context);
  std::vector<Variant> variants;
  for (const std::string& text : options.variants) {
    variants.push_back(parse_variant(text, context));
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

/// What trainings run, where there are some.
std::optional<TrainingPlan> choose_training(const RunOptions& options, const RunPlan& plan) {
  const bool any = std::any_of(plan.cases.begin(), plan.cases.end(),
                               [](const Case& c) { return c.training.has_value(); });
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
  if (!options.tokens) return training;
  for (const Case& c : plan.cases) {
    if (c.training) require_tokens(options, *c.training);
  }
  training.tokens = std::filesystem::absolute(*options.tokens).string();
  return training;
}

void choose_schedule(const RunOptions& options, const Site& site, RunPlan& plan) {
  const bool exclusive = plan.backend == BackendKind::nccl && site.exclusive_compute_mode;
  plan.sequential = options.sequential.value_or(exclusive);
  if (exclusive && !plan.sequential) {
    throw UsageError("--schedule paired needs GPUs that two processes may share",
                     "leave it out, or ask for the default compute mode");
  }
  if (plan.sequential && !options.sequential) {
    plan.warnings.push_back(
        {"sequential",
         "the variants ran one after the other: the GPUs are in exclusive compute mode",
         "drift between them is not cancelled; the default compute mode lets them run in turn"});
  }
}

}  // namespace

RunPlan make_plan(const RunOptions& options, const Site& site) {
  RunPlan plan;
  const std::optional<Hosts> hosts = choose_hosts(options, site);
  if (hosts) plan.hosts = hosts->count;
  plan.backend = choose_backend(options, site, hosts.has_value(), plan);
  if (options.require_healthy && plan.backend == BackendKind::mpi) {
    throw UsageError("--require-healthy goes with the nccl backend: MPI in CPU memory uses no GPU",
                     "leave --require-healthy away");
  }
  plan.variants = choose_variants(options, site, plan);
  plan.ranks = plan.backend == BackendKind::mpi ? choose_mpi_ranks(options, hosts)
                                                : choose_nccl_ranks(options, site, hosts);
  if (plan.backend == BackendKind::mpi && !hosts && plan.ranks > site.processors) {
    plan.warnings.push_back(
        {"oversubscribed",
         fmt::format("{} ranks share {} processors: times include waiting for one", plan.ranks,
                     site.processors),
         "start fewer ranks with --np"});
  }
  plan.gpus = options.gpus;
  plan.profile = name_of(options.profile);
  const ProfilePlan profile = plan_of(options.profile, plan.backend);
  plan.launches = options.launches.value_or(profile.launches);
  plan.budget = options.budget ? options.budget : profile.budget;
  plan.precision = options.precision;
  plan.deadline = options.deadline;
  require_range(plan.launches, 1, 1000, "--launches");
  require_range(plan.precision, 1e-4, 0.5, "--precision");
  require_range(plan.deadline.value, 1, 86400, "--deadline");
  if (plan.budget) require_range(plan.budget->value, 1, 604800, "--budget");
  plan.cases = expand(choose_selections(options, plan.backend), plan.ranks, plan.backend);
  fit_ranks(options, plan);
  plan.training = choose_training(options, plan);
  choose_schedule(options, site, plan);
  fit_memory(options, site, plan);
  return plan;
}

}  // namespace linkgain
