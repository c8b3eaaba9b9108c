#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/process/signals.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/run_directory.hpp"

/// What `run`, `exec` and `report` print and keep of a record, whichever of the first two measured
/// it.
namespace linkgain {

/// The lines of a run's log are appended to it; null where it cannot be written.
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using LogFile = std::unique_ptr<std::FILE, CloseFile>;
LogFile open_log(RunDirectory& directory);

/// Takes the folder of a new run, and says on standard error what of an earlier one was renamed.
/// Throws what RunDirectory::begin() throws.
RunDirectory begin_in(const std::filesystem::path& folder, std::string_view logs);

/// Makes a warning for each of the variables by which tests plant faults, in this environment or in
/// a variant's: such a run measures nothing.
std::vector<Warning> warnings_of_test_variables(const Environment& environment,
                                                const std::vector<Variant>& variants);

struct ResultStyle {
  bool json = false;  ///< the record, without samples; else the last screen
  bool color = true;
  std::size_t told = 0;  ///< first warnings of the record that stand on this terminal already
};

/// Writes record, report and page of a run that is over into its folder, and removes its journal. A
/// record that cannot be written there, as on a full disk, goes into the folder for temporary
/// files; a warning says so, and the record's exit code becomes ExitCode::incomplete unless a
/// signal ended the run. So it does of a record that this program would refuse to read, of which
/// the journal stays.
///
/// Then ends the watch, so that a signal ends the program again while it prints what nobody may
/// read, and prints; returns the record's exit code. Throws UsageError where not all could be
/// printed.
int keep_and_print(Record& record, RunDirectory& directory, ResultStyle style,
                   std::optional<SignalWatch>& watch);

}  // namespace linkgain
