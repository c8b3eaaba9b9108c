#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "linkgain/base/reading.hpp"

/// Files of others are read as what they should be, and ours are written where they should be.
namespace linkgain {

/// More than any record, journal or log has; a device, as /dev/zero, has no end.
inline constexpr std::size_t kMostFileBytes = std::size_t{2} << 30;

/// The bytes of a regular file of at most `limit`; else why there are none. Waits for nobody: a
/// pipe, a device or a folder is no regular file.
Reading<std::string> read_regular_file(const std::filesystem::path& path,
                                       std::size_t limit = kMostFileBytes);

/// A regular file opened for reading, else why it is not. The descriptor is the caller's, and
/// closed on exec.
Reading<int> open_regular_file(const std::filesystem::path& path);

/// Whether a file is opened to be written anew, or to be added to.
enum class WriteMode { anew, append };

/// Opens a regular file to write, made where there is none. Waits for nobody: a link in its place
/// is not followed, and a pipe or a device is not opened. The descriptor is the caller's, and
/// closed on exec; -1 where it cannot be opened, which errno says.
int open_to_write(const std::filesystem::path& path, WriteMode mode);

/// From now on a write beyond the limit of a file's size (`ulimit -f`) is an error, EFBIG, as it is
/// on a full disk, and not the program's end. Programs that this one becomes or starts have the
/// default. To be called first in main().
void make_file_size_limit_an_error() noexcept;

}  // namespace linkgain
