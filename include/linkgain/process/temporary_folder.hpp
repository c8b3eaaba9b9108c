#pragma once

#include <filesystem>

namespace linkgain {

/// A folder of this process's own in the one for temporary files ($TMPDIR, else /tmp), removed with
/// all that is in it at the end. Neither copied nor moved.
class TemporaryFolder {
 public:
  /// Throws UsageError where none can be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace linkgain
