#include "linkgain/output/output_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "linkgain/base/digest.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/reading.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kHeader =
    "# Files that linkgain made here: size, digest, name. It renames, replaces and removes these "
    "alone.\n";
constexpr std::string_view kHolder = "# in use by ";
constexpr std::string_view kBeingWritten = "- ";
constexpr std::string_view kFolder = "d ";
constexpr std::string_view kGone = "x ";
constexpr std::string_view kAnyIdentity = "*";  // of files that other processes make

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void refuse_to_make(const std::filesystem::path& path, const std::string& why) {
  throw UsageError(fmt::format("cannot make {}: {}", path.string(), why),
                   "name a directory that can be written with --out DIR");
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
                   fmt::format("remove it, or {}", OutputFolder::kAnotherFolder));
}

[[noreturn]] void refuse_second_run(const std::filesystem::path& folder, std::string_view text) {
  const std::size_t begin = text.rfind(kHolder);
  std::string_view holder = begin == std::string_view::npos ? "" : text.substr(begin);
  holder.remove_prefix(std::min(holder.size(), kHolder.size()));
  holder = holder.substr(0, holder.find('\n'));
  throw UsageError(fmt::format("{} is in use by another run{}{}", folder.string(),
                               holder.empty() ? "" : ", ", visible(holder)),
                   fmt::format("wait for its end, or {}", OutputFolder::kAnotherFolder));
}

Reading<std::string> text_at(const Descriptor& file) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  return read_regular_file(fmt::format("/proc/self/fd/{}", file.get()), kMostBytes);
}

void append(const Descriptor& file, std::string_view text) {
  if (!file) return;
  // An entry that could not be named is nobody's but the user's: nothing of it is touched again.
  [[maybe_unused]] const ssize_t written = ::write(file.get(), text.data(), text.size());
}

/// Returns whether the name still stands for the file: its holder before may have removed it.
bool is_at(const Descriptor& folder, const Descriptor& file) {
  struct stat named {};
  struct stat own {};
  return ::fstatat(folder.get(), OutputFolder::kManifest.data(), &named, AT_SYMLINK_NOFOLLOW) ==
             0 &&
         ::fstat(file.get(), &own) == 0 && named.st_ino == own.st_ino && named.st_dev == own.st_dev;
}

/// Accepts a relative name of one or two parts: no other can be linkgain's.
bool is_entry_name(std::string_view name) {
  const std::vector<std::string> parts = split(std::string(name), '/');
  return parts.size() <= 2 && std::ranges::none_of(parts, [](const std::string& part) {
           return part.empty() || part == "." || part == "..";
         });
}

/// Takes the text up to the next blank, which goes with it.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

/// Returns whether the name is one that NCCL gives its log of that prefix.
bool is_log_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  for (const std::string_view ending : {".now", ".kept"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  constexpr std::string_view kLog = ".log";
  if (!name.ends_with(kLog)) return false;
  name.remove_suffix(kLog.size());
  const std::size_t process = name.find_last_not_of("0123456789");
  return process != std::string_view::npos && process + 1 < name.size() && name[process] == '.' &&
         process > prefix.size();
}

}  // namespace

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
    refuse_second_run(asked_, text_at(opened).value_or(""));
  }
  if (is_readable_only) refuse_manifest(file, "it is another user's");
  if (!is_at(folder_, opened)) return false;
  manifest_ = std::move(opened);
  return true;
}

void OutputFolder::read_manifest() {
  if (!manifest_) return;
  const Reading<std::string> found = text_at(manifest_);
  if (!found.measured()) refuse_manifest(asked_ / kManifest, found.reason());
  const std::string& text = found.value();
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
    Entry entry;
    const bool is_gone = line.starts_with(kGone);
    if (is_gone) {
      line.remove_prefix(kGone.size());
    } else if (line.starts_with(kBeingWritten)) {
      line.remove_prefix(kBeingWritten.size());
      entry.identity = take_word(line);
      identities_.insert(entry.identity);
      const std::string_view end = line.substr(line.find_last_of('/') + 1);
      const bool is_log = line.ends_with('*') || end.starts_with("nccl-");
      if (entry.identity == kAnyIdentity && !is_log) continue;
    } else if (line.starts_with(kFolder)) {
      entry.is_folder = true;
      line.remove_prefix(kFolder.size());
    } else {
      const std::string_view size = take_word(line);
      entry.held = fmt::format("{} {}", size, take_word(line));
    }
    if (!is_entry_name(line)) continue;
    if (is_gone) {
      named_.erase(std::string(line));
    } else {
      named_[std::string(line)] = entry;
    }
  }
}

std::string OutputFolder::line_of(const std::string& name, const Entry& entry) {
  if (entry.is_folder) return fmt::format("{}{}\n", kFolder, name);
  if (entry.held.empty()) return fmt::format("{}{} {}\n", kBeingWritten, entry.identity, name);
  return fmt::format("{} {}\n", entry.held, name);
}

