#include "linkgain/run/output_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <system_error>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/visible_text.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kHeader =
    "# Files that linkgain made here: size, modification time, name. It renames, replaces and "
    "removes these alone.\n";
constexpr std::string_view kHolder = "# in use by ";
constexpr std::string_view kBeingWritten = "- ";
constexpr std::string_view kFolder = "d ";
constexpr std::string_view kGone = "x ";
constexpr std::string_view kAdvice = "name another directory with --out DIR";

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void refuse_to_make(const std::filesystem::path& path, const std::string& why) {
  throw UsageError(fmt::format("cannot make {}: {}", path.string(), why),
                   "name a directory that can be written with --out DIR");
}

std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code problem;
  std::filesystem::path absolute = std::filesystem::absolute(path, problem);
  if (problem) {
    throw UsageError(fmt::format("{} is in the current folder, which cannot be found: {}",
                                 path.string(), problem.message()),
                     "change to a folder that is there, or name one from / on with --out DIR");
  }
  const bool is_plain = absolute.has_filename() && absolute.filename() != ".";
  return is_plain ? absolute : absolute.parent_path();
}

/// Makes a folder and those above it; those that were not there, the innermost first.
std::vector<std::filesystem::path> make_folders(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> missing;
  std::error_code problem;
  for (std::filesystem::path each = path; !std::filesystem::exists(each, problem);
       each = each.parent_path()) {
    if (problem || each == each.parent_path()) break;
    missing.push_back(each);
  }
  std::vector<std::filesystem::path> made;
  for (auto each = missing.rbegin(); each != missing.rend(); ++each) {
    if (std::filesystem::create_directory(*each, problem)) made.insert(made.begin(), *each);
    if (!problem) continue;
    for (const std::filesystem::path& own : made) ::rmdir(own.c_str());
    refuse_to_make(path, problem.message());
  }
  return made;
}

Descriptor open_folder(const std::filesystem::path& path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) refuse_to_make(path, reason(errno));
  if (::faccessat(folder.get(), ".", W_OK | X_OK, AT_EACCESS) == 0) return folder;
  throw UsageError(fmt::format("cannot write into {}", path.string()),
                   "name a directory that can be written with --out DIR");
}

[[noreturn]] void refuse_manifest(const std::filesystem::path& file, std::string_view why) {
  throw UsageError(fmt::format("{} cannot name linkgain's files: {}", file.string(), why),
                   fmt::format("remove it, or {}", kAdvice));
}

[[noreturn]] void refuse_second_run(const std::filesystem::path& folder, std::string_view text) {
  const std::size_t begin = text.rfind(kHolder);
  std::string_view holder = begin == std::string_view::npos ? "" : text.substr(begin);
  holder.remove_prefix(std::min(holder.size(), kHolder.size()));
  holder = holder.substr(0, holder.find('\n'));
  throw UsageError(fmt::format("{} is in use by another run{}{}", folder.string(),
                               holder.empty() ? "" : ", ", visible(holder)),
                   fmt::format("wait for its end, or {}", kAdvice));
}

std::string text_at(const Descriptor& file) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  return read_regular_file(fmt::format("/proc/self/fd/{}", file.get()), kMostBytes).value_or("");
}

void append(const Descriptor& file, std::string_view text) {
  if (!file) return;
  // An entry that could not be named is nobody's but the user's: nothing of it is touched again.
  [[maybe_unused]] const ssize_t written = ::write(file.get(), text.data(), text.size());
}

/// Whether the name still stands for the file: its holder before may have removed it.
bool is_at(const Descriptor& folder, const Descriptor& file) {
  struct stat named {};
  struct stat own {};
  return ::fstatat(folder.get(), OutputFolder::kManifest.data(), &named, AT_SYMLINK_NOFOLLOW) ==
             0 &&
         ::fstat(file.get(), &own) == 0 && named.st_ino == own.st_ino && named.st_dev == own.st_dev;
}

/// A relative name of one or two parts: no other can be linkgain's.
bool is_entry_name(std::string_view name) {
  const std::vector<std::string> parts = split(std::string(name), '/');
  return parts.size() <= 2 && std::ranges::none_of(parts, [](const std::string& part) {
           return part.empty() || part == "." || part == "..";
         });
}

template <typename Number>
bool take_number(std::string_view& line, Number& number) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  const auto used = static_cast<std::size_t>(end - line.data());
  if (error != std::errc{} || used >= line.size() || line[used] != ' ') return false;
  line.remove_prefix(used + 1);
  return true;
}

}  // namespace

OutputFolder::OutputFolder(const std::filesystem::path& path)
    : asked_(absolute_path(path)), made_(make_folders(asked_)), folder_(open_folder(asked_)) {
  while (folder_ && !lock()) {
  }
  read_manifest();
  append(manifest_, fmt::format("{}process {} on {}\n", kHolder, ::getpid(), visible(host_name())));
}

