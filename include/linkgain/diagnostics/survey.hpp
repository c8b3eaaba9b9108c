#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/reading.hpp"
#include "linkgain/delivery/delivery_proof.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/mpi_version.hpp"
#include "linkgain/hardware/nccl_settings.hpp"
#include "linkgain/hardware/neighbours.hpp"
#include "linkgain/hardware/pci.hpp"
#include "linkgain/hardware/peer_copies.hpp"
#include "linkgain/hardware/topology.hpp"
#include "linkgain/telemetry/kernel_log.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {

inline constexpr const char* kNeedsLoad = "needs --load";

/// What was seen of a GPU while copies between it and the host ran; its SMs had no work.
struct GpuLoad {
  Reading<int> pcie_generation;         ///< the highest
  Reading<int> pcie_width;              ///< the highest
  Reading<std::uint64_t> clock_events;  ///< all that occurred
  Reading<int> highest_temperature_c;
  Reading<double> highest_power_w;
};

/// The state of one GPU; its links are in the topology.
struct GpuSurvey {
  int index = 0;     ///< as nvidia-smi numbers it
  std::string name;  ///< empty where the driver does not say
  std::string pci_bus_id;
  std::string lost;  ///< why the driver cannot reach it; empty where it can
  Reading<PowerState> power;
  Reading<std::uint64_t> clock_events;
  Reading<int> temperature_c;
  Reading<int> slowdown_temperature_c;
  Reading<bool> persistence_mode;
  Reading<ComputeModeName> compute_mode;
  Reading<bool> memory_remap_pending;
  Reading<NvlinkErrors> nvlink_errors;
  Reading<double> busy_percent;                ///< while nothing of ours worked
  Reading<std::vector<GpuProcess>> processes;  ///< of all users
  Reading<std::string> iommu_domain;           ///< the kernel's word: "DMA", "DMA-FQ", "identity"
  Reading<GpuLoad> load = Missing{kNeedsLoad, WhyMissing::not_asked};
};

struct Capacity {
  std::int64_t bytes = 0;
  std::int64_t free_bytes = 0;
};

struct MemoryLimit {
  std::optional<std::int64_t> bytes;  ///< absent: unlimited
};

/// Whose processes /proc shows.
enum class ProcessView {
  machine,    ///< all of the machine
  container,  ///< those of this container alone, which has process ids of its own
  user,       ///< this user's alone: it is mounted with hidepid
};

struct HostSurvey {
  Reading<Capacity> shared_memory;     ///< /dev/shm
  Reading<MemoryLimit> locked_memory;  ///< RLIMIT_MEMLOCK
  int processors = 0;                  ///< that this process may run on
  Reading<ProcessView> processes;
  Reading<double> processor_quota;  ///< processors' worth of time that the control group has
  Reading<std::vector<std::string>> iommu_units;
  std::string kernel_command_line;
  Reading<std::vector<PcieBridge>> bridges;
  /// PCI addresses of NVIDIA's display and 3D controllers.
  Reading<std::vector<std::string>> nvidia_devices;
  Reading<std::vector<XidEvent>> xid_events;
  std::string board;  ///< its maker and name, "Supermicro H13DSH"; empty where the kernel hides it
  std::string bios;   ///< its version, empty as well
};

/// What is needed to run the worker.
struct SoftwareSurvey {
  /// As linkgain-bench says of itself; missing where it could not be asked.
  Reading<Software> worker = Missing{"linkgain-bench was not asked"};
  Reading<std::string> mpirun;  ///< its path
  /// As `mpirun --version` says; missing where it could not be asked.
  Reading<MpiVersion> mpirun_version = Missing{"mpirun was not asked"};
  std::string mpirun_failure;  ///< how it ended when it was asked; empty: well, or not yet
  bool root = false;
  bool root_allowed = false;  ///< Open MPI was told that root is meant
  NcclSettings nccl;
  Environment cuda_variables;  ///< those in force that affect CUDA or cuBLAS
};

/// Everything that the checks of `linkgain doctor` look at.
struct Survey {
  Topology topology;
  std::vector<GpuSurvey> gpus;
  /// Why the GPUs' copies could not run; empty where they were, or where it was not asked for.
  std::string load_failure;
  /// Between GPUs that reach each other's memory, after that.
  Reading<std::vector<PeerCopy>> peer_copies = Missing{kNeedsLoad, WhyMissing::not_asked};
  /// What came of pairs whose P2P the driver does not refuse; absent where nobody asked
  /// (`--prove`).
  std::optional<std::vector<PairProof>> proofs;
  /// What an earlier one left that did not end: its step, and whether the machine went down; empty
  /// where there is none.
  std::string proof_left;
  std::string proof_failure;                   ///< why there are none, though asked for; else empty
  std::optional<std::string> visible_devices;  ///< CUDA_VISIBLE_DEVICES
  HostSurvey host;
  SoftwareSurvey software;
};

/// Where things are read; tests give other places.
struct SurveySources {
  std::filesystem::path sys = "/sys";
  std::filesystem::path proc = "/proc";
  std::filesystem::path shared_memory = "/dev/shm";
  std::filesystem::path kernel_log = "/dev/kmsg";
  std::filesystem::path etc = "/etc";
  std::filesystem::path home;  ///< where NCCL looks for .nccl.conf; empty: nowhere
  Environment environment;
};

/// Gives those of this process: its user's home by the password file, as NCCL takes it.
SurveySources sources_of_this_process(Environment environment);

/// Finds the pairs that CUDA sees and whose P2P the driver does not refuse.
std::vector<GpuPair> pairs_to_prove(const Topology& topology);

/// Gathers what was proved; absent where nothing was asked for.
std::optional<DeliveryReport> delivery_report(const Survey& survey);

/// Finds the path of the mpirun that `linkgain run` would start.
Reading<std::string> find_mpirun(const SurveySources& sources);

/// Looks at what is installed and set; leaves the worker out.
SoftwareSurvey survey_software(const SurveySources& sources);

/// Looks at everything but what the worker and mpirun say of themselves. Never throws for what is
/// missing.
Survey survey_machine(const SurveySources& sources);

/// Watches the surveyed GPUs while copies between them and the host run.
class LoadWatch {
 public:
  explicit LoadWatch(const Survey& survey);

  /// Looks at every GPU once: about 30 us each.
  void look();

  /// Puts what was seen into the survey of every GPU that CUDA sees; of the others nothing was
  /// asked, and the reason says so.
  void put_into(Survey& survey) const;

 private:
  struct Watched {
    int index;
    Nvml::Device device;
    GpuLoad seen;
  };
  std::shared_ptr<Nvml> nvml_;
  std::vector<Watched> gpus_;
};

}  // namespace linkgain