void OutputFolder::note(const std::string& name, const Entry& entry) {
  changed_ = true;
  written_.insert(name);
  if (!entry.identity.empty()) identities_.insert(entry.identity);
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
  for (const auto& [name, entry] : named_) text += line_when_left(name, entry);
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

/// Says what the manifest has of an entry after this run: what its file holds now, if this run
/// wrote it; else what it said before. Nothing of what is not there.
std::string OutputFolder::line_when_left(const std::string& name, const Entry& entry) const {
  if (name.ends_with('*')) {
    std::string lines;
    const std::string folder = name.substr(0, name.find('/'));
    for (const std::string& each : entries(folder)) {
      const std::string log = folder + "/" + each;
      if (!is_log_of(log, std::string_view(name).substr(0, name.size() - 1))) continue;
      lines += written_.contains(name) ? line_of(log, {.held = state_of(log)})
                                       : line_of(log, {.identity = entry.identity});
    }
    return lines;
  }
  if (!is_there(name)) return {};
  const bool is_written = entry.held.empty() && !entry.is_folder && written_.contains(name) &&
                          identities_.contains(identity_of(name));
  return line_of(name, is_written ? Entry{.held = state_of(name)} : entry);
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

/// Identifies a regular file by its number and when it was made, because numbers are given again.
/// Empty of anything else.
std::string OutputFolder::identity_of(const std::string& name) const {
  struct statx found {};
  constexpr unsigned kWanted = STATX_TYPE | STATX_INO | STATX_BTIME;
  if (::statx(folder_.get(), name.c_str(), AT_SYMLINK_NOFOLLOW, kWanted, &found) != 0 ||
      !S_ISREG(found.stx_mode)) {
    return {};
  }
  return fmt::format("{}:{}.{:09}", found.stx_ino, found.stx_btime.tv_sec, found.stx_btime.tv_nsec);
}

/// Returns size and digest of what a regular file holds; empty of anything else.
std::string OutputFolder::state_of(const std::string& name) const {
  const Descriptor file(
      ::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  std::string chunk(std::size_t{1} << 20, '\0');
  Digest digest;
  std::uintmax_t size = 0;
  for (ssize_t count = 0; (count = ::read(file.get(), chunk.data(), chunk.size())) > 0;) {
    digest.add(std::string_view(chunk).substr(0, static_cast<std::size_t>(count)));
    size += static_cast<std::uintmax_t>(count);
  }
  return fmt::format("{} {}", size, digest.text());
}

const OutputFolder::Entry* OutputFolder::find(const std::string& name) const {
  const auto exact = named_.find(name);
  if (exact != named_.end()) return &exact->second;
  const auto by_begin = std::ranges::find_if(named_, [&](const auto& each) {
    return each.first.ends_with('*') &&
           is_log_of(name, std::string_view(each.first).substr(0, each.first.size() - 1));
  });
  return by_begin == named_.end() ? nullptr : &by_begin->second;
}

/// Says why an entry is not as it was left; nothing if it is.
std::optional<std::string> OutputFolder::why_not_own(const std::string& name) const {
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
  const std::string identity = identity_of(name);
  if (entry->is_folder || identity.empty()) return "linkgain made something else of that name";
  if (entry->held.empty() ? entry->identity == kAnyIdentity || identities_.contains(identity)
                          : entry->held == state_of(name)) {
    return std::nullopt;
  }
  return "it is not what linkgain wrote there";
}

bool OutputFolder::is_as_left(const std::string& name) const {
  if (!is_own(name)) return false;
  if (!find(name)->is_folder) return !find(name)->held.empty();
  return std::ranges::all_of(
      entries(name), [&](const std::string& each) { return is_as_left(name + "/" + each); });
}

bool OutputFolder::is_own(const std::string& name) const { return !why_not_own(name); }

void OutputFolder::require_own(const std::string& name, std::string_view advice) const {
  if (!is_there(name)) return;
  const std::optional<std::string> why = why_not_own(name);
  if (!why) return;
  throw UsageError(fmt::format("{} is in the way: {}", (path() / name).string(), *why),
                   fmt::format("{}; only what linkgain wrote is replaced", advice));
}

void OutputFolder::take_as_own(const std::string& name) {
  const std::string identity = identity_of(name);
  if (!identity.empty() && !is_own(name)) note(name, {.identity = identity});
}

std::filesystem::path OutputFolder::claim(const std::string& name) {
  require_own(name);
  if (!is_there(name)) {
    // What cannot be made here, whoever opens it will say.
    const Descriptor made(::openat(folder_.get(), name.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!made && errno == EEXIST) require_own(name);
  }
  const std::string identity = identity_of(name);
  const auto found = named_.find(name);
  const bool is_noted = found != named_.end() && found->second.identity == identity;
  if (!identity.empty() && !(is_noted && written_.contains(name)))
    note(name, {.identity = identity});
  return held(name);
}

void OutputFolder::claim_name_for(const std::string& claimed, const std::string& name) {
  require_own(name);
  if (is_there(name)) claim(name);
  note(name, {.identity = identity_of(claimed)});
}

void OutputFolder::claim_logs(const std::string& prefix) {
  if (!written_.contains(prefix + "*")) {
    note(prefix + "*", {.identity = std::string(kAnyIdentity)});
  }
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
  require_own(name);
  write_file_atomically(held(name), text, is_there(name) ? Existing::replaced : Existing::kept);
  Digest digest;
  digest.add(text);
  note(name, {.held = fmt::format("{} {}", text.size(), digest.text())});
}

void OutputFolder::rename(const std::string& from, const std::string& to) {
  std::vector<std::pair<std::string, Entry>> moved;
  for (const auto& each : named_) {
    if (each.first == from || each.first.starts_with(from + "/")) moved.push_back(each);
  }
  for (const auto& [name, entry] : moved) {
    const std::string now = to + name.substr(from.size());
    note(now, entry);
    written_.erase(now);
  }
  if (!rename_to_free_name(held(from), held(to))) {
    const std::string why = reason(errno);
    for (const auto& each : moved) forget(to + each.first.substr(from.size()));
    throw UsageError(fmt::format("{} is of an earlier run and cannot be renamed to {}: {}",
                                 (path() / from).string(), to, why),
                     std::string(OutputFolder::kAnotherFolder));
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
