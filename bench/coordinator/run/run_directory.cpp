#include "linkgain/run/run_directory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

/// "NVIDIA H200" as "H200", "NVIDIA GeForce RTX 3090" as "GeForce-RTX-3090".
std::string short_name(std::string name) {
  constexpr std::string_view kMaker = "NVIDIA ";
  if (name.starts_with(kMaker)) name.erase(0, kMaker.size());
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.') c = '-';
  }
  return name;
}

std::filesystem::path default_path(const RunPlan& plan, const Site& site) {
  return new_run_folder(site.host,
                        plan.backend == BackendKind::mpi
                            ? fmt::format("mpi-np{}", plan.ranks)
                            : fmt::format("{}x{}", plan.ranks, short_name(site.gpu_name)));
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

std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code problem;
  const std::filesystem::path absolute = std::filesystem::absolute(path, problem);
  if (!problem) return absolute;
  throw UsageError(fmt::format("{} is in the current folder, which cannot be found: {}",
                               path.string(), problem.message()),
                   "change to a folder that is there, or name one from / on with --out DIR");
}

bool is_of_a_run(const std::string& name) {
  return name == RunDirectory::kRecord || name == RunDirectory::kReport ||
         name == RunDirectory::kPage || name == RunDirectory::kJournal ||
         name == RunDirectory::kLog || name == RunDirectory::kRuns || name == RunDirectory::kJobs;
}

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

void set_aside_earlier_run(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_of_a_run(entry->path().filename())) files.push_back(entry->path());
  }
  for (const std::filesystem::path& file : files) {
    // A folder is not renamed over another one.
    if (std::filesystem::is_directory(file)) std::filesystem::remove_all(file.string() + ".old");
    std::filesystem::rename(file, file.string() + ".old", error);
    if (!error) continue;
    throw UsageError(fmt::format("{} is of an earlier run and cannot be renamed to *.old: {}",
                                 file.string(), error.message()),
                     "name another directory with --out DIR");
  }
}

std::optional<FolderLock> take_folder(const std::filesystem::path& folder) {
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) return std::nullopt;
  FolderLock lock(folder);
  set_aside_earlier_run(folder);
  return lock;
}

RunDirectory::RunDirectory(const RunOptions& options, const RunPlan& plan, const Site& site,
                           std::optional<FolderLock> lock)
    : RunDirectory(options.resume ? *options.resume
                   : options.out  ? *options.out
                                  : default_path(plan, site),
                   std::move(lock)) {
  if (std::filesystem::is_symlink(jobs())) {
    throw UsageError(fmt::format("{} is a link, which is not followed", jobs().string()),
                     "remove it, or name another directory with --out DIR");
  }
  make_folder(jobs());
  remove_nccl_logs();
}

RunDirectory::RunDirectory(const std::filesystem::path& path, std::optional<FolderLock> lock)
    : path_(absolute_path(path)), lock_(std::move(lock)) {
  make_folder(path_);
  if (::access(path_.c_str(), W_OK | X_OK) != 0) {
    throw UsageError(fmt::format("cannot write into {}", path_.string()),
                     "name a directory that can be written with --out DIR");
  }
  if (!lock_) lock_.emplace(path_);
}

void RunDirectory::remove_nccl_logs() const {
  for (const auto& entry : std::filesystem::directory_iterator(jobs())) {
    if (entry.path().filename().string().starts_with("nccl-")) {
      std::filesystem::remove(entry.path());
    }
  }
}

std::filesystem::path RunDirectory::job_log(const std::string& variant, int launch) const {
  return jobs() / fmt::format("{}-{}.log", variant, launch + 1);
}

std::string RunDirectory::nccl_log_prefix(const std::string& variant, int launch) const {
  return fmt::format("nccl-{}-{}.", variant, launch + 1);
}

std::string RunDirectory::nccl_log_pattern(const std::string& variant, int launch) const {
  // NCCL takes %% for %.
  std::string pattern;
  for (const char c : (jobs() / nccl_log_prefix(variant, launch)).string()) {
    pattern += c == '%' ? "%%" : std::string(1, c);
  }
  return pattern + "%h.%p.log";
}

}  // namespace linkgain
