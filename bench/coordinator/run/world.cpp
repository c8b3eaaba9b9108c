#include "linkgain/run/world.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "linkgain/base/environment.hpp"
#include "linkgain/jobs/launcher.hpp"
#include "linkgain/telemetry/nccl_log.hpp"

namespace linkgain {

GpuLookout::GpuLookout(const RunPlan& plan, const Site& site) {
  if (plan.backend != BackendKind::nccl) return;
  nvml_ = Nvml::open(&why_not_all_);
  if (!nvml_) return;
  for (int gpu = 0; gpu < static_cast<int>(site.gpu_pci_bus_ids.size()); ++gpu) {
    const bool used =
        plan.gpus.empty() ? gpu < plan.ranks : std::ranges::find(plan.gpus, gpu) != plan.gpus.end();
    if (!used) continue;
    const std::string& place = site.gpu_pci_bus_ids[static_cast<std::size_t>(gpu)];
    if (const auto device = nvml_->device_by_pci_bus_id(place)) {
      gpus_.emplace_back(gpu, *device);
    } else {
      why_not_all_ = fmt::format("NVML does not find GPU {} again", gpu);
    }
  }
  errors_ = ErrorCounterReader(gpus_);
  if (gpus_.empty()) {
    why_not_all_ = "this host has none of the run's GPUs";
  } else if (plan.hosts > 1) {
    why_not_all_ = "those of other hosts are not looked at";
  }
}

std::vector<GpuUse> GpuLookout::look() const {
  std::vector<GpuUse> uses;
  for (const auto& [number, device] : gpus_) {
    GpuUse& use = uses.emplace_back();
    use.gpu = number;
    use.busy_percent = device.busy_percent().optional();
    use.processes = device.processes().optional();
    const LinkCounters counters = device.link_counters();
    if (counters.nvlink_sent && counters.nvlink_received) {
      use.nvlink_bytes = *counters.nvlink_sent + *counters.nvlink_received;
    }
  }
  return uses;
}

namespace {

/// Names the launch's log of NCCL.
std::string log_name(const std::string& variant, int launch) {
  return fmt::format("{}-{}", variant, launch + 1);
}

}  // namespace

LaunchedWorld::LaunchedWorld(const RunOptions& options, const RunPlan& plan, const Site& site,
                             RunDirectory& directory, const SignalWatch& watch)
    : options_(options),
      plan_(plan),
      directory_(directory),
      watch_(watch),
      reaper_(std::min(kShutdownTime, plan.timeout)),
      gpus_(plan, site) {
  reaper_.remember(sessions_.path());
  remove_left_folders(folder_for_temporary_files());
  remove_left_segments();
}

void LaunchedWorld::rest(Seconds time) {
  pollfd entry{watch_.descriptor(), POLLIN, 0};
  ::poll(&entry, 1, static_cast<int>(time.value * 1000.0));
  watch_.throw_if_caught();
}

/// Builds the request that starts the worker of a variant. NCCL logs into a file.
LaunchRequest LaunchedWorld::request_for(const Variant& variant, int launch) const {
  LaunchRequest request;
  request.launcher = plan_.launcher;
  request.ranks = plan_.ranks;
  request.hostfile = options_.hostfile;
  request.worker = variant.worker.empty() ? worker_path() : std::filesystem::path(variant.worker);
  request.worker_arguments = {"--serve", "--backend", std::string(name_of(plan_.backend))};
  std::vector<std::string>& arguments = request.worker_arguments;
  // Workers of other builds (worker=PATH) may not know the option.
  if (plan_.timeout.value != protocol::kDefaultTimeout.value) {
    arguments.insert(
        arguments.end(),
        {"--timeout", fmt::format("{:g}", protocol::timeout_of_ranks(plan_.timeout).value)});
  }
  if (!plan_.gpus.empty()) {
    arguments.insert(arguments.end(), {"--gpus", fmt::format("{}", fmt::join(plan_.gpus, ","))});
  }
  if (plan_.training) {
    arguments.insert(arguments.end(), {"--steps", fmt::format("{}", plan_.training->steps)});
    if (!plan_.training->tokens.empty()) {
      arguments.insert(arguments.end(), {"--tokens", plan_.training->tokens});
    }
  }
  request.variant_environment = variant.environment;
  request.unset = variant.unset;
  if (plan_.backend == BackendKind::nccl) {
    for (const auto& [name, value] :
         log_variables(directory_.nccl_logs(log_name(variant.name, launch)))) {
      request.variant_environment[name] = value;
    }
  }
  request.as_root = ::geteuid() == 0;
  request.cores = usable_cores();
  const Environment current = current_environment();
  const auto mpi_type = current.find("SLURM_MPI_TYPE");
  request.mpi_type_set = mpi_type != current.end() && mpi_type->second != "none";
  if (options_.hostfile) request.forwarded = variables_to_forward(current);
  return request;
}

std::unique_ptr<Job> LaunchedWorld::start_job(int variant, int launch) {
  const Variant& chosen = plan_.variants[static_cast<std::size_t>(variant)];
  LaunchRequest request = request_for(chosen, launch);
  request.session_folder = sessions_.path() / fmt::format("{}", started_++);
  std::unique_ptr<TemporaryFolder> segments;
  if (has_segments_folder(request)) segments = folder_for_segments();
  if (segments) {
    request.segments_folder = segments->path();
    reaper_.remember(segments->path());
  }
  const ProcessRequest process = process_request(request, directory_.job_log(chosen.name, launch));
  return std::make_unique<LaunchedJob>(chosen.name, process, &watch_, std::move(segments), tick_,
                                       plan_.ranks);
}

Path LaunchedWorld::find_path(int variant, int launch, const protocol::HelloReply& hello,
                              Algorithm algorithm) {
  if (hello.path) return *hello.path;
  if (plan_.backend != BackendKind::nccl) return Path::unknown;
  const std::string& name = plan_.variants[static_cast<std::size_t>(variant)].name;
  const TransportLines lines = read_transport_logs(directory_.nccl_logs(log_name(name, launch)));
  return path_of(lines, same_for_all_pairs(hello.machine.links, joined_by_nvlink), algorithm);
}

Seconds LaunchedWorld::now() const {
  return Seconds{
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

}  // namespace linkgain
