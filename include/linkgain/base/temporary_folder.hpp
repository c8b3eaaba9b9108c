#pragma once

#include <filesystem>

#include "linkgain/base/descriptor.hpp"

namespace linkgain {

/// Returns $TMPDIR, or /tmp where that is unset or empty. Throws UsageError where it names no
/// folder.
std::filesystem::path folder_for_temporary_files();

/// A folder of this process's own, removed with all that is in it at the end. It is locked while
/// its owner lives, whatever ends that, so that others can tell one that was left behind. Neither
/// copied nor moved.
class TemporaryFolder {
 public:
  /// Makes one in the folder for temporary files. Throws UsageError where none can be made.
  TemporaryFolder();
  /// Makes one in this folder.
  explicit TemporaryFolder(const std::filesystem::path& parent);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor lock_;
};

/// Removes from `parent` what TemporaryFolder of this user's processes left there that were killed:
/// folders of its names that nobody has locked and nobody has changed for a minute. Those of other
/// hosts stay, and of this one from before it was started anew: a lock tells nothing of them.
void remove_left_folders(const std::filesystem::path& parent);

}  // namespace linkgain
