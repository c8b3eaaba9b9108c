#include "linkgain/fleet/fleet_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <mutex>
#include <system_error>
#include <thread>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/path_validity.hpp"
#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/record/record_json.hpp"
#include "linkgain/record/record_members.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/prometheus.hpp"

namespace linkgain {
namespace {

/// Refuses what may be another program's document, which is no broken record.
void require_document(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) throw UsageError("it is empty");
  const char last = text[text.find_last_not_of(kBlank)];
  if (text[first] == '[' && last == ']') throw json::NotARecord("not a record: a list");
}

/// Tells whether the run was to take some of the machine's GPUs, by an option or a variable; a
/// program takes what it likes.
bool has_chosen_gpus(const Settings& settings) {
  const auto chooses = [](const std::string& word) {
    const std::string option = word.substr(0, word.find('='));
    return option == "--gpus" || option == "--np";
  };
  const auto is_narrowed = [](const Environment& each) {
    return each.contains("CUDA_VISIBLE_DEVICES");
  };
  return settings.program || std::ranges::any_of(settings.argv, chooses) ||
         std::ranges::any_of(settings.environment_in_force, is_narrowed);
}

/// Says in one line why the run is not complete.
std::string cause_of(const Record& record) {
  std::string cause;
  const auto why = std::ranges::find_if(record.warnings, [](const Warning& warning) {
    return is(warning, WarningCode::job_lost) || row_of(warning).exit_code == ExitCode::incomplete;
  });
  if (why == record.warnings.end()) return cause;
  for (const std::string& line : split(why->text, '\n')) {
    // A job's last words are indented by two.
    cause += cause.empty() ? line : line.starts_with("  ") ? line.substr(1) : "; " + line;
  }
  return cause;
}

/// Tells whether the budget ended before anything was measured, which is no fault of the machine.
bool is_out_of_time(const Record& record) {
  const auto is_late = [](const VariantResult& each) {
    return each.skipped && each.skipped->reason == SkipReason::out_of_time;
  };
  return record.status == RunStatus::incomplete && !record.cases.empty() &&
         std::ranges::all_of(record.cases, [&](const CaseResult& result) {
           return std::ranges::all_of(result.variants, is_late);
         });
}

/// Returns the variables that the run's processes had, but for the file that NCCL logs to: linkgain
/// names it after the launch.
std::map<std::string, std::string> variables_of(const Settings& settings) {
  const std::vector<Environment>& all = settings.environment_in_force;
  std::map<std::string, std::string> variables;
  for (std::size_t i = 0; i < all.size() && i < settings.variants.size(); ++i) {
    for (const auto& [name, value] : all[i]) {
      if (name == "NCCL_DEBUG_FILE") continue;
      const bool alike = std::ranges::all_of(all, [&](const Environment& each) {
        const auto found = each.find(name);
        return found != each.end() && found->second == value;
      });
      std::string& text = variables[name];
      if (alike) {
        text = value;
      } else {
        text +=
            fmt::format("{}{} with {}", text.empty() ? "" : ", ", value, settings.variants[i].name);
      }
    }
  }
  return variables;
}

void add_throttled(FleetRecord& own, std::size_t rank, std::optional<std::uint64_t> reasons) {
  if (reasons && unhealthy(*reasons)) own.throttled[static_cast<int>(rank)] |= *reasons;
}

/// Returns what a record says besides its cases.
FleetRecord head_of(const Record& record) {
  FleetRecord own;
  own.started = record.started;
  own.status = record.status;
  own.is_out_of_time = is_out_of_time(record);
  own.cause = cause_of(record);
  own.launches = record.settings.launches;
  own.variables = variables_of(record.settings);
  own.has_chosen_gpus = has_chosen_gpus(record.settings);
  if (const std::optional<ProgramPlan>& program = record.settings.program) {
    own.program = shown_program(program->command, program->server);
  }
  if (record.neighbours) own.neighbours = static_cast<int>(record.neighbours->seen.size());
  if (record.link_errors) own.errors = grown_counters(*record.link_errors);
  own.machine = record.machine;
  return own;
}

/// Takes over what the record's warnings say, once they are derived.
void add_warnings(FleetRecord& own, const Record& record) {
  own.wrong_path = has_warning(record, ExitCode::wrong_path);
  std::ranges::copy_if(record.warnings, std::back_inserter(own.disturbing), disturbs);
}

FleetRecord fleet_record_of_whole(Record record, FleetNames& names) {
  judge(record);
  return fleet_record_of(record, names);
}

/// What the samples of one variant of a case say.
struct Gathered {
  LaunchTimes times{};
  int disturbed = 0;
  int with_health = 0;
  int throttled = 0;
};

/// Gathers the rows of each variant of each case, which stand in their order, and in `fleet` what
/// throttled whom.
std::vector<Gathered> gather(const Record& record, const SampleTable& samples, FleetRecord& fleet) {
  std::vector<std::size_t> begins;
  std::size_t variants = 0;
  for (const CaseResult& result : record.cases) {
    begins.push_back(variants);
    variants += result.variants.size();
  }
  std::vector<Gathered> all(variants);
  for (std::size_t row = 0; row < samples.place.size(); ++row) {
    Gathered& own = all[begins[static_cast<std::size_t>(samples.place[row])] +
                        static_cast<std::size_t>(samples.variant[row])];
    double time = 0.0;
    for (const auto& rank : samples.seconds_by_rank) time = std::max(time, rank[row].value_or(0.0));
    own.times[samples.launch[row]].push_back(time);
    if (!samples.disturbed.empty() && samples.disturbed[row]) ++own.disturbed;
    std::optional<std::uint64_t> reasons;
    for (const auto& rank : samples.clock_event_reasons_by_rank) {
      if (rank[row]) reasons = reasons.value_or(0) | *rank[row];
    }
    own.with_health += reasons ? 1 : 0;
    if (!reasons || !unhealthy(*reasons)) continue;
    ++own.throttled;
    for (std::size_t rank = 0; rank < samples.clock_event_reasons_by_rank.size(); ++rank) {
      add_throttled(fleet, rank, samples.clock_event_reasons_by_rank[rank][row]);
    }
  }
  return all;
}

/// Returns the launches' medians; a training's sample is a mean of steps, of which one is enough.
std::vector<LaunchMedian> launches_of(const Case& definition, const LaunchTimes& times) {
  const std::size_t fewest = is_training(definition.operation) ? 1 : kFewestSamples;
  std::vector<LaunchMedian> launches;
  for (const auto& [launch, time] : medians_of(times, fewest)) {
    launches.push_back({launch, Seconds{time}});
  }
  return launches;
}

void set_deviation(FleetValue& value, const std::optional<LaunchDeviation>& deviation) {
  if (!deviation) return;
  value.deviation = static_cast<float>(deviation->deviation);
  value.degrees_of_freedom = deviation->degrees_of_freedom.value_or(0);
}

Seconds time_of(const LaunchTimes& times, const std::vector<LaunchMedian>& launches) {
  if (!launches.empty()) return geometric_mean(launches);
  std::vector<double> all;
  for (const auto& [launch, own] : times) all.insert(all.end(), own.begin(), own.end());
  return Seconds{all.empty() ? 0.0 : median(all)};
}

/// Tells whether judge() would find that nothing is missing, as far as columns tell: then a fleet
/// asks of its warnings for a wrong path alone.
bool lacks_nothing(const Record& record, const SampleTable& samples) {
  const auto is_checked = [](const VariantResult& variant) {
    return !variant.time || variant.verification;
  };
  const bool any_measured = std::ranges::any_of(record.cases, [](const CaseResult& result) {
    return !is_training(result.definition.operation) &&
           std::ranges::any_of(result.variants,
                               [](const VariantResult& each) { return each.time.has_value(); });
  });
  return any_measured && std::ranges::count(samples.unverified, true) == 0 &&
         std::ranges::all_of(record.cases, [&](const CaseResult& result) {
           return std::ranges::all_of(result.variants, is_checked);
         });
}

/// Says what fleet_record_of_whole() does, without a record's samples; nothing where that takes
/// more than columns.
std::optional<FleetRecord> fleet_record_of_columns(RecordDocument document, FleetNames& names) {
  Record& record = document.record;
  if (record.settings.program || record.status != RunStatus::complete) return std::nullopt;
  drop_derived(record);
  FleetRecord fleet = head_of(record);
  const std::vector<Gathered> all = gather(record, document.samples, fleet);
  auto own = all.begin();
  std::vector<CaseLaunches> measured;
  for (CaseResult& result : record.cases) {
    const std::string name = case_name(result.definition);
    const std::size_t first = fleet.values.size();
    const bool sampled = std::any_of(own, own + std::ssize(result.variants),
                                     [](const Gathered& each) { return !each.times.empty(); });
    int first_launches = 0;
    int launches = 0;
    for (VariantResult& variant : result.variants) {
      std::vector<LaunchMedian> medians = launches_of(result.definition, own->times);
      const Seconds time = time_of(own->times, medians);
      if (has_wrong_data(variant)) medians.clear();  // as counted_launches()
      measured.push_back({result.definition, variant.variant, medians});
      if (time.value > 0.0) variant.time = time;
      if (sampled) variant.path = path_of(record.machine, result.definition, variant);
      const int count = static_cast<int>(medians.size());
      const bool is_first = fleet.values.size() == first;
      if (is_first) first_launches = count;
      if (!is_first) launches = std::max(launches, std::min(first_launches, count));
      fleet.values.push_back(
          {names.number_of(name, variant.variant), static_cast<float>(time.value), variant.path,
           has_wrong_data(variant), own->with_health, own->throttled, count, own->disturbed,
           level_change_of(own->times, 2.0 * default_precision(result.definition)).has_value()});
      ++own;
    }
    if (launches == 0) continue;
    for (std::size_t i = first; i < fleet.values.size(); ++i) fleet.values[i].launches = launches;
  }
  const auto deviations = pooled_deviations(measured);
  for (std::size_t i = 0; i < deviations.size(); ++i) {
    if (!measured[i].launches.empty()) set_deviation(fleet.values[i], deviations[i]);
  }
  if (!lacks_nothing(record, document.samples)) return std::nullopt;
  judge_paths(record);
  add_warnings(fleet, record);
  return fleet;
}

FleetRecord read_file(const std::filesystem::path& path, FleetNames& names) {
  const Reading<std::string> text = read_regular_file(path);
  if (!text.measured()) throw UsageError("cannot be read: " + text.reason());
  if (text.value().starts_with("{\"head\"")) {
    FleetRecord own = fleet_record_of_whole(parse_journal(text.value(), {}), names);
    if (own.cause.empty()) own.cause = "it left only a journal";
    return own;
  }
  if (std::optional<RecordDocument> written = read_as_written(text.value())) {
    auto own = fleet_record_of_columns(*std::move(written), names);
    if (own) return *std::move(own);
  }
  require_document(text.value());
  return fleet_record_of_whole(parse_record(text.value(), {}), names);
}

/// Returns "node7" of "20261120T164000Z_node7_2xH200", which is how a run names its folder; empty
/// where the name is another one.
std::string host_in_folder(const std::string& folder) {
  constexpr std::size_t kTimeLength = 16;
  const std::size_t last = folder.rfind('_');
  const bool dated = folder.size() > kTimeLength && folder[kTimeLength] == '_' &&
                     folder[8] == 'T' && folder[kTimeLength - 1] == 'Z';
  if (!dated || last <= kTimeLength) return {};
  return folder.substr(kTimeLength + 1, last - kTimeLength - 1);
}

/// Says what to call a record that does not say whose it is: "node7/record.json" is node7's, and so
/// is "node7", a folder that cannot be read.
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
  FleetRecord own = head_of(record);
  add_warnings(own, record);
  const LaunchMeans means = launch_means(record);
  for (std::size_t place = 0; place < record.cases.size(); ++place) {
    const CaseResult& result = record.cases[place];
    const std::string name = case_name(result.definition);
    for (const Sample& sample : result.samples) {
      for (std::size_t rank = 0; rank < sample.health.size(); ++rank) {
        add_throttled(own, rank, sample.health[rank].clock_event_reasons);
      }
    }
    int launches = 0;
    for (const RatioResult& each : result.ratios) {
      launches = std::max(launches, each.ratio.replicates);
    }
    for (std::size_t i = 0; i < result.variants.size(); ++i) {
      const VariantResult& variant = result.variants[i];
      own.values.push_back({names.number_of(name, variant.variant),
                            static_cast<float>(variant.time.value_or(Seconds{}).value),
                            variant.path, has_wrong_data(variant), variant.health.samples,
                            variant.health.unhealthy_samples, launches, variant.disturbed_samples,
                            variant.level_shift.has_value()});
      const std::optional<LaunchMean>& mean = means[place][i];
      if (!mean) continue;
      if (launches == 0) own.values.back().launches = mean->launches;
      set_deviation(own.values.back(), mean->deviation);
    }
  }
  return own;
}

bool is_in_future(const std::string& started) {
  constexpr double kDay = 86400.0;
  const std::optional<double> begin = timestamp_of(started);
  return begin && *begin > static_cast<double>(std::time(nullptr)) + kDay;
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

namespace fs = std::filesystem;

constexpr unsigned kMostThreads = 16;

/// Tells whether it is a record, but not beside the journal of a later run that has none yet; or a
/// journal.
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

/// Adds what is below a folder. One that cannot be read stands itself for what may be in it, but
/// not where it is part of a run; one that goes away meanwhile has nothing.
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
  std::ranges::sort(files);
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
