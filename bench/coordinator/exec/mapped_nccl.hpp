#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/process/process.hpp"
#include "linkgain/record/run_evidence.hpp"

namespace linkgain {

/// The file of NCCL that /proc/PID/maps lists, without processes and version; absent where there is
/// none. Plugins (libnccl-net.so) are not NCCL.
std::optional<MappedNccl> nccl_in_maps(std::string_view maps);

/// Finds the libraries that processes have mapped while they run. A process is looked at until it
/// has NCCL mapped, for programs load it when they need it.
class NcclFinder {
 public:
  void look(const std::vector<ProcessEntry>& processes);

  /// Processes whose mappings could be read at least once.
  int processes_looked() const { return static_cast<int>(looked_.size()); }
  std::vector<MappedNccl> found() const;

 private:
  using Identity = std::pair<pid_t, std::uint64_t>;  ///< with its start

  std::set<Identity> looked_;
  std::set<Identity> done_;
  std::map<std::pair<std::string, bool>, MappedNccl> libraries_;
};

}  // namespace linkgain
