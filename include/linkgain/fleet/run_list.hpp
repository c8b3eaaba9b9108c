#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

/// Where runs are kept unless --out says otherwise, below the working directory.
inline constexpr std::string_view kResultsFolder = "results";

/// What is shown of one run.
struct ListedRun {
  std::filesystem::path path;  ///< the run's directory, or one that may not be read
  std::string started;         ///< UTC, "2026-11-20T16:40:00Z"
  std::string label;           ///< empty: none
  std::string machine;         ///< "node1, 2 x NVIDIA H200"
  std::string profile;
  std::optional<int> cases = 0;  ///< nothing of a journal, which lacks what was to come
  int measured = 0;              ///< cases that some variant has a time of
  std::string result;     ///< "12.3x all_reduce 1 GiB"; empty where nothing is shown to differ
  std::string no_result;  ///< then why, in a word: "inconclusive", "not switched", "failed"
  /// What ending_of() says of a record or a journal; "unreadable".
  std::string status;
  std::string disturbed_by{};  ///< codes of warnings that say so, by spaces
  bool is_in_future = false;   ///< where some other run is not
};

/// Lists every run in `folder` or below it, the newest first, then those in the future, the
/// unreadable last, among them folders that may not be read. Throws UsageError where there is no
/// such folder.
std::vector<ListedRun> list_runs(const std::filesystem::path& folder);

/// Returns a status as that of a fleet: a problem where some cannot be read, usage where none can.
ExitCode exit_code_of(const std::vector<ListedRun>& runs);

/// Returns the directory of the run in `folder` or below it that was started last, of those that
/// can be read. Throws UsageError where there is none.
std::filesystem::path latest_run(const std::filesystem::path& folder = kResultsFolder);

/// Reads a label as --label takes it: 1 to 64 letters, digits, '.', '_', '+', '=' and '-', a letter
/// or digit first. Throws UsageError.
std::string parse_label(const std::string& text);

/// Returns `named` itself where it is there or can be no label; else the directory of the run in
/// `folder` that has this name, as run_list() shows it, or bears this label. Throws UsageError
/// where none or several do, and for a folder that is no run but holds some.
std::filesystem::path find_run(const std::filesystem::path& named,
                               const std::filesystem::path& folder = kResultsFolder);

/// Makes a row for each of the runs in `folder`, which the first title names.
Table run_list(const std::vector<ListedRun>& runs, const std::filesystem::path& folder);
std::string run_list_csv(const std::vector<ListedRun>& runs);
std::string run_list_json(const std::vector<ListedRun>& runs);

}  // namespace linkgain
