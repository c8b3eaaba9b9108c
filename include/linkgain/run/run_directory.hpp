#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "linkgain/output/output_folder.hpp"
#include "linkgain/plan/run_plan.hpp"
#include "linkgain/race/tuning.hpp"
#include "linkgain/telemetry/nccl_log.hpp"

namespace linkgain {

/// The files of one run: record.json, report.md, report.html, run.log, journal.jsonl while it runs,
/// and in jobs/ of each variant and launch the job's output (p2p-1.log) and NCCL's log
/// (nccl-p2p-1.<host>.<pid>.log). Of `linkgain exec` runs/ has the log of each run instead.
///
/// Paths that it gives are of the folder as it was opened (OutputFolder::held()), for this process
/// alone, unless it says otherwise.
class RunDirectory {
 public:
  static constexpr std::string_view kRecord = "record.json";
  static constexpr std::string_view kReport = "report.md";
  static constexpr std::string_view kPage = "report.html";
  static constexpr std::string_view kTuner = kTunerFile;
  static constexpr std::string_view kLog = "run.log";
  static constexpr std::string_view kJournal = "journal.jsonl";
  static constexpr std::string_view kRuns = "runs";
  static constexpr std::string_view kJobs = "jobs";

  /// Takes a folder, made if it is not there, for a new run whose logs are in `logs`. Renames what
  /// an earlier run left in it to *.old, so that nothing of it passes for the new one's, however
  /// that ends. Throws UsageError before it touches anything if a name that the run needs is taken
  /// by what linkgain did not write, another run has the folder, or it cannot be written.
  static RunDirectory begin(const std::filesystem::path& path, std::string_view logs);
  /// Takes the folder of a run that goes on. Throws as begin(), but not of the journal, or without
  /// one the record: whoever reads it finds that linkgain wrote it, and it may be a copy.
  static RunDirectory go_on(const std::filesystem::path& path);

  /// Says what an earlier run left and begin() renamed, as a sentence; empty if there was nothing.
  const std::string& set_aside() const { return set_aside_; }
  /// Makes the folder of its logs, and removes NCCL's logs of the part that a run goes on from,
  /// which would be read as this one's. Before any log.
  void make_logs();

  /// Returns where people find it.
  std::filesystem::path path() const { return folder_.path(); }
  /// Names the file in the manifest, as all do that write into the folder. They throw UsageError
  /// where one that linkgain did not write is there.
  std::filesystem::path log();
  std::filesystem::path journal();
  std::filesystem::path job_log(const std::string& variant, int launch);
  std::filesystem::path run_log(const std::string& name);
  void write(std::string_view name, std::string_view text);
  void remove_journal();
  /// Names the files of NCCL's logs of a job or a run of that name, for each process one.
  NcclLogFiles nccl_logs(const std::string& name);

 private:
  RunDirectory(OutputFolder folder, std::string_view logs)
      : folder_(std::move(folder)), logs_(logs) {}
  void set_aside_earlier_run();

  OutputFolder folder_;
  std::string logs_;
  std::string set_aside_;
  std::string goes_on_from_;  ///< empty of a new run
};

/// Makes the folder of a run that nobody named: results/<UTC time>_<host>_<what> below the working
/// one, with a number where that is there. Each call makes another one, also of several at once.
/// Throws UsageError where it cannot.
std::filesystem::path new_run_folder(const std::string& host, const std::string& what);
/// Makes the folder of a run by its plan: <what> are its ranks and GPUs.
std::filesystem::path new_run_folder(const RunPlan& plan, const Site& site);

}  // namespace linkgain
