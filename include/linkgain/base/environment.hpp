#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/temporary_folder.hpp"

namespace linkgain {

/// Environment variables by name.
using Environment = std::map<std::string, std::string>;

/// Returns the value of a variable, empty where it is not set.
std::string value_of(const Environment& environment, const std::string& name);

/// Returns this process's environment.
Environment current_environment();

/// Writes each variable as execve() takes it: "NAME=value".
std::vector<std::string> assignments_of(const Environment& environment);

/// Makes execve()'s array, with its end; it points into `texts`.
std::vector<char*> exec_array(const std::vector<std::string>& texts);

/// Returns whether a text begins like VARIABLE=, with a name that a shell takes.
bool is_assignment(std::string_view text);

/// Adds what every mpirun is started with, unless it is set. Its hwloc leaves X displays and OpenCL
/// alone, which no job needs: to find displays its plugin looks the name "localhost" up, which
/// takes seconds for each job, and most of them their time to start, where no /etc/hosts has it.
/// Takes an empty TMPDIR away, where mpirun would make its folders in the root.
void prepare_for_mpirun(Environment& environment);

/// Makes a folder for the shared memory of one job's ranks, of which nobody else would remove the
/// files where they or their mpirun are killed. Null where there can be none: Open MPI then has its
/// own ways.
std::unique_ptr<TemporaryFolder> folder_for_segments();

/// Removes such folders whose owners were killed, as remove_left_folders() does.
void remove_left_segments();

/// Has ranks keep their shared memory in this folder of theirs, unless the user set one.
void name_segments_folder(const std::filesystem::path& folder, Environment& environment);

}  // namespace linkgain
