#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "linkgain/plan/run_plan.hpp"
#include "linkgain/run/folder_lock.hpp"

namespace linkgain {

/// The files of one run: record.json, report.md, report.html, run.log, journal.jsonl while it runs,
/// and in jobs/ of each variant and launch the job's output (p2p-1.log) and NCCL's log
/// (nccl-p2p-1.<host>.<pid>.log).
class RunDirectory {
 public:
  static constexpr std::string_view kRecord = "record.json";
  static constexpr std::string_view kReport = "report.md";
  static constexpr std::string_view kPage = "report.html";
  static constexpr std::string_view kLog = "run.log";
  static constexpr std::string_view kJournal = "journal.jsonl";
  static constexpr std::string_view kRuns = "runs";
  static constexpr std::string_view kJobs = "jobs";

  /// Makes the directory asked for, goes on in that of an earlier part, or makes results/<UTC
  /// time>_<host>_<gpus> below the working one, and takes it for this run, unless `lock` has it
  /// already. Throws UsageError where it cannot be written, or another run has it.
  RunDirectory(const RunOptions& options, const RunPlan& plan, const Site& site,
               std::optional<FolderLock> lock = {});
  /// The same of any folder.
  explicit RunDirectory(const std::filesystem::path& path, std::optional<FolderLock> lock = {});

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path record() const { return path_ / kRecord; }
  std::filesystem::path report() const { return path_ / kReport; }
  std::filesystem::path page() const { return path_ / kPage; }
  std::filesystem::path log() const { return path_ / kLog; }
  std::filesystem::path journal() const { return path_ / kJournal; }
  /// Of the logs that `linkgain exec` keeps of each run of a program.
  std::filesystem::path runs() const { return path_ / kRuns; }
  /// Of the logs that `linkgain run` keeps of its jobs.
  std::filesystem::path jobs() const { return path_ / kJobs; }
  std::filesystem::path job_log(const std::string& variant, int launch) const;
  /// Start of the names of NCCL's files in jobs(), and the value for NCCL_DEBUG_FILE.
  std::string nccl_log_prefix(const std::string& variant, int launch) const;
  std::string nccl_log_pattern(const std::string& variant, int launch) const;

 private:
  /// Those of the part that a resumed run goes on from would be read as this one's.
  void remove_nccl_logs() const;

  std::filesystem::path path_;
  std::optional<FolderLock> lock_;
};

/// Makes results/<UTC time>_<host>_<what> below the working folder, with a number where that is
/// there: each call makes another one, also of several at once. Throws UsageError where it cannot.
std::filesystem::path new_run_folder(const std::string& host, const std::string& what);

/// Renames what an earlier run left in a directory (record, report, journal, logs) to *.old, so
/// that nothing of it passes for the next one's, however that ends. Nothing where there is no such
/// directory. Throws UsageError where a file cannot be renamed.
void set_aside_earlier_run(const std::filesystem::path& folder);

/// Takes a folder that is there for a run, and renames what an earlier run left in it (record,
/// report, journal, logs) to *.old, so that nothing of it passes for the next one's, however that
/// ends. Absent where there is no such folder. Throws UsageError where another run has it, or a
/// file cannot be renamed.
std::optional<FolderLock> take_folder(const std::filesystem::path& folder);

}  // namespace linkgain