/// Opens the manifest, which waits for nobody, and locks it; false if its holder removed it just
/// then. A folder into which nothing can be written has none, as what is written next will say.
bool OutputFolder::lock() {
  constexpr int kFlags = O_APPEND | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
  const std::filesystem::path file = asked_ / kManifest;
  Descriptor opened(
      ::openat(folder_.get(), kManifest.data(), O_RDWR | O_CREAT | O_EXCL | kFlags, 0644));
  made_manifest_ = static_cast<bool>(opened);
  if (!opened && errno == EEXIST) {
    opened = Descriptor(::openat(folder_.get(), kManifest.data(), O_RDWR | kFlags));
    if (!opened && errno == ENOENT) return false;
  }
  const bool is_readable_only = !opened && errno == EACCES;
  if (is_readable_only) {
    opened = Descriptor(::openat(folder_.get(), kManifest.data(), O_RDONLY | kFlags));
  }
  static constexpr std::array<int, 3> kNothingWritten{EROFS, ENOSPC, EDQUOT};
  if (!opened && std::ranges::find(kNothingWritten, errno) != kNothingWritten.end()) return true;
  if (!opened) refuse_manifest(file, reason(errno));
  struct stat found {};
  if (::fstat(opened.get(), &found) != 0 || !S_ISREG(found.st_mode)) {
    refuse_manifest(file, "it is no regular file");
  }
  // Where the file system knows no locks there is none.
  if (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    refuse_second_run(asked_, text_at(opened));
  }
  if (is_readable_only) refuse_manifest(file, "it is another user's");
  if (!is_at(folder_, opened)) return false;
  manifest_ = std::move(opened);
  return true;
}

void OutputFolder::read_manifest() {
  if (!manifest_) return;
  const std::string text = text_at(manifest_);
  begun_at_ = text.size();
  if (text.empty()) return append(manifest_, kHeader);
  if (!text.starts_with(kHeader)) {
    const std::filesystem::path file = asked_ / kManifest;
    manifest_.reset();
    refuse_manifest(file, "linkgain did not write it");
  }
  if (!text.ends_with('\n')) append(manifest_, "\n");
  for (const std::string& each : split(text.substr(0, text.rfind('\n')), '\n')) {
    std::string_view line = each;
    std::optional<Entry> entry(std::in_place);
    if (line.starts_with(kGone)) {
      entry.reset();
      line.remove_prefix(kGone.size());
    } else if (line.starts_with(kBeingWritten)) {
      line.remove_prefix(kBeingWritten.size());
    } else if (line.starts_with(kFolder)) {
      entry->is_folder = true;
      line.remove_prefix(kFolder.size());
    } else {
      Left left;
      if (!take_number(line, left.size) || !take_number(line, left.changed)) continue;
      entry->left = left;
    }
    if (!is_entry_name(line)) continue;
    if (entry) {
      named_[std::string(line)] = *entry;
    } else {
      named_.erase(std::string(line));
    }
  }
}

std::string OutputFolder::line_of(const std::string& name, const Entry& entry) {
  if (entry.is_folder) return fmt::format("{}{}\n", kFolder, name);
  if (!entry.left) return fmt::format("{}{}\n", kBeingWritten, name);
  return fmt::format("{} {} {}\n", entry.left->size, entry.left->changed, name);
}

void OutputFolder::note(const std::string& name, const Entry& entry) {
  changed_ = true;
  append(manifest_, line_of(name, entry));
  named_[name] = entry;
}

void OutputFolder::forget(const std::string& name) {
  append(manifest_, fmt::format("{}{}\n", kGone, name));
  named_.erase(name);
}

OutputFolder::~OutputFolder() {
  if (!folder_) return;
  if (!changed_ && begun_at_ > 0) {
    [[maybe_unused]] const int cut = ::ftruncate(manifest_.get(), static_cast<off_t>(begun_at_));
    return;
  }
  try {
    seal();
  } catch (const std::exception&) {
    // The manifest stays as it is: what it names last counts.
  }
}

/// Writes the manifest anew, with how every file was left. If there is none, removes what the
/// constructor made.
void OutputFolder::seal() {
  std::string text(kHeader);
  for (const auto& [name, entry] : named_) {
    if (name.ends_with('*')) {
      const std::string folder = name.substr(0, name.find('/'));
      for (const std::string& each : entries(folder)) {
        const std::string own = folder + "/" + each;
        if (own.starts_with(name.substr(0, name.size() - 1)) && is_own(own)) {
          text += line_of(own, {.left = state_of(own)});
        }
      }
    } else if (is_own(name)) {
      text += line_of(name, entry.is_folder ? entry : Entry{.left = state_of(name)});
    } else if (is_there(name)) {
      text += line_of(name, entry);  // the user changed it, and may change it back
    }
  }
  if (text.size() > kHeader.size()) {
    if (manifest_) write_file_atomically(held(kManifest), text, Existing::replaced);
    return;
  }
  if (made_manifest_ && is_at(folder_, manifest_)) {
    ::unlinkat(folder_.get(), kManifest.data(), 0);
  }
  if (path() != asked_) return;
  for (const std::filesystem::path& each : made_) ::rmdir(each.c_str());
}

