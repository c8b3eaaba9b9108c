#include "linkgain/fleet/fleet_record.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <sstream>
#include <system_error>
#include <thread>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/json_scanner.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/visible_text.hpp"
#include "linkgain/hardware/hardware_members.hpp"
#include "linkgain/record/digest.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/record/record_json.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

/// Enough for a record of 100 cases with two variants up to its samples.
constexpr std::size_t kChunk = std::size_t{256} << 10;

/// No record has as much before its samples.
constexpr std::size_t kMostHead = std::size_t{256} << 20;

/// What stands before the samples in a record as linkgain writes it: within a text there is no line
/// break, so it can stand nowhere else but as a member.
constexpr std::string_view kSamplesMember = "\n\"samples\":";

/// A file opened for reading.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path) {
    const Reading<int> file = open_regular_file(path);
    if (!file.measured()) throw UsageError("cannot be read: " + file.reason());
    descriptor_ = file.value();
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

  /// Up to so many of the last bytes.
  std::string end(std::size_t count) const {
    std::string tail(count, '\0');
    const off_t size = ::lseek(descriptor_, 0, SEEK_END);
    const off_t begin = std::max<off_t>(0, size - static_cast<off_t>(tail.size()));
    const ssize_t got = ::pread(descriptor_, tail.data(), tail.size(), begin);
    tail.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
    return tail;
  }

 private:
  int descriptor_ = -1;
};

/// Reads up to the samples and no further than the chunk they begin in.
void read_head(const InputFile& file, std::string& text) {
  text.clear();
  std::size_t searched = 0;
  while (text.size() < kMostHead && file.append_to(text, kChunk)) {
    const std::size_t found = text.find(kSamplesMember, searched);
    if (found != std::string::npos) {
      text.resize(found + kSamplesMember.size());
      return;
    }
    searched = text.size() - std::min(text.size(), kSamplesMember.size());
  }
}

/// The last character that is no blank; 0 where there is none.
char last_character(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n\v\f");
  return last == std::string_view::npos ? '\0' : text[last];
}

/// A record with digests ends as linkgain writes it, with that of the whole or, an older one, with
/// its samples. Nothing is read between where they begin and there.
void require_end(const InputFile& file) {
  constexpr std::string_view kDigest = "\n},\n\"digest\": \"mix64:";
  constexpr std::size_t kDigits = 16;
  constexpr std::string_view kEnd = "\"\n}\n";
  const std::string end = file.end(kDigest.size() + kDigits + kEnd.size());
  if (end.ends_with("\n}\n}\n") || (end.starts_with(kDigest) && end.ends_with(kEnd))) return;
  throw UsageError("it does not end as a record does");
}

/// `text` is the file's head. Documents of other programs are no broken records.
void require_document(const InputFile& file, std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) throw UsageError("it is empty");
  const char last = last_character(file.end(16));
  if (text[first] == '[' && last == ']') throw json::NotARecord("not a record: a list");
  if (text[first] != '{') throw UsageError("not JSON");
  if (last != '}') throw UsageError("not JSON: it is cut off");
}

/// What its samples give is taken from these.
FleetRecord fleet_record_of_whole(Record record, FleetNames& names) {
  summarise(record);
  return fleet_record_of(record, names);
}

FleetRecord read_file(const std::filesystem::path& path, FleetNames& names) {
  // One buffer for each reading thread: its pages are touched once, not once a file.
  thread_local std::string text;
  const InputFile file(path);
  read_head(file, text);
  if (text.starts_with("{\"head\"")) return fleet_record_of_whole(read_record(path), names);
  require_document(file, text);
  if (require_results_digest(text)) {
    require_end(file);
    return scan_fleet_record(text, names);
  }
  const Reading<std::string> whole = read_regular_file(path);
  if (!whole.measured()) throw UsageError("cannot be read: " + whole.reason());
  return fleet_record_of_whole(parse_record(whole.value(), {}), names);
}

