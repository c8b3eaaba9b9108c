#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/process/signals.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/run_directory.hpp"

/// What `run` and `exec` do alike about the files that they keep.
namespace linkgain {

/// A warning for each of the variables by which tests plant faults, in this environment or in a
/// variant's: such a run measures nothing.
std::vector<Warning> warnings_of_test_variables(const Environment& environment,
                                                const std::vector<Variant>& variants);

/// Writes record and report of a run that is over into its folder, and removes its journal. A
/// record that cannot be written there, as on a full disk, goes into the folder for temporary
/// files; a warning says so, and the record's exit code becomes ExitCode::incomplete unless a
/// signal ended the run. Throws nothing that has to do with files.
void keep(Record& record, const RunDirectory& directory);

/// Ends the watch, so that a signal ends the program again while it prints what nobody may read,
/// and prints; returns the record's exit code. Throws UsageError where not all could be written.
int print_kept(const Record& record, std::optional<SignalWatch>& watch,
               const std::function<void()>& print);

}  // namespace linkgain
