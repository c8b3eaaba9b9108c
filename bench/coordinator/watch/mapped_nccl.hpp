#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/process/process.hpp"
#include "linkgain/record/run_evidence.hpp"

namespace linkgain {

/// The files of NCCL that /proc/PID/maps lists, each once, without processes and version. Plugins
/// (libnccl-net.so) are not NCCL.
std::vector<MappedNccl> nccl_in_maps(std::string_view maps);

/// Finds the libraries that processes have mapped while they run. A process is looked at each time
/// until it has NCCL mapped, for programs load it when they need it. Afterwards it is looked at
/// ever more seldom, down to each eighth time: a package may bring a second NCCL.
class NcclFinder {
 public:
  void look(const std::vector<ProcessEntry>& processes);

  /// Processes whose mappings could be read at least once.
  int processes_looked() const { return static_cast<int>(looked_.size()); }
  /// Every library that any process had mapped, in the order of their paths.
  std::vector<MappedNccl> found() const;

 private:
  using Identity = std::pair<pid_t, std::uint64_t>;  ///< with its start

  /// Of a process whose mappings could be read.
  struct Looked {
    std::set<std::string> paths{};  ///< of the libraries that were found in it
    int pause = 0;                  ///< looks that leave it out after one that does not
    int left = 0;                   ///< of these, still to come
  };

  void count(pid_t process, const MappedNccl& found);

  std::map<Identity, Looked> looked_;
  std::map<std::pair<std::string, bool>, MappedNccl> libraries_;
};

}  // namespace linkgain
