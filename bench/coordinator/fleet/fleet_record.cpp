#include "linkgain/fleet/fleet_record.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <sstream>

#include "linkgain/base/errors.hpp"
#include "linkgain/record/json_conversions.hpp"

namespace linkgain {
namespace {

/// Enough for a record of 100 cases with two variants up to its samples.
constexpr std::size_t kChunk = std::size_t{256} << 10;

/// What stands before the samples in a record as linkgain writes it: within a text there is no line
/// break, so it can stand nowhere else but as a member.
constexpr std::string_view kSamplesMember = "\n\"samples\":";

/// A file opened for reading.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw UsageError(fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  ~InputFile() { ::close(descriptor_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Appends up to `count` bytes; false at the end.
  bool append_to(std::string& text, std::size_t count) const {
    const std::size_t before = text.size();
    text.resize(before + count);
    const ssize_t got =
        ::pread(descriptor_, text.data() + before, count, static_cast<off_t>(before));
    if (got < 0) throw UsageError(fmt::format("cannot be read: {}", std::strerror(errno)));
    text.resize(before + static_cast<std::size_t>(got));
    return got > 0;
  }

  /// The last character that is no blank; 0 where there is none near the end.
  char last_character() const {
    char tail[16];
    const off_t size = ::lseek(descriptor_, 0, SEEK_END);
    const off_t begin = std::max<off_t>(0, size - static_cast<off_t>(sizeof tail));
    ssize_t got = ::pread(descriptor_, tail, sizeof tail, begin);
    while (got > 0 && std::isspace(static_cast<unsigned char>(tail[got - 1])) != 0) --got;
    return got > 0 ? tail[got - 1] : '\0';
  }

 private:
  int descriptor_;
};

/// Reads up to the samples and no further than the chunk they begin in; whole what has none.
void read_head(const InputFile& file, std::string& text) {
  text.clear();
  std::size_t searched = 0;
  while (file.append_to(text, kChunk)) {
    const std::size_t found = text.find(kSamplesMember, searched);
    if (found != std::string::npos) {
      text.resize(found + kSamplesMember.size());
      return;
    }
    searched = text.size() - std::min(text.size(), kSamplesMember.size());
  }
}

/// Reads what read_head() left.
std::string_view read_rest(const InputFile& file, std::string& text) {
  while (file.append_to(text, kChunk)) {
  }
  return text;
}

/// `text` is the file's head. Documents of other programs are no broken records.
void require_document(const InputFile& file, std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) throw UsageError("it is empty");
  const char last = file.last_character();
  if (text[first] == '[' && last == ']') throw json::NotARecord("not a record: a list");
  if (text[first] != '{') throw UsageError("not JSON");
  if (last != '}') throw UsageError("not JSON: it is cut off");
}

FleetRecord read_file(const std::filesystem::path& path, FleetNames& names) {
  // One buffer for each reading thread: its pages are touched once, not once a file.
  thread_local std::string text;
  const InputFile file(path);
  read_head(file, text);
  if (text.starts_with("{\"head\"")) return fleet_record_of(read_record(path), names);
  require_document(file, text);
  return scan_fleet_record(text, names, [&] { return read_rest(file, text); });
}

}  // namespace

std::uint32_t FleetNames::number_of(std::string_view case_name, std::string_view variant) {
  const std::string key = fmt::format("{} {}", case_name, variant);
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = numbers_.find(key); found != numbers_.end()) return found->second;
  }
  const std::unique_lock lock(mutex_);
  const auto [entry, added] = numbers_.try_emplace(key, static_cast<std::uint32_t>(names_.size()));
  if (added) names_.push_back({std::string(case_name), std::string(variant)});
  return entry->second;
}

FleetRecord fleet_record_of(const Record& record, FleetNames& names) {
  FleetRecord own;
  own.started = record.started;
  own.status = record.status;
  own.exit_code = record.exit_code;
  own.launches = record.settings.launches;
  own.machine = record.machine;
  for (const CaseResult& result : record.cases) {
    const std::string name = case_name(result.definition);
    for (const VariantResult& variant : result.variants) {
      own.values.push_back({names.number_of(name, variant.variant),
                            static_cast<float>(variant.time.value_or(Seconds{}).value),
                            variant.path, has_wrong_data(variant), variant.health.samples,
                            variant.health.unhealthy_samples});
    }
  }
  return own;
}

FleetRecord read_fleet_record(const std::filesystem::path& path, FleetNames& names) {
  FleetRecord record;
  try {
    record = read_file(path, names);
  } catch (const json::NotARecord& error) {
    record.problem = error.what();
    record.is_other_document = true;
  } catch (const std::exception& error) {
    record.problem = error.what();
  }
  record.path = path;
  return record;
}

}  // namespace linkgain
