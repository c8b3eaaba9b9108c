#include "launch_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace linkgain {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// What each GPU needs: a job of two ranks with 64 MiB of buffers took 1.45 GiB of an H200.
constexpr std::int64_t kIdleGpuBytes = 3 * kGiB / 2;
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
  std::string advice;
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

/// Returns the limits, in the order in which they are named if several are as tight.
std::vector<Limit> limits_of(const Site& site, const JobNeeds& needs) {
  const bool gpu = needs.backend == BackendKind::nccl;
  const std::int64_t ranks = needs.ranks;
  const std::int64_t variants = needs.variants;
  std::vector<Limit> limits;
  if (gpu) {
    limits.push_back({needs.free_gpu_memory, kIdleGpuBytes, needs.largest_case,
                      bytes(needs.free_gpu_memory) + " of free GPU memory",
                      "end what else uses the GPUs to have all at once"});
  }
  limits.push_back({site.host_memory_bytes, ranks * (gpu ? kGpuRankBytes : kHostRankBytes),
                    gpu ? 0 : needs.largest_case,
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
  limits.push_back({needs.jobs_in_budget, 1, 0, "the budget",
                    "give more time with --budget to have all at once", 0, "is too short"});
  std::erase_if(limits, [](const Limit& limit) { return !limit.available; });
  return limits;
}

}  // namespace

std::optional<std::int64_t> free_gpu_memory(const Site& site, const std::vector<int>& gpus,
                                            int ranks) {
  std::optional<std::int64_t> least;
  for (std::size_t i = 0; i < site.free_gpu_memory.size(); ++i) {
    const auto gpu = static_cast<int>(i);
    const bool used =
        gpus.empty() ? gpu < ranks : std::find(gpus.begin(), gpus.end(), gpu) != gpus.end();
    const std::optional<std::int64_t>& own = site.free_gpu_memory[i];
    if (used && own) least = std::min(least.value_or(*own), *own);
  }
  return least;
}

LaunchGroups launch_groups(const Site& site, const JobNeeds& needs) {
  const std::vector<Limit> limits = limits_of(site, needs);
  for (const Limit& limit : limits) {
    if (!needs.may_be_sequential || *limit.available >= limit.least) continue;
    return {.sequential = true,
            .launches = {},
            .warning = Warning{
                "sequential",
                fmt::format("the variants run one after the other: {} {} for {} jobs at once",
                            limit.name, limit.too_little, needs.variants),
                "drift between them is not cancelled; " + limit.advice}};
  }
  const auto launches = [&](const Limit& limit) { return limit.launches(needs.variants); };
  const auto tightest = std::ranges::min_element(limits, {}, launches);
  if (tightest == limits.end() || launches(*tightest) >= needs.launches) return {};
  const std::int64_t groups =
      divide_up(needs.launches, std::max<std::int64_t>(1, launches(*tightest)));
  const int at_once = static_cast<int>(divide_up(needs.launches, groups));
  if (at_once >= needs.launches) return {};
  return {.launches = at_once,
          .warning = Warning{
              "launch-groups",
              fmt::format("launches run {} at a time, not all {} at once: {} {} for {} jobs",
                          at_once, needs.launches, tightest->name, tightest->too_little,
                          needs.launches * needs.variants),
              "each time with one job of every variant, so the comparison is as good and only "
              "takes longer; " +
                  tightest->advice}};
}

}  // namespace linkgain
