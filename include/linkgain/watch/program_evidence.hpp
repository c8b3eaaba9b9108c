#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/process_entry.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/hardware/neighbours.hpp"
#include "linkgain/process/process.hpp"
#include "linkgain/record/evidence.hpp"
#include "linkgain/telemetry/cuda_order.hpp"
#include "linkgain/telemetry/error_counters.hpp"

namespace linkgain {

/// Returns the files of NCCL that /proc/PID/maps lists, each once, without processes and version.
/// Plugins (libnccl-net.so) are not NCCL.
std::vector<MappedNccl> nccl_in_maps(std::string_view maps);

/// Tells whether /proc/PID/maps lists JAX's library for CUDA, XLA, which copies between GPUs itself
/// beside NCCL.
bool has_xla(std::string_view maps);
/// What RunEvidence::engine_says has of it.
inline constexpr const char* kXlaCopies = "XLA: copies of its own beside NCCL";

/// Finds the libraries that processes have mapped while they run. A process is looked at each time
/// until it has NCCL mapped, for programs load it when they need it. Afterwards it is looked at
/// ever more seldom, down to each eighth time: a package may bring a second NCCL.
class NcclFinder {
 public:
  void look(const std::vector<ProcessEntry>& processes);

  /// Counts the processes whose mappings could be read at least once.
  int processes_looked() const { return static_cast<int>(looked_.size()); }
  bool has_seen_xla() const { return has_seen_xla_; }
  bool has_mapped(const ProcessEntry& process) const;
  /// Returns every library that any process had mapped, in the order of their paths.
  std::vector<MappedNccl> found() const;

 private:
  using Identity = std::pair<pid_t, std::uint64_t>;  ///< with its start

  /// A process whose mappings could be read.
  struct Looked {
    std::set<std::string> paths{};  ///< of the libraries that were found in it
    int pause = 0;                  ///< looks that leave it out after one that does not
    int left = 0;                   ///< of these, still to come
  };

  void count(pid_t process, const MappedNccl& found);

  bool has_seen_xla_ = false;  ///< in any process
  std::map<Identity, Looked> looked_;
  std::map<std::pair<std::string, bool>, MappedNccl> libraries_;
};

/// A process of a run as it was last seen.
struct SeenProcess {
  ProcessEntry entry{};
  std::vector<std::string> words{};  ///< of its command line
  /// Absent where it could not be read, as another user's, or the program has overwritten it.
  std::optional<Environment> environment{};
  bool may_use_p2p = false;  ///< it was on a GPU or had NCCL mapped
};

/// Takes the text of /proc/PID/environ apart; nothing where it is empty or no such text: programs
/// write their titles over it.
std::optional<Environment> parse_environment(std::string_view environ);

/// Watches the GPUs of this host, and what a command does with them, from outside. The GPUs of a
/// run are those that its variant's CUDA_VISIBLE_DEVICES leaves; all where it is not set or names a
/// MIG instance. Without NVML everything of GPUs is absent with the reason.
///
/// While a run lasts a thread reads health every second (4 us a GPU), who is on the GPUs after 1, 3
/// and 7 s and then every 10 s at most, and the mappings of the command's processes after 0.25, 0.5
/// and 1 s, then every 2 s (some milliseconds each). PCIe is not measured: its counters wrap in 67
/// ms at the rate of PCIe 5.0 x16, and to read eight GPUs often enough would take a tenth of a
/// processor.
///
/// Calls are for one thread. Nothing throws for what cannot be read.
class ProgramWatch {
 public:
  /// Watches the GPUs that each variant of the command sees, which these decide.
  explicit ProgramWatch(const std::vector<CudaSettings>& variants);
  /// Ends a run that is being watched.
  ~ProgramWatch();
  ProgramWatch(const ProgramWatch&) = delete;
  ProgramWatch& operator=(const ProgramWatch&) = delete;

  /// Tells what others do on the GPUs that any variant sees, for before the first run: waits for
  /// `window`, while nothing of ours may run. A GPU without work and processes of others has no
  /// element.
  std::vector<GpuNeighbour> watch_idle(Seconds window) const;

  /// Reads what ErrorCounterReader::read() and gpu_faults() do, of the GPUs that any variant sees.
  /// Xid errors count since this was made.
  ErrorCounts error_counts();
  std::vector<GpuFault> faults() const;

  /// Begins to watch, just before a run of a variant is started. Takes about 1 ms a GPU.
  void begin(std::size_t variant);
  /// Follows a process of the run after it was started. May be called for several, as for a server
  /// and its client. Keeps no reference.
  void follow(const Process& process);
  /// Ends, after the last tree of the run has.
  RunEvidence end();
  /// Lists the processes of the run that has ended, those of the first tree that was followed.
  std::vector<SeenProcess> processes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// A process of a command that does not end.
struct HungProcess {
  pid_t id = 0;
  std::string command;      ///< with its arguments, cut at 120 characters
  char state = '?';         ///< proc(5)'s letter
  std::string waits_in;     ///< the kernel's function; empty where it is none or not shown
  double processors = 0.0;  ///< how many it kept busy while it was looked at
  std::vector<int> gpus;    ///< that it has a context on, as nvidia-smi numbers them
  bool operator==(const HungProcess&) const = default;
};

struct HangReport {
  std::vector<HungProcess> processes;
  std::vector<GpuUse> gpus;  ///< those that the command's processes use; all where none is known to
  std::string no_gpus;       ///< why no GPU could be asked; empty where they could
};

/// Looks at the processes, a command's (Process::remember_tree()), for half a second. They must
/// still run.
HangReport look_at_hang(std::vector<ProcessEntry> all);

/// Says it to people, a line each; where a process is on a GPU, also how to see which rank is
/// behind.
std::vector<std::string> hang_lines(const HangReport& report);

}  // namespace linkgain
