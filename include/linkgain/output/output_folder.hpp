#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/descriptor.hpp"

namespace linkgain {

/// Returns the path from the root on, without a dot or a slash at its end. Throws UsageError where
/// the current folder is gone.
std::filesystem::path absolute_path(const std::filesystem::path& path);

/// A folder for the results of one run at a time. It stays open, so that a folder or a link that is
/// put in its place later gets nothing; it is locked, so that no other run writes into it, on no
/// host that shares it; and it holds a manifest, ".linkgain", that names every file and folder that
/// linkgain made there, with size and digest of what it wrote. An entry is linkgain's if the
/// manifest names it and it holds that. Of a run that was killed nobody knows what its files hold:
/// they are linkgain's if they are the very files that it made, and are never removed. A folder is
/// linkgain's if all that it holds is. Everything else is the user's: it is never renamed, replaced
/// or removed.
class OutputFolder {
 public:
  static constexpr std::string_view kManifest = ".linkgain";
  static constexpr std::string_view kAnotherFolder = "name another directory with --out DIR";

  /// Makes the folder if it is not there, opens and locks it. Throws UsageError if it cannot be
  /// made or written, another run has it (which it names), or its manifest is not linkgain's.
  explicit OutputFolder(const std::filesystem::path& path);
  OutputFolder(OutputFolder&&) = default;
  OutputFolder& operator=(OutputFolder&&) = delete;
  /// Notes how every file was left. If nothing was written, the manifest becomes what it was, and
  /// what the constructor made goes again.
  ~OutputFolder();

  /// Returns where the folder is now; where it was asked for, if it was removed.
  std::filesystem::path path() const;
  /// Opens an entry of this very folder, whatever its path has come to mean: a path below
  /// /proc/self/fd, for this process alone.
  std::filesystem::path held(std::string_view name) const;

  bool is_there(const std::string& name) const;
  /// Returns whether linkgain made it, and nobody has changed it since.
  bool is_own(const std::string& name) const;
  /// Returns whether it is linkgain's own and what it holds is known, too: it may be removed.
  bool is_as_left(const std::string& name) const;
  /// Throws UsageError if there is something of that name that is not linkgain's; `advice` says
  /// what to do then.
  void require_own(const std::string& name, std::string_view advice = kAnotherFolder) const;
  /// Takes a regular file whose content proves that linkgain wrote it, whoever copied it here.
  void take_as_own(const std::string& name);

  /// Makes an empty file, or takes one that is linkgain's, to be written; returns where. Throws as
  /// require_own().
  std::filesystem::path claim(const std::string& name);
  /// Names a file that a claimed one is going to be renamed to.
  void claim_name_for(const std::string& claimed, const std::string& name);
  /// Names NCCL's logs, which its processes make: PREFIX<host>.<process>.log, .log.now, .log.kept.
  void claim_logs(const std::string& prefix);
  /// Makes a folder, or takes one that is linkgain's. Throws UsageError.
  void make_folder(const std::string& name);
  /// Writes a file in one step: what was there stays whole until then. Throws UsageError.
  void write(const std::string& name, std::string_view text);
  /// Renames what is linkgain's; nothing has the new name. Throws UsageError.
  void rename(const std::string& from, const std::string& to);
  /// Removes what is linkgain's, a folder with all that it holds.
  void remove(const std::string& name);
  /// Lists the names in a folder of linkgain's.
  std::vector<std::string> entries(const std::string& folder) const;

 private:
  struct Entry {
    bool is_folder = false;
    std::string held{};      ///< size and digest of a file; empty while it is written
    std::string identity{};  ///< of that file, then
  };

  bool lock();
  void read_manifest();
  static std::string line_of(const std::string& name, const Entry& entry);
  void note(const std::string& name, const Entry& entry);
  void forget(const std::string& name);
  void seal();
  const Entry* find(const std::string& name) const;
  std::optional<std::string> why_not_own(const std::string& name) const;
  std::string identity_of(const std::string& name) const;
  std::string state_of(const std::string& name) const;
  std::string line_when_left(const std::string& name, const Entry& entry) const;

  std::filesystem::path asked_;
  std::vector<std::filesystem::path> made_;  ///< by the constructor, the innermost first
  Descriptor folder_;
  Descriptor manifest_;
  bool made_manifest_ = false;
  std::uintmax_t begun_at_ = 0;         ///< bytes of the manifest before this run
  bool changed_ = false;                ///< anything in the folder, since
  std::map<std::string, Entry> named_;  ///< a name that ends with * is of claim_logs()
  std::set<std::string> identities_;    ///< of all files that were being written
  std::set<std::string> written_;       ///< by this object
};

}  // namespace linkgain
