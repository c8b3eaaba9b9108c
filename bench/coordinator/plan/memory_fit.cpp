#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/plan/run_plan.hpp"
#include "linkgain/record/warning.hpp"

namespace linkgain {
namespace {

// How many jobs may be up at once.

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// What a job holds of each GPU, open case or not, by its context and communicator: one of two
/// ranks with 64 MiB of buffers took 1.45 GiB of an H200.
constexpr std::int64_t kIdleGpuBytes = 3 * kGiB / 2;
/// What a driver keeps of a GPU that nobody uses, and more.
constexpr std::int64_t kDriverGpuBytes = kGiB;
/// What the host needs for each rank: pinned staging buffers and CUDA's own; without a GPU 18 MiB.
constexpr std::int64_t kGpuRankBytes = kGiB;
constexpr std::int64_t kHostRankBytes = 32 * kMiB;
/// What each rank needs of /dev/shm, open case or not: Open MPI's segment, and where P2P is off
/// NCCL's, of 9.2 MiB for each channel to the next rank, two or more.
constexpr std::int64_t kMpiSegmentBytes = 4 * kMiB;
constexpr std::int64_t kNcclSegmentBytes = 20 * kMiB;
/// Processes and their threads: mpirun has four, a rank three; CUDA, NCCL and NVML add some.
constexpr std::int64_t kLauncherThreads = 4;
constexpr std::int64_t kHostRankThreads = 3;
constexpr std::int64_t kGpuRankThreads = 16;
/// Whatever the machine holds: those of eight launches of four variants.
constexpr int kMostJobs = 32;

/// Something of which every resident job takes some.
struct Limit {
  std::optional<std::int64_t> available;
  std::int64_t per_job;
  std::int64_t per_open_case;  ///< more for the one job of a variant that has a case open
  std::string name;            ///< with the amount: "24.0 GiB of free GPU memory"
  std::string advice;          ///< may be empty
  /// Less, and one job of every variant at once is sure to fail: memory is estimated with something
  /// to spare.
  std::int64_t least = 0;
  std::string_view too_little = "is too little";

