#pragma once

#include <filesystem>
#include <optional>

#include "linkgain/process/descriptor.hpp"

namespace linkgain {

/// The sole use of a run's folder: while one lives, no other process gets one of the same folder,
/// on no host that shares it. It is a lock on the file ".lock" there, which names its holder; where
/// the file system knows no locks there is none. Ends with the process, whatever ends that.
class FolderLock {
 public:
  /// The folder must be there. Throws UsageError that names the holder where there is one.
  explicit FolderLock(const std::filesystem::path& folder);
  FolderLock(FolderLock&&) = default;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  std::filesystem::path file_;
  Descriptor lock_;
};

/// Takes a folder that is there for a run, and renames what an earlier run left in it (record,
/// report, journal, logs) to *.old, so that nothing of it passes for the next one's, however that
/// ends. Absent where there is no such folder. Throws UsageError where another run has it, or a
/// file cannot be renamed.
std::optional<FolderLock> take_folder(const std::filesystem::path& folder);

}  // namespace linkgain