/// "node7" of "20261120T164000Z_node7_2xH200", which is how a run names its folder; empty where the
/// name is another one.
std::string host_in_folder(const std::string& folder) {
  constexpr std::size_t kTimeLength = 16;
  const std::size_t last = folder.rfind('_');
  const bool dated = folder.size() > kTimeLength && folder[kTimeLength] == '_' &&
                     folder[8] == 'T' && folder[kTimeLength - 1] == 'Z';
  if (!dated || last <= kTimeLength) return {};
  return folder.substr(kTimeLength + 1, last - kTimeLength - 1);
}

/// What to call a record that does not say whose it is: "node7/record.json" is node7's, and so is
/// "node7", a folder that cannot be read.
std::string host_by_path(const std::filesystem::path& path) {
  const bool is_file = path.extension() == ".json" || path.extension() == ".jsonl";
  const std::string name = visible((is_file ? path.stem() : path.filename()).string());
  const std::string parent = visible(path.parent_path().filename().string());
  const bool of_parent = (name == "record" || name == "journal") && !parent.empty();
  const std::string& folder = of_parent ? parent : name;
  const std::string host = host_in_folder(folder);
  return host.empty() ? folder : host;
}

}  // namespace

std::string host_of(const FleetRecord& record) {
  return record.machine.host.empty() ? host_by_path(record.path) : record.machine.host;
}

