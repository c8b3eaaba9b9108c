#pragma once

#include <filesystem>
#include <string_view>

#include "linkgain/plan/site.hpp"

namespace linkgain {

/// Parses the text of an Open MPI hostfile, as mpirun reads it: a host a line with words such as
/// `slots = 4`, `max_slots=8` or `username=ann`; `#` and `//` before a comment, `/* */` around one.
/// Another line of a host adds a slot. Slots are known where every host states them, or some host
/// stands on several lines. Names of this host are one. Throws UsageError with the line where
/// mpirun would refuse the file, and for words that it passes over.
Hosts parse_hostfile(std::string_view text);

/// Parses a file. Throws UsageError if it cannot be read, too.
Hosts read_hostfile(const std::filesystem::path& path);

}  // namespace linkgain
