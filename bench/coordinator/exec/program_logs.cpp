#include "program_logs.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <set>

#include "linkgain/base/text.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/process/log_limit.hpp"

namespace linkgain {

ProgramLogs::ProgramLogs(const ExecPlan& plan, const RunPlace& place,
                         const std::function<NcclLogFiles(const std::string& name)>& nccl_logs,
                         Environment& environment)
    : chosen_by_(chooses_nccl_log(plan, place, environment)),
      is_in_container_(is_in_container(plan, place)) {
  if (forbids_p2p(kPreload, value_of(environment, kPreload))) {
    folder_.emplace();
    environment["LINKGAIN_NO_P2P_LOG"] = refusal_file();
  }
  for_program_ = environment;
  if (!chosen_by_.empty()) return;
  nccl_ = nccl_logs(name_of(plan, place));
  for_program_.merge(log_variables(*nccl_));
}

void ProgramLogs::limit() const {
  if (!nccl_) return;
  for (const std::filesystem::path& file : log_files(*nccl_)) LogLimit(file).free_middle();
}

std::string ProgramLogs::note(RunEvidence& evidence) const {
  evidence.refused = refused_functions();
  if (!nccl_) {
    evidence.connections_reason = fmt::format("{} is yours", chosen_by_);
    return {};
  }
  for (const std::filesystem::path& file : log_files(*nccl_)) LogLimit(file).keep();
  const TransportLines logged = read_transport_logs(*nccl_);
  evidence.connections = logged.connections;
  evidence.algorithms = logged.algorithms;
  evidence.nccl_logged = logged.version;
  const bool is_missing = logged.version.empty() && logged.connections.empty() &&
                          (is_in_container_ || !evidence.nccl.empty());
  return is_missing ? note_missing(evidence) : "";
}

/// Says why no log came, and what lets it come.
std::string ProgramLogs::note_missing(RunEvidence& evidence) const {
  evidence.connections_reason = is_in_container_ ? "none came out of the container"
                                                 : "the program loaded NCCL, which wrote none";
  return fmt::format(
      "NCCL's log was not read: {}. {}", evidence.connections_reason,
      is_in_container_
          ? fmt::format("If the program uses NCCL, pass on NCCL_DEBUG, NCCL_DEBUG_SUBSYS and "
                        "NCCL_DEBUG_FILE, as by -e, and "
                        "mount {} under its own path, as by -v",
                        std::filesystem::path(nccl_->pattern).parent_path().string())
          : "Where it makes connections, something keeps NCCL_DEBUG and NCCL_DEBUG_FILE from it");
}

/// Gives the functions by name. The file is the program's to write: there are never as many.
std::vector<std::string> ProgramLogs::refused_functions() const {
  constexpr std::size_t kMost = 32;
  std::set<std::string> names;
  if (!folder_) return {};
  std::ifstream lines(refusal_file());
  for (std::string name; names.size() < kMost && std::getline(lines, name);) {
    if (name.starts_with("cu") || name.starts_with("nvml")) names.insert(plain_text(name));
  }
  return {names.begin(), names.end()};
}

}  // namespace linkgain
