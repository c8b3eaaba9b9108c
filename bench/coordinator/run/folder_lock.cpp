#include "linkgain/run/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/visible_text.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

[[noreturn]] void refuse_file(const std::filesystem::path& file, std::string_view why) {
  throw UsageError(
      fmt::format("{} cannot be opened, which keeps other runs out: {}", file.string(), why),
      "remove it, or name another directory with --out DIR");
}

[[noreturn]] void refuse(const std::filesystem::path& folder, const std::filesystem::path& file) {
  constexpr std::size_t kMostBytes = 1024;
  const std::string holder = read_regular_file(file, kMostBytes).value_or("");
  throw UsageError(fmt::format("{} is in use by another run{}", folder.string(),
                               holder.empty() ? "" : fmt::format(", {}", visible(holder))),
                   "wait for its end, or name another directory with --out DIR");
}

/// Whether the name still stands for the file: its holder before removed it.
bool is_at(const std::filesystem::path& file, const Descriptor& open) {
  struct stat named {};
  struct stat own {};
  return ::lstat(file.c_str(), &named) == 0 && ::fstat(open.get(), &own) == 0 &&
         named.st_ino == own.st_ino && named.st_dev == own.st_dev;
}

/// The lock's file; opening it waits for nobody. None where nothing can be written into the folder,
/// which what is written there next says.
Descriptor open_lock(const std::filesystem::path& file) {
  constexpr int kFlags = O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
  Descriptor opened(::open(file.c_str(), O_RDWR | O_CREAT | kFlags, 0644));
  // Another user's may be read, and a lock needs no more.
  if (!opened && errno == EACCES) opened = Descriptor(::open(file.c_str(), O_RDONLY | kFlags));
  static constexpr std::array<int, 4> kNothingWritten{ENOENT, EROFS, ENOSPC, EDQUOT};
  if (!opened && std::ranges::find(kNothingWritten, errno) == kNothingWritten.end()) {
    refuse_file(file, std::generic_category().message(errno));
  }
  struct stat found {};
  if (opened && (::fstat(opened.get(), &found) != 0 || !S_ISREG(found.st_mode))) {
    refuse_file(file, "it is no regular file");
  }
  return opened;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) : file_(folder / ".lock") {
  while (!lock_) {
    Descriptor file = open_lock(file_);
    if (!file) return;
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) refuse(folder, file_);
      return;
    }
    if (is_at(file_, file)) lock_ = std::move(file);
  }
  const std::string holder = fmt::format("process {} on {}", ::getpid(), host_name());
  if (::ftruncate(lock_.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::write(lock_.get(), holder.data(), holder.size());
  }
}

FolderLock::~FolderLock() {
  if (lock_) ::unlink(file_.c_str());
}

}  // namespace linkgain
