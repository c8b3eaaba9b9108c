#include "program_logs.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <set>
#include <string_view>

#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/process/log_limit.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kNoneFromContainer = "none came out of the container";

/// Says what lets a log out of a container.
std::string how_to_get(std::string_view variables, std::string_view what) {
  return fmt::format("pass on {}, as by -e, and mount {} under its own path, as by -v", variables,
                     what);
}

}  // namespace

std::string no_p2p_folder(const Environment& environment) {
  for (const std::string& file : split(value_of(environment, kPreload), ':')) {
    if (file.ends_with(kNoP2pLibrary)) return std::filesystem::path(file).parent_path().string();
  }
  return {};
}

ProgramLogs::ProgramLogs(const ExecPlan& plan, const RunPlace& place,
                         const std::function<std::filesystem::path(const std::string& name)>& log,
                         const std::function<NcclLogFiles(const std::string& name)>& nccl_logs,
                         Environment& environment)
    : chosen_by_(chooses_nccl_log(plan, place, environment)),
      is_in_container_(is_in_container(plan, place)) {
  const std::string name = name_of(plan, place);
  if (forbids_p2p(kPreload, value_of(environment, kPreload))) {
    refusals_ = log(name + ".refused.log");
    environment[kRefusalLog] = path_of_held(*refusals_).string();
  }
  for_program_ = environment;
  if (!chosen_by_.empty()) return;
  nccl_ = nccl_logs(name);
  for_program_.merge(log_variables(*nccl_));
}

void ProgramLogs::limit() const {
  if (!nccl_) return;
  for (const std::filesystem::path& file : log_files(*nccl_)) LogLimit(file).free_middle();
}

std::vector<std::string> ProgramLogs::note(RunEvidence& evidence) const {
  std::vector<std::string> missing{note_connections(evidence), note_refused(evidence)};
  std::erase(missing, "");
  return missing;
}

/// Notes what NCCL logged. Returns why a program that may use it logged nothing, and what lets it
/// log; empty where it did.
std::string ProgramLogs::note_connections(RunEvidence& evidence) const {
  if (!nccl_) {
    evidence.connections_reason = fmt::format("{} is yours", chosen_by_);
    return {};
  }
  for (const std::filesystem::path& file : log_files(*nccl_)) LogLimit(file).keep();
  const TransportLines logged = read_transport_logs(*nccl_);
  evidence.connections = logged.connections;
  evidence.algorithms = logged.algorithms;
  evidence.nccl_logged = logged.version;
  if (!logged.version.empty() || !logged.connections.empty()) return {};
  if (!is_in_container_ && evidence.nccl.empty()) return {};
  evidence.connections_reason =
      is_in_container_ ? kNoneFromContainer : "the program loaded NCCL, which wrote none";
  return fmt::format(
      "NCCL's log was not read: {}. {}", evidence.connections_reason,
      is_in_container_
          ? "If the program uses NCCL, " +
                how_to_get("NCCL_DEBUG, NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE",
                           std::filesystem::path(nccl_->pattern).parent_path().string())
          : "Where it makes connections, something keeps NCCL_DEBUG and NCCL_DEBUG_FILE from it");
}

/// Notes what the library of no-p2p refused. Each process that loads it and finds the driver writes
/// a line, "loaded", and one for each function that refused. Returns why there is none in a
/// container, and what lets it out; outside of it nothing is missing where no process uses the
/// driver.
std::string ProgramLogs::note_refused(RunEvidence& evidence) const {
  if (!refusals_) return {};
  constexpr std::size_t kMostBytes = 65536;  // the file is the program's to write
  constexpr std::size_t kMostNames = 32;     // there are never as many
  const Reading<std::string> text = read_regular_file(*refusals_, kMostBytes);
  std::set<std::string> names;
  for (const std::string& name : split(text.value_or(""), '\n')) {
    const bool is_function = name.starts_with("cu") || name.starts_with("nvml");
    if (is_function && names.size() < kMostNames) names.insert(plain_text(name));
  }
  evidence.refused.assign(names.begin(), names.end());
  if (text.measured() && !text.value_or("").empty()) return {};
  evidence.refused_reason = !text.measured()   ? text.reason()
                            : is_in_container_ ? std::string(kNoneFromContainer)
                                               : "no process wrote it that loaded the library "
                                                 "and used the driver";
  if (!is_in_container_) return {};
  return fmt::format("The log of no-p2p's library was not read: {}. If the program uses GPUs, {}",
                     evidence.refused_reason,
                     how_to_get(fmt::format("{} and {}", kPreload, kRefusalLog),
                                fmt::format("each of {} and {}", no_p2p_folder(for_program_),
                                            path_of_held(*refusals_).parent_path().string())));
}

}  // namespace linkgain