  /// Returns the launches of one job of each of `variants` that it holds.
  std::int64_t launches(std::int64_t variants) const {
    return std::max<std::int64_t>(0, *available - variants * per_open_case) / (variants * per_job);
  }
};

std::string bytes(std::optional<std::int64_t> amount) {
  const auto value = static_cast<double>(amount.value_or(0));
  return value < static_cast<double>(kGiB) ? fmt::format("{:.0f} MiB", value / kMiB)
                                           : fmt::format("{:.1f} GiB", value / kGiB);
}

std::int64_t ranks_of_host(const RunPlan& plan) { return divide_up(plan.ranks, plan.hosts); }

/// Returns the bytes that a job holds of each GPU, or of a host, without an open case.
std::int64_t idle_bytes(const RunPlan& plan) {
  return plan.backend == BackendKind::nccl ? kIdleGpuBytes : ranks_of_host(plan) * kHostRankBytes;
}

int wanted_at_once(const RunPlan& plan) { return plan.is_soak ? 1 : plan.launches; }

/// Returns how many jobs start in half of the budget; no fewer than those of kFewestLaunches.
std::optional<int> jobs_in_budget(const RunPlan& plan) {
  constexpr double kToStart = 0.5;
  if (!plan.budget) return std::nullopt;
  const auto variants = static_cast<int>(plan.variants.size());
  int jobs = variants * kFewestLaunches;
  while (jobs < variants * plan.launches &&
         guessed_start_time(plan.backend, jobs + 1).value <= kToStart * plan.budget->value) {
    ++jobs;
  }
  return jobs;
}

/// Returns the limits, in the order in which they are named if several are as tight. `free_gpu` is
/// as free_gpu_memory() gives it, `largest_case` the bytes of the one case that one job of every
/// variant has open.
std::vector<Limit> limits_of(const Site& site, const RunPlan& plan,
                             std::optional<std::int64_t> free_gpu, std::int64_t largest_case) {
  const bool gpu = plan.backend == BackendKind::nccl;
  const std::int64_t ranks = ranks_of_host(plan);
  const auto variants = static_cast<std::int64_t>(plan.variants.size());
  std::vector<Limit> limits;
  if (gpu) {
    Limit whole{site.gpu_memory_bytes, idle_bytes(plan), largest_case, {}, {}};
    const bool others = whole.available.value_or(0) - free_gpu.value_or(0) > kDriverGpuBytes;
    const bool would_do = others && whole.launches(variants) >= wanted_at_once(plan);
    limits.push_back({free_gpu, idle_bytes(plan), largest_case,
                      bytes(free_gpu) + " of free GPU memory",
                      would_do ? "end what else uses the GPUs to have all at once" : ""});
  }
  limits.push_back({site.host_memory_bytes, gpu ? ranks * kGpuRankBytes : idle_bytes(plan),
                    gpu ? 0 : largest_case,
                    bytes(site.host_memory_bytes) + " of available host memory",
                    "free memory to have all at once"});
  // One variant may have P2P, and no segments of NCCL's then.
  const std::int64_t segments = gpu ? kNcclSegmentBytes : 0;
  limits.push_back({site.shared_memory_bytes, ranks * (kMpiSegmentBytes + segments), 0,
                    bytes(site.shared_memory_bytes) + " in /dev/shm",
                    "give a container more of it, as with --shm-size=4g",
                    ranks * (variants * kMpiSegmentBytes + (variants - 1) * segments)});
  const std::int64_t threads =
      kLauncherThreads + ranks * (gpu ? kGpuRankThreads : kHostRankThreads);
  limits.push_back({site.processes, threads, 0,
                    fmt::format("{} more processes and threads", site.processes.value_or(0)),
                    "raise the limit (ulimit -u, a container's --pids-limit)", variants * threads,
                    "do not suffice"});
  limits.push_back({kMostJobs, 1, 0, fmt::format("the limit of {} resident jobs", kMostJobs),
                    "ask for fewer --launches or variants to have all at once", 0, "is too low"});
  limits.push_back({jobs_in_budget(plan), 1, 0, "the budget",
                    "give more time with --budget to have all at once", 0, "is too short"});
  std::erase_if(limits, [](const Limit& limit) { return !limit.available; });
  return limits;
}

/// Returns the free memory of the GPU that has least of it, of those that the plan uses; nothing if
/// it is not known.
std::optional<std::int64_t> free_gpu_memory(const Site& site, const RunPlan& plan) {
  std::optional<std::int64_t> least;
  for (std::size_t i = 0; i < site.free_gpu_memory.size(); ++i) {
    const std::optional<std::int64_t>& own = site.free_gpu_memory[i];
    if (own && uses_gpu(plan, static_cast<int>(i))) least = std::min(least.value_or(*own), *own);
  }
  return least;
}

/// Has the variants run one after the other where not even one job of each may be started, or the
/// launches in groups where not all of their jobs may be up at once.
void group_launches(const RunOptions& options, const std::vector<Limit>& limits, RunPlan& plan) {
  const auto variants = static_cast<int>(plan.variants.size());
  for (const Limit& limit : limits) {
    if (options.schedule == Schedule::paired || *limit.available >= limit.least) continue;
    plan.schedule = Schedule::sequential;
    plan.warnings.push_back(
        {name_of(WarningCode::sequential),
         fmt::format("the variants run one after the other: {} {} for {} jobs at once", limit.name,
                     limit.too_little, variants),
         "drift between them is not cancelled; " + limit.advice});
    return;
  }
  const int wanted = wanted_at_once(plan);
  const auto launches = [&](const Limit& limit) { return limit.launches(variants); };
  const auto tightest = std::ranges::min_element(limits, {}, launches);
  if (tightest == limits.end() || launches(*tightest) >= wanted) return;
  const std::int64_t groups = divide_up(wanted, std::max<std::int64_t>(1, launches(*tightest)));
  const int at_once = static_cast<int>(divide_up(wanted, groups));
  if (at_once >= wanted) return;
  plan.launches_at_once = at_once;
  plan.warnings.push_back(
      {name_of(WarningCode::launch_groups),
       fmt::format("launches run {} at a time, not all {} at once: {} {} for {} jobs", at_once,
                   wanted, tightest->name, tightest->too_little, wanted * variants),
       fmt::format("each time with one job of every variant, so the comparison is as good and only "
                   "takes longer{}{}",
                   tightest->advice.empty() ? "" : "; ", tightest->advice)});
}

// Which cases fit.

std::string gibibytes(std::int64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

bool is_a_training(const Case& c) { return c.training.has_value(); }

/// Returns the bytes of a case on the GPU that holds most of it, or on the host for all its ranks.
std::int64_t case_bytes(const Case& c, BackendKind backend) {
  const bool host = backend == BackendKind::mpi;
  if (c.training) return training_memory(*c.training) * (host ? c.ranks : 1);
  const BufferPlan buffers = plan_buffers(c, kLargestCache);
  return host ? total_bytes(c, buffers) : most_bytes(c, buffers);
}

/// Returns the bytes of one job with this case. Ranks on several hosts share them evenly.
std::int64_t job_bytes(const Case& c, const RunPlan& plan) {
  const std::int64_t bytes = case_bytes(c, plan.backend);
  return (plan.backend == BackendKind::mpi ? bytes / plan.hosts : bytes) + idle_bytes(plan);
}

/// What the cases of a plan are compared with.
class MemoryFit {
 public:
  MemoryFit(const RunOptions& options, std::int64_t memory, RunPlan& plan)
      : options_(options),
        memory_(memory),
        plan_(plan),
        jobs_(static_cast<std::int64_t>(plan.variants.size())),
        at_once_(options.schedule == Schedule::paired ? jobs_ : 1),
        kind_(plan.backend == BackendKind::nccl ? "GPU" : "host") {}

  void leave_out() {
    const auto is_too_large = [&](const Case& c) { return !fits(c, at_once_); };
    std::vector<Case> all;
    std::vector<Case> asked_for;
    for (const Case& c : plan_.cases) {
      if (!is_too_large(c)) continue;
      all.push_back(c);
      if (is_asked_for(c)) asked_for.push_back(c);
    }
    if (all.empty()) return;
    if (!asked_for.empty()) refuse(largest(asked_for));
    if (all.size() == plan_.cases.size()) refuse(largest(all));
    std::erase_if(plan_.cases, is_too_large);
    if (std::ranges::none_of(plan_.cases, is_a_training)) plan_.training.reset();
    plan_.warnings.push_back(warning_of(all));
  }

  void choose_schedule() {
    const Case& c = largest(plan_.cases);
    if (plan_.schedule == Schedule::sequential || fits(c, jobs_)) return;
    plan_.schedule = Schedule::sequential;
    plan_.warnings.push_back(
        {name_of(WarningCode::sequential),
         fmt::format(
             "the variants run one after the other: memory is too short for all at once, of "
             "which each takes up to {} of {} ({})",
             gibibytes(need(c)), gibibytes(memory_), spoken_case(c)),
         c.training ? fmt::format("drift between them is not cancelled; train with {} to have them "
                                  "in turn, or leave the training out with --only",
                                  smaller_training(c, jobs_))
                    : "drift between them is not cancelled; measure smaller sizes with --sizes to "
                      "have them in turn"});
  }

 private:
  std::int64_t need(const Case& c) const { return job_bytes(c, plan_); }

  bool fits(const Case& c, std::int64_t jobs) const { return need(c) * jobs <= memory_; }

  /// Returns the first case of the largest size.
  const Case& largest(const std::vector<Case>& cases) const {
    return *std::ranges::max_element(
        cases, [&](const Case& a, const Case& b) { return need(a) < need(b); });
  }

  bool is_asked_for(const Case& c) const {
    if (!c.training) return !options_.sizes.empty();
    const auto& only = options_.operations;
    return std::ranges::find(only, c.operation) != only.end() || options_.steps ||
           options_.tokens || !(options_.training == TrainingSelection{});
  }

  /// Returns what would have a training like this one fit: options with which `jobs` fit together.
  std::string smaller_training(const Case& c, std::int64_t jobs) const {
    Case smaller = c;
    while (--smaller.training->samples >= 1) {
      if (fits(smaller, jobs)) return fmt::format("--batch {}", smaller.training->samples);
    }
    smaller.training->samples = 1;
    while ((smaller.training->length /= 2) >= 1) {
      if (!fits(smaller, jobs)) continue;
      return fmt::format("--batch 1 --sequence {}", smaller.training->length);
    }
    if (c.training->model == ModelSize::tiny) return "fewer ranks (--np)";
    return fmt::format("--model-size {}", name_of(ModelSize::tiny));
  }

  [[noreturn]] void refuse(const Case& c) const {
    if (fits(c, 1)) {
      throw UsageError(
          fmt::format("the variants' jobs do not fit into memory together: each of {} needs {} for "
                      "{}, {} of {} memory are there",
                      jobs_, gibibytes(need(c)), spoken_case(c), gibibytes(memory_), kind_),
          c.training ? fmt::format("leave out --schedule paired, or train with {}",
                                   smaller_training(c, jobs_))
                     : "leave out --schedule paired, or measure smaller sizes with --sizes");
    }
    throw UsageError(fmt::format("{} needs {} of {} memory, {} are there",
                                 c.training ? spoken_case(c) : readable_bytes(c.size),
                                 gibibytes(need(c)), kind_, gibibytes(memory_)),
                     c.training ? fmt::format("train with {}", smaller_training(c, at_once_))
                                : "measure smaller sizes with --sizes");
  }

  Warning warning_of(const std::vector<Case>& left_out) const {
    constexpr std::size_t kNamed = 3;
    std::vector<std::string> names;
    for (const Case& c : left_out) {
      if (names.size() == kNamed) break;
      names.push_back(fmt::format("{} ({})", spoken_case(c), gibibytes(need(c))));
    }
    const std::size_t rest = left_out.size() - names.size();
    std::vector<std::string> advice;
    const auto training = std::ranges::find_if(left_out, is_a_training);
    if (training != left_out.end()) {
      advice.push_back(fmt::format("measure the training with --only {} {}",
                                   name_of(training->operation),
                                   smaller_training(*training, at_once_)));
    }
    if (!std::ranges::all_of(left_out, is_a_training)) {
      advice.emplace_back("ask for smaller sizes with --sizes");
    }
    return {name_of(WarningCode::left_out),
            fmt::format("left out, because {} of {} memory do not hold {} with: {}{}",
                        gibibytes(memory_), kind_,
                        at_once_ == 1 ? "a job" : fmt::format("{} jobs at once", at_once_),
                        fmt::join(names, ", "), rest > 0 ? fmt::format(" and {} more", rest) : ""),
            fmt::format("{}", fmt::join(advice, "; "))};
  }

  const RunOptions& options_;
  std::int64_t memory_;
  RunPlan& plan_;
  std::int64_t jobs_;     ///< one for each variant
  std::int64_t at_once_;  ///< of these, that must hold a case together
  std::string_view kind_;
};

}  // namespace

JobMemory job_memory(const RunPlan& plan) {
  JobMemory memory{.measuring = idle_bytes(plan), .waiting = idle_bytes(plan)};
  for (const Case& c : plan.cases) {
    memory.measuring = std::max(memory.measuring, job_bytes(c, plan));
  }
  return memory;
}

void fit_memory(const RunOptions& options, const Site& site, RunPlan& plan) {
  const bool gpu = plan.backend == BackendKind::nccl;
  const auto free_gpu = free_gpu_memory(site, plan);
  plan.memory = gpu ? free_gpu : site.host_memory_bytes;
  if (gpu && !plan.memory) plan.memory = site.gpu_memory_bytes;
  if (plan.memory && !plan.cases.empty()) {
    MemoryFit fit(options, *plan.memory, plan);
    fit.leave_out();
    fit.choose_schedule();
  }
  if (plan.schedule == Schedule::sequential) return;
  const JobMemory job = job_memory(plan);
  group_launches(options, limits_of(site, plan, free_gpu, job.measuring - job.waiting), plan);
}

}  // namespace linkgain
