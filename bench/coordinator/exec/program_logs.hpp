#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/exec/exec_plan.hpp"
#include "linkgain/record/evidence.hpp"
#include "linkgain/telemetry/nccl_log.hpp"

namespace linkgain {

/// Gives the folder of no-p2p's library, which a container needs; empty where it is not preloaded.
std::string no_p2p_folder(const Environment& environment);

/// The files into which a run's program has others log: NCCL its connections, and the library of
/// no-p2p which functions refused peer access.
class ProgramLogs {
 public:
  /// Names the library's file, which `log` gives, in `environment`, and NCCL's, which `nccl_logs`
  /// gives, in for_program(), unless somebody else chooses what it logs.
  ProgramLogs(const ExecPlan& plan, const RunPlace& place,
              const std::function<std::filesystem::path(const std::string& name)>& log,
              const std::function<NcclLogFiles(const std::string& name)>& nccl_logs,
              Environment& environment);

  /// Gives the environment of the command and of the server.
  const Environment& for_program() const { return for_program_; }

  /// Keeps what NCCL writes from filling the disk.
  void limit() const;

  /// Notes what they say, or why they say nothing, once the program has ended. Returns why those
  /// did not come that the program was to write.
  std::vector<std::string> note(RunEvidence& evidence) const;

 private:
  std::string note_connections(RunEvidence& evidence) const;
  std::string note_refused(RunEvidence& evidence) const;

  Environment for_program_;
  std::string chosen_by_;  ///< the variable by which somebody else chooses what NCCL logs
  bool is_in_container_;
  std::optional<NcclLogFiles> nccl_;
  std::optional<std::filesystem::path> refusals_;  ///< of no-p2p's library
};

}  // namespace linkgain