std::uint32_t FleetNames::number_of(std::string_view case_name, std::string_view variant) {
  const std::string key = fmt::format("{} {}", case_name, variant);
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = numbers_.find(key); found != numbers_.end()) return found->second;
  }
  // Who judges the fleet takes every name for one that can be read.
  static_cast<void>(parse_case_name(case_name));
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
  if (const std::optional<ProgramPlan>& program = record.settings.program) {
    own.program = shown_program(program->command, program->server);
  }
  if (record.neighbours) own.neighbours = static_cast<int>(record.neighbours->seen.size());
  own.machine = record.machine;
  for (const CaseResult& result : record.cases) {
    const std::string name = case_name(result.definition);
    int launches = 0;
    for (const RatioResult& each : result.ratios) {
      launches = std::max(launches, each.ratio.replicates);
    }
    for (const VariantResult& variant : result.variants) {
      own.values.push_back({names.number_of(name, variant.variant),
                            static_cast<float>(variant.time.value_or(Seconds{}).value),
                            variant.path, has_wrong_data(variant), variant.health.samples,
                            variant.health.unhealthy_samples, launches, variant.disturbed_samples,
                            variant.level_shift.has_value()});
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

namespace {

GpuInfo scan_gpu(JsonScanner& in) {
  GpuInfo gpu;
  in.object([&](std::string_view key) {
    if (key == "cuda_index") {
      gpu.cuda_index = static_cast<int>(in.integer());
    } else if (key == "name") {
      gpu.name = in.string();
    } else if (key == "uuid") {
      gpu.uuid = in.string();
    } else if (key == "nvlink_links_active") {
      const auto links = in.integer_or_null();
      if (links) gpu.nvlink_links_active = static_cast<int>(*links);
    } else {
      in.skip();
    }
    return true;
  });
  return gpu;
}

RankInfo scan_rank(JsonScanner& in) {
  RankInfo rank;
  in.object([&](std::string_view key) {
    if (key == "rank") {
      rank.rank = static_cast<int>(in.integer());
    } else if (key == "host") {
      rank.host = in.string();
    } else if (key == "gpu" && in.is_object()) {
      rank.gpu = scan_gpu(in);
    } else {
      in.skip();
    }
    return true;
  });
  return rank;
}

PairLink scan_link(JsonScanner& in) {
  PairLink link;
  in.object([&](std::string_view key) {
    if (key == "from") {
      link.from = static_cast<int>(in.integer());
    } else if (key == "to") {
      link.to = static_cast<int>(in.integer());
    } else if (key == "p2p") {
      link.p2p = in.boolean_or_null();
    } else if (key == "nvlink") {
      link.nvlink = in.boolean_or_null();
    } else if (key == "ancestor") {
      if (const auto label = in.string_or_null()) {
        link.ancestor = json::AsText<Ancestor>::parse(*label);
      }
    } else if (key == "nvlinks") {
      const auto links = in.integer_or_null();
      if (links) link.nvlinks = static_cast<int>(*links);
    } else {
      in.skip();
    }
    return true;
  });
  return link;
}

Software scan_software(JsonScanner& in) {
  Software software;
  in.object([&](std::string_view key) {
    if (key == "driver") {
      software.driver = in.string_or_null();
    } else if (key == "nccl_library") {
      software.nccl_library = in.string_or_null();
    } else {
      in.skip();
    }
    return true;
  });
  return software;
}

Machine scan_machine(JsonScanner& in) {
  Machine machine;
  in.object([&](std::string_view key) {
    if (key == "host") {
      machine.host = in.string();
    } else if (key == "processor") {
      machine.processor = in.string();
    } else if (key == "software") {
      machine.software = scan_software(in);
    } else if (key == "ranks") {
      in.array([&] { machine.ranks.push_back(scan_rank(in)); });
    } else if (key == "links") {
      in.array([&] { machine.links.push_back(scan_link(in)); });
    } else {
      in.skip();
    }
    return true;
  });
  return machine;
}

void scan_health(JsonScanner& in, FleetValue& value) {
  in.object([&](std::string_view key) {
    if (key == "samples") {
      value.samples = static_cast<std::int32_t>(in.integer());
    } else if (key == "unhealthy_samples") {
      value.unhealthy_samples = static_cast<std::int32_t>(in.integer());
    } else {
      in.skip();
    }
    return true;
  });
}

void scan_verification(JsonScanner& in, FleetValue& value) {
  in.object([&](std::string_view key) {
    if (key == "wrong") {
      value.wrong_data = in.integer() > 0;
    } else {
      in.skip();
    }
    return true;
  });
}

/// Its variant's name goes to `variant`; it has no number yet.
FleetValue scan_variant(JsonScanner& in, std::string& variant) {
  FleetValue value;
  in.object([&](std::string_view key) {
    if (key == "variant") {
      variant = in.string();
    } else if (key == "time_s") {
      value.seconds = static_cast<float>(in.number_or_null().value_or(0.0));
    } else if (key == "path") {
      value.path = parse_path(in.string());
    } else if (key == "health" && in.is_object()) {
      scan_health(in, value);
    } else if (key == "verification" && in.is_object()) {
      scan_verification(in, value);
    } else if (key == "disturbed_samples") {
      value.disturbed_samples = static_cast<std::int32_t>(in.integer_or_null().value_or(0));
    } else if (key == "level_shift") {
      value.level_changed = in.is_object();
      in.skip();
    } else {
      in.skip();
    }
    return true;
  });
  return value;
}

/// What read_record() takes a ratio for that does not say.
int scan_ratio_launches(JsonScanner& in) {
  int launches = 1;
  in.object([&](std::string_view key) {
    if (key == "launches") {
      launches = static_cast<int>(in.integer());
    } else {
      in.skip();
    }
    return true;
  });
  return launches;
}

/// The case's name and ratios may stand behind its variants.
void scan_case(JsonScanner& in, FleetRecord& record, FleetNames& names) {
  std::string case_name;
  std::vector<std::string> variants;
  int launches = 0;
  const std::size_t first = record.values.size();
  in.object([&](std::string_view key) {
    if (key == "case") {
      case_name = in.string();
    } else if (key == "variants") {
      in.array([&] { record.values.push_back(scan_variant(in, variants.emplace_back())); });
    } else if (key == "ratios") {
      in.array([&] { launches = std::max(launches, scan_ratio_launches(in)); });
    } else {
      in.skip();
    }
    return true;
  });
  if (case_name.empty()) throw UsageError("not a valid record: a case has no name");
  for (std::size_t i = 0; i < variants.size(); ++i) {
    FleetValue& value = record.values.at(first + i);
    value.name = names.number_of(case_name, variants[i]);
    value.launches = launches;
  }
}

std::string scan_program(JsonScanner& in) {
  std::vector<std::string> command;
  std::string server;
  in.object([&](std::string_view key) {
    if (key == "command") {
      in.array([&] { command.push_back(in.string()); });
    } else if (key == "server") {
      server = in.string();
    } else {
      in.skip();
    }
    return true;
  });
  return shown_program(command, server);
}

void scan_settings(JsonScanner& in, FleetRecord& record) {
  in.object([&](std::string_view key) {
    if (key == "launches") {
      record.launches = static_cast<int>(in.integer());
    } else if (key == "program" && in.is_object()) {
      record.program = scan_program(in);
    } else {
      in.skip();
    }
    return true;
  });
}

void scan_neighbours(JsonScanner& in, FleetRecord& record) {
  int& seen = record.neighbours.emplace(0);
  in.object([&](std::string_view key) {
    if (key == "seen") {
      in.array([&] {
        ++seen;
        in.skip();
      });
    } else {
      in.skip();
    }
    return true;
  });
}

/// One member of the record.
void scan_member(JsonScanner& in, std::string_view key, FleetRecord& record, FleetNames& names) {
  if (key == "schema") {
    json::require_known_schema(in.string());
  } else if (key == "started") {
    record.started = in.string();
  } else if (key == "status") {
    record.status = parse_run_status(in.string());
  } else if (key == "exit_code") {
    record.exit_code = static_cast<int>(in.integer());
  } else if (key == "machine") {
    record.machine = scan_machine(in);
  } else if (key == "settings") {
    scan_settings(in, record);
  } else if (key == "neighbours" && in.is_object()) {
    scan_neighbours(in, record);
  } else if (key == "cases") {
    in.array([&] { scan_case(in, record, names); });
  } else {
    in.skip();
  }
}

}  // namespace

FleetRecord scan_fleet_record(std::string_view text, FleetNames& names) {
  try {
    FleetRecord record;
    JsonScanner in(text);
    in.object([&](std::string_view key) {
      if (key == "samples") return false;
      scan_member(in, key, record, names);
      return true;
    });
    return record;
  } catch (const JsonScanError& error) {
    throw UsageError(error.what());
  }
}

namespace {

namespace fs = std::filesystem;

constexpr unsigned kMostThreads = 16;

/// A record, but not beside the journal of a later run that has none yet; or a journal.
bool is_of_a_run(const fs::path& path) {
  const fs::path folder = path.parent_path();
  std::error_code error;
  if (path.extension() == ".jsonl") {
    return path.filename() == "journal.jsonl" || !fs::exists(folder / "record.json", error);
  }
  if (path.extension() != ".json") return false;
  return path.filename() != "record.json" || !fs::exists(folder / "journal.jsonl", error);
}

bool has_run(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "record.json", error) || fs::exists(folder / "journal.jsonl", error);
}

/// A folder that cannot be read stands itself for what may be in it, but not where it is part of a
/// run; one that goes away meanwhile has nothing.
void add_below(const fs::path& folder, std::vector<fs::path>& files) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code gone;
    if (entry->is_directory(gone) && !entry->is_symlink(gone)) {
      add_below(entry->path(), files);
    } else if (entry->is_regular_file(gone) && is_of_a_run(entry->path())) {
      files.push_back(entry->path());
    }
  }
  const bool unreadable = error && error != std::errc::no_such_file_or_directory;
  if (!unreadable || has_run(folder.parent_path())) return;
  files.push_back(folder.has_filename() ? folder : folder.parent_path());
}

}  // namespace

std::vector<fs::path> find_fleet_files(const std::vector<fs::path>& named) {
  std::vector<fs::path> files;
  for (const fs::path& path : named) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      add_below(path, files);
    } else if (fs::is_regular_file(path, error)) {
      files.push_back(path);
    } else {
      throw UsageError(fmt::format("{} is {}", path.string(),
                                   fs::exists(path, error) ? "no regular file" : "not there"),
                       "give records, or directories with records below them");
    }
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

std::vector<FleetRecord> read_fleet(const std::vector<fs::path>& files, FleetNames& names,
                                    int threads) {
  std::vector<FleetRecord> records(files.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      records[i] = read_fleet_record(files[i], names);
    }
  };
  const unsigned wanted = threads > 0
                              ? static_cast<unsigned>(threads)
                              : std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < wanted && i < files.size(); ++i) others.emplace_back(work);
  work();
  others.clear();
  return records;
}

}  // namespace linkgain
