#pragma once

#include <string>
#include <vector>

#include "linkgain/hardware/health.hpp"
#include "linkgain/hardware/link_counters.hpp"
#include "linkgain/hardware/neighbours.hpp"

namespace linkgain {

/// What one GPU did while a command ran.
struct GpuEvidence {
  int gpu = 0;  ///< as nvidia-smi numbers it
  /// By how many bytes its counters grew. Absent is what was not measured.
  LinkCounters traffic{};
  std::string nvlink_reason{};  ///< why NVLink's bytes are absent; empty where both are there
  std::string pcie_reason{};    ///< the same of PCIe
  HealthSummary health{};       ///< of samples a second apart
  bool used = false;            ///< the driver listed a process of the command on it
  bool operator==(const GpuEvidence&) const = default;
};

/// A libnccl that processes of a command had mapped.
struct MappedNccl {
  std::string path{};     ///< as the kernel names it, without " (deleted)"
  std::string version{};  ///< "2.28.9+cuda13.0"; empty where its file does not say
  bool deleted = false;   ///< the file was removed or replaced while it was in use
  int processes = 0;
  bool operator==(const MappedNccl&) const = default;
};

/// What was seen from outside of one run of a command.
struct RunEvidence {
  std::string no_gpus{};  ///< why no GPU was looked at; empty where `gpus` has any
  std::vector<GpuEvidence> gpus{};
  /// In the order of their paths; a process may have several. Empty with processes_looked: NCCL was
  /// linked statically or is not used.
  std::vector<MappedNccl> nccl{};
  int processes_looked = 0;  ///< whose mappings could be read at least once
  Neighbours neighbours{};   ///< times count from the run's begin
  /// Processor time of looking and reading, and the time in which the program waited for a reader.
  double cost_s = 0.0;
  bool operator==(const RunEvidence&) const = default;
};

}  // namespace linkgain