std::filesystem::path OutputFolder::path() const {
  struct stat asked {};
  struct stat own {};
  ::fstat(folder_.get(), &own);
  const bool is_same = ::stat(asked_.c_str(), &asked) == 0 && asked.st_ino == own.st_ino &&
                       asked.st_dev == own.st_dev;
  return is_same || own.st_nlink == 0 ? asked_ : path_of_held(held("."));
}

std::filesystem::path OutputFolder::held(std::string_view name) const {
  return fmt::format("/proc/self/fd/{}/{}", folder_.get(), name);
}

bool OutputFolder::is_there(const std::string& name) const {
  struct stat found {};
  return ::fstatat(folder_.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
}

std::optional<OutputFolder::Left> OutputFolder::state_of(const std::string& name) const {
  struct stat found {};
  if (::fstatat(folder_.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(found.st_mode)) {
    return std::nullopt;
  }
  return Left{static_cast<std::uintmax_t>(found.st_size), found.st_mtim.tv_sec};
}

const OutputFolder::Entry* OutputFolder::find(const std::string& name) const {
  const auto exact = named_.find(name);
  if (exact != named_.end()) return &exact->second;
  const auto by_begin = std::ranges::find_if(named_, [&](const auto& each) {
    return each.first.ends_with('*') &&
           name.starts_with(each.first.substr(0, each.first.size() - 1));
  });
  return by_begin == named_.end() ? nullptr : &by_begin->second;
}

/// Absent if it is.
std::optional<std::string> OutputFolder::why_not_own(const std::string& name) const {
  // Some file systems keep whole seconds, or every second one; so do tar and rsync.
  constexpr std::int64_t kSlack = 2;
  const Entry* const entry = find(name);
  if (entry == nullptr) return "linkgain did not make it";
  struct stat found {};
  if (::fstatat(folder_.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
    return "it is not there";
  }
  if (entry->is_folder && S_ISDIR(found.st_mode)) {
    for (const std::string& each : entries(name)) {
      const auto why = why_not_own(name + "/" + each);
      if (why) return fmt::format("{} in it is not linkgain's: {}", visible(each), *why);
    }
    return std::nullopt;
  }
  const std::optional<Left> now = state_of(name);
  if (entry->is_folder || !now) return "linkgain made another one";
  const std::optional<Left>& left = entry->left;
  if (left && (left->size != now->size || std::abs(left->changed - now->changed) > kSlack)) {
    return "it was changed since linkgain wrote it";
  }
  return std::nullopt;
}

bool OutputFolder::is_own(const std::string& name) const { return !why_not_own(name); }

void OutputFolder::require_own(const std::string& name) const {
  if (!is_there(name)) return;
  const std::optional<std::string> why = why_not_own(name);
  if (!why) return;
  throw UsageError(fmt::format("{} is in the way: {}", (path() / name).string(), *why),
                   fmt::format("{}; only what linkgain wrote is replaced", kAdvice));
}

std::filesystem::path OutputFolder::claim(const std::string& name) {
  require_own(name);
  const auto found = named_.find(name);
  if (found == named_.end() || found->second.left) note(name, {});
  return held(name);
}

void OutputFolder::claim_all(const std::string& prefix) {
  if (!named_.contains(prefix + "*")) note(prefix + "*", {});
}

void OutputFolder::make_folder(const std::string& name) {
  require_own(name);
  if (is_there(name)) return;
  note(name, {.is_folder = true});
  if (::mkdirat(folder_.get(), name.c_str(), 0777) == 0) return;
  const std::string why = reason(errno);
  forget(name);
  refuse_to_make(path() / name, why);
}

void OutputFolder::write(const std::string& name, std::string_view text) {
  const Existing existing = is_there(name) ? Existing::replaced : Existing::kept;
  const std::filesystem::path file = claim(name);
  try {
    write_file_atomically(file, text, existing);
  } catch (const UsageError&) {
    if (existing == Existing::kept) forget(name);  // what has the name now is the user's
    throw;
  }
  note(name, {.left = state_of(name)});
}

void OutputFolder::rename(const std::string& from, const std::string& to) {
  require_own(to);
  if (is_there(to)) remove(to);
  std::vector<std::pair<std::string, Entry>> moved;
  for (const auto& each : named_) {
    if (each.first == from || each.first.starts_with(from + "/")) moved.push_back(each);
  }
  for (const auto& [name, entry] : moved) note(to + name.substr(from.size()), entry);
  if (!rename_to_free_name(held(from), held(to))) {
    const std::string why = reason(errno);
    for (const auto& each : moved) forget(to + each.first.substr(from.size()));
    throw UsageError(fmt::format("{} is of an earlier run and cannot be renamed to {}: {}",
                                 (path() / from).string(), to, why),
                     std::string(kAdvice));
  }
  for (const auto& each : moved) forget(each.first);
}

void OutputFolder::remove(const std::string& name) {
  if (!is_own(name)) return;
  const bool is_folder = find(name)->is_folder;
  if (is_folder) {
    for (const std::string& each : entries(name)) remove(name + "/" + each);
  }
  if (::unlinkat(folder_.get(), name.c_str(), is_folder ? AT_REMOVEDIR : 0) == 0) forget(name);
}

std::vector<std::string> OutputFolder::entries(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(held(folder), error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  return names;
}

}  // namespace linkgain
