#include "linkgain/delivery/proof_notes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "linkgain/base/descriptor.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/process_entry.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "proving-";

/// Gives boot_id(), "0" where there is none.
std::string boot() {
  const std::string id = boot_id();
  return id.empty() ? "0" : id;
}

/// Gives the number of the namespace in which process numbers mean something; "0" where it is not
/// told.
std::string process_space() {
  std::error_code error;
  std::string space = fs::read_symlink("/proc/self/ns/pid", error).string();
  std::erase_if(space, [](char c) { return c < '0' || c > '9'; });
  return space.empty() ? "0" : space;
}

/// Gives this host's own folder: hosts may share the user's.
fs::path state_folder(const Environment& environment) {
  if (const std::string state = value_of(environment, "XDG_STATE_HOME"); !state.empty()) {
    return fs::path(state) / "linkgain" / host_name();
  }
  const std::string home = value_of(environment, "HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".local/state/linkgain" / host_name();
}

/// A note by its name, "proving-BOOT-SPACE-PROCESS".
struct Note {
  fs::path file;
  std::string boot;
  std::string space;
  int process = 0;
};

/// Tells whether the note's proof is over. That of another container is not known to be.
bool is_left(const Note& note) {
  if (note.boot != boot()) return true;
  if (note.space != process_space()) return false;
  const std::optional<ProcessEntry> process = read_process(note.process);
  return !process || process->state == 'Z';
}

std::optional<Note> note_of(const fs::path& file) {
  const std::vector<std::string> parts = split(file.filename().string(), '-');
  if (!file.filename().string().starts_with(kPrefix) || parts.size() != 4) return std::nullopt;
  const auto process = whole_number<int>(parts[3]);
  if (!process || *process <= 0) return std::nullopt;
  return Note{file, parts[1], parts[2], *process};
}

/// Finds notes of processes that are gone.
std::vector<Note> notes_left(const fs::path& folder) {
  std::vector<Note> notes;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto note = note_of(entry->path());
    if (note && is_left(*note)) notes.push_back(*note);
  }
  std::ranges::sort(notes, {}, &Note::file);
  return notes;
}

/// Writes a file that outlives the machine; throws an Error where it cannot.
void write_to_disk(const fs::path& file, const std::string& text) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) {
    throw MachineError(
        fmt::format("cannot make the folder of {}: {}", file.string(), error.message()));
  }
  write_file_atomically(file, text, Existing::replaced);
  const Descriptor folder(::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct statfs system {};
  if (::fsync(folder.get()) != 0 || ::fstatfs(folder.get(), &system) != 0) {
    throw MachineError(fmt::format("cannot sync {}: {}", file.string(), std::strerror(errno)));
  }
  if (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC) {
    throw MachineError(fmt::format("{} is in memory, not on a disk", file.string()));
  }
}

}  // namespace

ProofNotes::ProofNotes(const Environment& environment) : folder_(state_folder(environment)) {
  if (!folder_.empty()) {
    own_ = folder_ / fmt::format("{}{}-{}-{}", kPrefix, boot(), process_space(), ::getpid());
  }
}

ProofNotes::~ProofNotes() {
  std::error_code missing;
  if (!own_.empty()) fs::remove(own_, missing);
}

std::string ProofNotes::begin(const std::string& step) {
  if (own_.empty()) return "neither XDG_STATE_HOME nor HOME names a folder";
  try {
    write_to_disk(own_, fmt::format("{} at {}\n", step, utc_now(false)));
    return {};
  } catch (const Error& error) {
    std::error_code missing;
    fs::remove(own_, missing);  // that of the step before would name the wrong one
    return error.what();
  }
}

std::string ProofNotes::left() const {
  std::vector<std::string> all;
  for (const Note& note : notes_left(folder_)) {
    std::string text = read_regular_file(note.file).value_or("");
    text.erase(std::ranges::find(text, '\n'), text.end());
    all.push_back(fmt::format(
        "an earlier proof did not end its {}{}", text.empty() ? "step, which is not known" : text,
        note.boot == boot() ? "" : ", and the machine has started again since"));
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

void ProofNotes::forget_left() const {
  std::error_code missing;
  for (const Note& note : notes_left(folder_)) fs::remove(note.file, missing);
}

}  // namespace linkgain
