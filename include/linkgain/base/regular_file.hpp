#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/reading.hpp"

/// Files of others are read as what they should be, and ours are written where they should be.
namespace linkgain {

/// More than any record, journal or log has; a device, as /dev/zero, has no end.
inline constexpr std::size_t kMostFileBytes = std::size_t{2} << 30;

/// Returns the bytes of a regular file of at most `limit`; else why there are none. Waits for
/// nobody: a pipe, a device or a folder is no regular file.
Reading<std::string> read_regular_file(const std::filesystem::path& path,
                                       std::size_t limit = kMostFileBytes);

/// Returns a regular file opened for reading, else why it is not. The descriptor is the caller's,
/// and closed on exec.
Reading<int> open_regular_file(const std::filesystem::path& path);

/// Whether a file is opened to be written anew, or to be added to.
enum class WriteMode { anew, append };

/// Opens a regular file to write, made where there is none. Waits for nobody: a link in its place
/// is not followed, and a pipe or a device is not opened. The descriptor is the caller's, and
/// closed on exec; -1 where it cannot be opened, which errno says.
int open_to_write(const std::filesystem::path& path, WriteMode mode);

/// Opens the same; throws UsageError where it cannot be opened.
int must_open_to_write(const std::filesystem::path& path, WriteMode mode);

/// What becomes of a file that has the name already.
enum class Existing { kept, replaced };

/// Renames a file or a folder, unless something has the new name; false then, or where it cannot,
/// which errno says.
bool rename_to_free_name(const std::filesystem::path& from, const std::filesystem::path& to);

/// Writes text to `path` by way of a synced temporary file beside it: what was there before stays
/// whole until then. Throws UsageError where it cannot, and where a file that is to be kept is
/// there.
void write_file_atomically(const std::filesystem::path& path, std::string_view text,
                           Existing existing);

/// Writes all of `text` and syncs it; throws UsageError naming `what` on failure.
void write_fully(int descriptor, std::string_view text, const std::string& what);

/// Returns how people know a path below /proc/self/fd: by the name that the open folder has now.
/// Any other path is itself.
std::filesystem::path path_of_held(const std::filesystem::path& path);

/// Makes a write beyond the limit of a file's size (`ulimit -f`) an error, EFBIG, as it is on a
/// full disk, and not the program's end. Programs that this one becomes or starts have the default.
/// To be called first in main().
void make_file_size_limit_an_error() noexcept;

/// What linkgain writes into a file that its user names, and how it knows one again: only such a
/// file is replaced.
struct FileKind {
  std::string_view name;  ///< "a baseline"
  bool (*is_written_by_us)(std::string_view text);
};

/// Throws UsageError if there is something at `path` that is not a file of this kind by linkgain,
/// or a link, a pipe or a device, or a file that nobody may write.
void require_own_file(const std::filesystem::path& path, const FileKind& kind);

/// Writes a file of this kind in one step. Throws UsageError as require_own_file(), and where it
/// cannot be written.
void write_own_file(const std::filesystem::path& path, const FileKind& kind, std::string_view text);

/// A file of a command's and how the command line names it: "--junit".
struct NamedFile {
  std::string_view name;
  std::optional<std::filesystem::path> path;  ///< absent: not asked for
  const FileKind* kind = nullptr;             ///< of outputs that are looked at here
};

/// Throws UsageError where an output is the same file as an input or another output, or would be
/// once it is made, and as require_own_file().
void require_own_outputs(const std::vector<NamedFile>& inputs,
                         const std::vector<NamedFile>& outputs);

}  // namespace linkgain
