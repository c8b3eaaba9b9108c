#include "linkgain/base/temporary_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/helper_process.hpp"
#include "linkgain/base/process_entry.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kNameEnd = "XXXXXX";

/// Returns as much of the host's name as tells people whose folder it is, and no dot.
std::string short_host_name() {
  constexpr std::size_t kMost = 15;
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  std::string result(name.data());
  std::erase_if(result, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return result.substr(0, kMost);
}

/// Returns "linkgain-job.node1-f78d558a.": nobody gives a folder of results such a name. Locks need
/// not reach beyond the kernel that gave them, as on NFS, so another one never removes the folder.
std::string name_begin() {
  constexpr std::size_t kDigits = 8;
  return "linkgain-job." + short_host_name() + '-' + boot_id().substr(0, kDigits) + '.';
}

Descriptor open_folder(const std::filesystem::path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool locks(const Descriptor& folder) { return ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0; }

/// Returns whether it is as mkdtemp() made it for this user, and not so new that it may not be
/// locked yet.
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
  std::string name = (parent / name_begin()).string() + std::string(kNameEnd);
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
  if (boot_id().empty()) return;
  const std::string begin = name_begin();
  std::error_code error;
  for (std::filesystem::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(begin) || name.size() != begin.size() + kNameEnd.size()) continue;
    const Descriptor folder = open_folder(entry->path());
    if (!folder || !may_be_left(folder) || !locks(folder)) continue;
    std::error_code in_use;
    std::filesystem::remove_all(entry->path(), in_use);
  }
}

}  // namespace linkgain
