#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace linkgain {

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
