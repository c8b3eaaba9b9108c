#include "linkgain/run/run_directory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cctype>
#include <system_error>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

/// Shortens "NVIDIA H200" as "H200", "NVIDIA GeForce RTX 3090" as "GeForce-RTX-3090".
std::string short_name(std::string name) {
  constexpr std::string_view kMaker = "NVIDIA ";
  if (name.starts_with(kMaker)) name.erase(0, kMaker.size());
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.') c = '-';
  }
  return name;
}

void require_made(const std::filesystem::path& path, const std::error_code& problem) {
  if (!problem) return;
  throw UsageError(fmt::format("cannot make {}: {}", path.string(), problem.message()),
                   "name a directory that can be written with --out DIR");
}

void make_folder(const std::filesystem::path& path) {
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  require_made(path, problem);
}

constexpr std::string_view kNewJournal = "journal.jsonl.new";
constexpr std::array kOfARun{RunDirectory::kRecord, RunDirectory::kReport, RunDirectory::kPage,
                             RunDirectory::kTuner,  RunDirectory::kLog,    RunDirectory::kJournal,
                             RunDirectory::kRuns,   RunDirectory::kJobs};

}  // namespace

std::filesystem::path new_run_folder(const std::string& host, const std::string& what) {
  const std::filesystem::path results = absolute_path("results");
  make_folder(results);
  const std::string name = fmt::format("{}_{}_{}", utc_now(true), host, what);
  std::filesystem::path path = results / name;
  std::error_code problem;
  for (int i = 2; !std::filesystem::create_directory(path, problem); ++i) {
    if (problem != std::errc::file_exists) require_made(path, problem);
    path = results / fmt::format("{}-{}", name, i);
  }
  return path;
}

std::filesystem::path new_run_folder(const RunPlan& plan, const Site& site) {
  return new_run_folder(site.host,
                        plan.backend == BackendKind::mpi
                            ? fmt::format("mpi-np{}", plan.ranks)
                            : fmt::format("{}x{}", plan.ranks, short_name(site.gpu_name)));
}

RunDirectory RunDirectory::begin(const std::filesystem::path& path, std::string_view logs) {
  RunDirectory directory(OutputFolder(path), logs);
  directory.set_aside_earlier_run();
  return directory;
}

RunDirectory RunDirectory::go_on(const std::filesystem::path& path) {
  RunDirectory directory(OutputFolder(path), kJobs);
  OutputFolder& folder = directory.folder_;
  directory.goes_on_from_ = folder.is_there(std::string(kJournal)) ? kJournal : kRecord;
  for (const std::string_view name : kOfARun) {
    const auto status = std::filesystem::symlink_status(folder.held(name));
    if (name == directory.goes_on_from_ && std::filesystem::is_regular_file(status)) continue;
    folder.require_own(std::string(name), "move it away and go on");
  }
  return directory;
}

void RunDirectory::set_aside_earlier_run() {
  std::vector<std::string> earlier;
  for (const std::string_view each : kOfARun) {
    const std::string name(each);
    // A name that only the other command needs may be the user's.
    const bool is_needed = (each != kRuns && each != kJobs) || each == logs_;
    if (is_needed) folder_.require_own(name);
    if (folder_.is_own(name)) earlier.push_back(name);
  }
  bool removed = false;
  std::vector<std::string> names;
  for (const std::string& name : earlier) folder_.require_own(name + ".old");
  for (const std::string& name : earlier) {
    std::string old = name + ".old";
    if (folder_.is_as_left(old)) {
      folder_.remove(old);
      removed = true;
    }
    for (int i = 2; folder_.is_there(old); ++i) old = fmt::format("{}.old{}", name, i);
    folder_.rename(name, old);
    names.push_back(old);
  }
  if (names.empty()) return;
  set_aside_ =
      fmt::format("what an earlier run left in {} is now {}{}", path().string(),
                  fmt::join(names, ", "), removed ? "; the one before it was removed" : "");
}

void RunDirectory::make_logs() {
  folder_.make_folder(logs_);
  for (const std::string& name : folder_.entries(logs_)) {
    if (name.starts_with("nccl-")) folder_.remove(logs_ + "/" + name);
  }
}

std::filesystem::path RunDirectory::log() { return folder_.claim(std::string(kLog)); }

std::filesystem::path RunDirectory::journal() {
  if (logs_ == kRuns) return folder_.claim(std::string(kJournal));
  if (!goes_on_from_.empty()) folder_.take_as_own(goes_on_from_);
  // It is written beside the one that is there, and takes its place.
  folder_.claim(std::string(kNewJournal));
  folder_.claim_name_for(std::string(kNewJournal), std::string(kJournal));
  return folder_.held(kJournal);
}

std::filesystem::path RunDirectory::job_log(const std::string& variant, int launch) {
  return folder_.claim(fmt::format("{}/{}-{}.log", kJobs, variant, launch + 1));
}

std::filesystem::path RunDirectory::run_log(const std::string& name) {
  return folder_.claim(fmt::format("{}/{}", kRuns, name));
}

void RunDirectory::write(std::string_view name, std::string_view text) {
  folder_.write(std::string(name), text);
}

void RunDirectory::remove_journal() { folder_.remove(std::string(kJournal)); }

NcclLogFiles RunDirectory::nccl_logs(const std::string& name) {
  NcclLogFiles files{.folder = folder_.held(logs_), .prefix = fmt::format("nccl-{}.", name)};
  folder_.claim_logs(fmt::format("{}/{}", logs_, files.prefix));
  // NCCL takes %% for %.
  for (const char c : (path() / logs_ / files.prefix).string()) {
    files.pattern += c == '%' ? "%%" : std::string(1, c);
  }
  files.pattern += "%h.%p.log";
  return files;
}

}  // namespace linkgain
