#include "linkgain/base/temporary_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/helper_process.hpp"

namespace linkgain {
namespace {

/// Of a name that nobody gives a folder of results.
constexpr std::string_view kNameBegin = "linkgain-job.";
constexpr std::string_view kNameEnd = "XXXXXX";

Descriptor open_folder(const std::filesystem::path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool locks(const Descriptor& folder) { return ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0; }

/// As mkdtemp() made it for this user, and not so new that it may not be locked yet.
bool may_be_left(const Descriptor& folder) {
  constexpr std::time_t kNew = 60;  // seconds
  struct stat found {};
  return ::fstat(folder.get(), &found) == 0 && found.st_uid == ::geteuid() &&
         (found.st_mode & ACCESSPERMS) == S_IRWXU && std::time(nullptr) - found.st_mtime > kNew;
}

}  // namespace

std::filesystem::path folder_for_temporary_files() {
  const char* const named = std::getenv("TMPDIR");
  std::filesystem::path folder = named != nullptr && *named != '\0' ? named : "/tmp";
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return folder;
  throw UsageError("TMPDIR names no folder", "set it to one, or leave it out");
}

TemporaryFolder::TemporaryFolder() : TemporaryFolder(folder_for_temporary_files()) {}

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent) {
  std::string name = (parent / kNameBegin).string() + std::string(kNameEnd);
  if (::mkdtemp(name.data()) == nullptr) {
    throw UsageError("cannot make a folder in " + parent.string(),
                     "set TMPDIR to one that can be written");
  }
  path_ = name;
  lock_ = open_folder(path_);
  if (lock_) locks(lock_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (!error) return;
  // This process may have no descriptor left, of which a helper has all.
  HelperProcess("linkgain-remove", {}, [&] { std::filesystem::remove_all(path_); }).wait();
}

void remove_left_folders(const std::filesystem::path& parent) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kNameBegin) || name.size() != kNameBegin.size() + kNameEnd.size()) {
      continue;
    }
    const Descriptor folder = open_folder(entry->path());
    if (!folder || !may_be_left(folder) || !locks(folder)) continue;
    std::error_code in_use;
    std::filesystem::remove_all(entry->path(), in_use);
  }
}

}  // namespace linkgain
