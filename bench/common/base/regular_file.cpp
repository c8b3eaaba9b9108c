#include "linkgain/base/regular_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>
#include <system_error>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

using Text = Reading<std::string>;

/// Reads to the end, for files of /proc and /sys state no size, or one that is not theirs.
Text read_all(int descriptor, std::size_t size, std::size_t limit) {
  std::string text;
  text.reserve(std::min(size, limit));
  std::array<char, 65536> chunk;
  while (true) {
    const ssize_t count = ::read(descriptor, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Missing{std::strerror(errno)};
    if (count == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
    if (text.size() > limit) return Missing{fmt::format("it has more than {} bytes", limit)};
  }
}

[[noreturn]] void refuse(const std::filesystem::path& path, int error) {
  throw UsageError(
      fmt::format("cannot write {}: {}", path_of_held(path).string(), std::strerror(error)),
      "name a file or a directory that can be written");
}

bool are_same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  std::error_code error;
  if (std::filesystem::equivalent(one, other, error)) return true;
  const auto resolved = [](const std::filesystem::path& path) {
    std::error_code unknown;
    const std::filesystem::path whole = std::filesystem::absolute(path, unknown);
    const std::filesystem::path found = std::filesystem::weakly_canonical(whole, unknown);
    return unknown ? whole.lexically_normal() : found;
  };
  return resolved(one) == resolved(other);
}

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view why,
                         std::string_view advice) {
  throw UsageError(fmt::format("cannot write {}: {}", path.string(), why), std::string(advice));
}

}  // namespace

Reading<int> open_regular_file(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return Missing{std::strerror(errno)};
  struct stat found {};
  if (::fstat(file, &found) == 0 && S_ISREG(found.st_mode)) return file;
  ::close(file);
  return Missing{S_ISDIR(found.st_mode) ? "it is a folder" : "it is no regular file"};
}

Reading<std::string> read_regular_file(const std::filesystem::path& path, std::size_t limit) {
  const Reading<int> file = open_regular_file(path);
  if (!file.measured()) return Missing{file.reason()};
  struct stat found {};
  ::fstat(file.value(), &found);
  Text text = read_all(file.value(), static_cast<std::size_t>(found.st_size), limit);
  ::close(file.value());
  return text;
}

int open_to_write(const std::filesystem::path& path, WriteMode mode) {
  const int how = mode == WriteMode::append ? O_APPEND : O_TRUNC;
  constexpr int kWaitsForNobody = O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | kWaitsForNobody | how, 0644);
  struct stat found {};
  if (file < 0 || (::fstat(file, &found) == 0 && S_ISREG(found.st_mode))) return file;
  ::close(file);
  errno = ENXIO;  // as of a pipe that nobody reads
  return -1;
}

int must_open_to_write(const std::filesystem::path& path, WriteMode mode) {
  const int file = open_to_write(path, mode);
  if (file < 0) refuse(path, errno);
  return file;
}

void write_fully(int descriptor, std::string_view text, const std::string& what) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw UsageError(fmt::format("cannot write {}: {}", what, std::strerror(errno)),
                       "check the space and the permissions of its directory");
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS) {
    throw UsageError(fmt::format("cannot sync {}: {}", what, std::strerror(errno)));
  }
}

bool rename_to_free_name(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // The file system, as NFS, knows only renames that replace.
  std::error_code unknown;
  const auto found = std::filesystem::symlink_status(to, unknown).type();
  if (found == std::filesystem::file_type::not_found) {
    return ::rename(from.c_str(), to.c_str()) == 0;
  }
  errno = EEXIST;
  return false;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text,
                           Existing existing) {
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{:08x}.tmp", std::random_device{}());
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) refuse(path, errno);
  try {
    write_fully(descriptor, text, path_of_held(path).string());
  } catch (...) {
    ::close(descriptor);
    ::unlink(temporary.c_str());
    throw;
  }
  ::close(descriptor);
  const bool is_renamed = existing == Existing::replaced
                              ? ::rename(temporary.c_str(), path.c_str()) == 0
                              : rename_to_free_name(temporary, path);
  if (is_renamed) return;
  const int error = errno;
  ::unlink(temporary.c_str());
  refuse(path, error);
}

std::filesystem::path path_of_held(const std::filesystem::path& path) {
  static constexpr std::string_view kHeld = "/proc/self/fd/";
  static constexpr std::string_view kRemoved = " (deleted)";
  const std::string text = path.string();
  if (!text.starts_with(kHeld)) return path;
  const std::size_t end = std::min(text.find('/', kHeld.size()), text.size());
  std::error_code error;
  std::string folder = std::filesystem::read_symlink(text.substr(0, end), error).string();
  if (error) return path;
  if (folder.ends_with(kRemoved)) folder.resize(folder.size() - kRemoved.size());
  const std::filesystem::path name = text.substr(std::min(end + 1, text.size()));
  return name.empty() || name == "." ? std::filesystem::path(folder) : folder / name;
}

void make_file_size_limit_an_error() noexcept {
  struct sigaction pass {};
  pass.sa_handler = [](int) {};  // unlike SIG_IGN it does not outlive exec
  pass.sa_flags = SA_RESTART;
  sigaction(SIGXFSZ, &pass, nullptr);
}

void require_own_file(const std::filesystem::path& path, const FileKind& kind) {
  constexpr std::string_view kOther = "name another file";
  using enum std::filesystem::file_type;
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::symlink_status(path, error);
  if (found.type() == not_found) return;
  if (found.type() == symlink) refuse(path, "it is a link", "name the file itself");
  if (found.type() == directory) refuse(path, "it is a folder", kOther);
  if (found.type() != regular) refuse(path, "it is no regular file", kOther);
  constexpr auto kWrite = std::filesystem::perms::owner_write |
                          std::filesystem::perms::group_write |
                          std::filesystem::perms::others_write;
  if ((found.permissions() & kWrite) == std::filesystem::perms::none) {
    refuse(path, "it is read-only", kOther);
  }
  const Reading<std::string> text = read_regular_file(path);
  if (!text.measured()) refuse(path, text.reason(), kOther);
  if (kind.is_written_by_us(text.value())) return;
  refuse(path, fmt::format("it is there and is not {} by linkgain", kind.name),
         "remove it, or name another file");
}

void write_own_file(const std::filesystem::path& path, const FileKind& kind,
                    std::string_view text) {
  require_own_file(path, kind);
  std::error_code unknown;
  const bool is_there = std::filesystem::exists(path, unknown);
  write_file_atomically(path, text, is_there ? Existing::replaced : Existing::kept);
}

void require_own_outputs(const std::vector<NamedFile>& inputs,
                         const std::vector<NamedFile>& outputs) {
  std::vector<NamedFile> others = inputs;
  for (const NamedFile& output : outputs) {
    if (!output.path) continue;
    for (const NamedFile& other : others) {
      if (!other.path || !are_same_file(*output.path, *other.path)) continue;
      throw UsageError(fmt::format("{} {} and {} {} are the same file", other.name,
                                   other.path->string(), output.name, output.path->string()));
    }
    others.push_back(output);
  }
  for (const NamedFile& output : outputs) {
    if (output.path && output.kind != nullptr) require_own_file(*output.path, *output.kind);
  }
}

}  // namespace linkgain
