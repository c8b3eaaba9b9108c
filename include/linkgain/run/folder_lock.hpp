#pragma once

#include <filesystem>

#include "linkgain/base/descriptor.hpp"

namespace linkgain {

/// The sole use of a run's folder: while one lives, no other process gets one of the same folder,
/// on no host that shares it. It is a lock on the file ".lock" there, which names its holder; where
/// the file system knows no locks there is none. Ends with the process, whatever ends that.
class FolderLock {
 public:
  /// The folder must be there. Throws UsageError that names the holder where there is one, and
  /// where
  /// ".lock" is none that can be opened.
  explicit FolderLock(const std::filesystem::path& folder);
  FolderLock(FolderLock&&) = default;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  std::filesystem::path file_;
  Descriptor lock_;
};

}  // namespace linkgain
