#include "linkgain/exec/exec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/program_validity.hpp"
#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/base/build_info.hpp"
#include "linkgain/base/secrets.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/exec/received_variables.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/nvml.hpp"
#include "linkgain/telemetry/program_traffic.hpp"

namespace linkgain {
namespace {

using Clock = std::chrono::steady_clock;

/// Tells whether what is said of a failed program names a signal, CUDA or NCCL.
bool may_be_of_gpus(std::string_view said) {
  static constexpr std::array<std::string_view, 4> kWords{"SIGNAL", "CUDA", "NCCL", "GPU"};
  const std::string text = upper(said);
  return std::ranges::any_of(kWords,
                             [&](std::string_view word) { return text.find(word) != text.npos; });
}

class Rounds {
 public:
  Rounds(const ExecPlan& plan, ExecWorld& world, Record& record, JournalWriter& journal,
         ExecObserver& observer)
      : plan_(plan),
        world_(world),
        record_(record),
        journal_(journal),
        observer_(observer),
        received_(all_received(plan)),
        failures_(static_cast<std::size_t>(arm_count(plan))),
        runs_(failures_.size()),
        seconds_(failures_.size()) {
    for (const Case& definition : plan.cases) {
      CaseResult& result = record.cases.emplace_back();
      result.definition = definition;
      for (const Variant& variant : plan.variants) {
        result.variants.emplace_back().variant = variant.name;
      }
    }
    steps_ = arm_count(plan) * (plan.warm_up + plan.rounds);
  }

  void carry_out() {
    record_.status = RunStatus::interrupted;  // until it is over
    for (auto& result : record_.cases) result.stopped = StopReason::interrupted;
    read_errors();
    journal_.write_head(record_);
    for (const std::string& note : plan_.output.notes) observer_.note(note);
    for (const Warning& forbidden : forbidden_p2p_warnings(record_)) note_warning(forbidden);
    if (const auto refused = refused_p2p_warning(record_)) note_warning(*refused);
    warn_of_rates({});
    if (const auto compose = compose_warning(plan_)) warn_at_once(*compose);
    warn_of_containers();
    if (const auto lost = lost_logs_warning(plan_)) note_warning(*lost);
    warm_up();
    StopReason stopped = run_rounds(1, plan_.rounds);
    if (stopped == StopReason::out_of_rounds) {
      if (const auto [more, metric, asked] = rounds_worth_more(); more > 0) {
        observer_.note(fmt::format(
            "{}: the interval is wider than ±{} of the ratio, so {}", metric,
            percent_of_digits(asked),
            more == 1 ? "one more round follows" : fmt::format("{} more rounds follow", more)));
        steps_ += more * arm_count(plan_);
        stopped = run_rounds(plan_.rounds + 1, plan_.rounds + more);
      }
    }
    for (auto& result : record_.cases) result.stopped = stopped;
    record_.status = RunStatus::complete;
  }

 private:
  int variant_count() const { return static_cast<int>(plan_.variants.size()); }
  std::size_t arm_at(const RunPlace& place) const {
    return static_cast<std::size_t>(arm_of(plan_, place));
  }
  bool is_out(std::size_t arm) const { return failures_[arm] >= 2; }
  bool is_out(const RunPlace& place) const { return is_out(arm_at(place)); }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  bool read_errors();
  void warn_at_once(const Warning& warning);
  void note_warning(const Warning& warning);
  void warn_of_rates(const std::map<std::string, MetricValues>& values);
  const Environment& set_by(int variant) const;
  void warn_of_containers();
  void note_received(const RunReport& report);
  void warm_up();
  bool fits(int runs) const;
  StopReason run_rounds(int first, int last);
  bool has_nothing_to_compare() const;
  bool is_due(const RunPlace& place) const;
  void run(const RunPlace& place, int position);
  Warning lost_run(const RunReport& report) const;
  void keep(const RunReport& report, int position);
  void keep_sample(CaseResult& result, const MetricValues& values, const RunPlace& place,
                   int position);
  void warn_of_missing(const std::string& run, const std::string& metric, const std::string& why);
  void warn_of_waiting(const RunReport& report);
  bool has_given(const std::string& metric) const;
  bool lacks_metric() const;
  bool fails_everywhere() const;
  /// Rounds that a metric needs beyond those that were asked for.
  struct More {
    int rounds = 0;
    std::string metric{};
    double asked = 0.0;  ///< half width of its interval
  };
  More rounds_worth_more() const;
  ExecPace pace() const;

  const ExecPlan& plan_;
  ExecWorld& world_;
  Record& record_;
  JournalWriter& journal_;
  ExecObserver& observer_;
  ErrorReadings errors_;
  std::set<std::string> noted_logs_;   ///< that did not come
  std::vector<Environment> received_;  ///< by variant, an empty value where one reaches no program
  std::set<std::pair<int, std::string>> arrived_;  ///< variables of variants that programs had
  Clock::time_point start_ = Clock::now();
  std::vector<int> failures_;  ///< in a row, by arm
  std::vector<int> runs_;      ///< begun, without warm-ups, by arm
  /// Runs that lack a metric for a reason.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> missing_;
  std::vector<std::string> waiting_;  ///< runs whose program waited for linkgain
  double longest_wait_ = 0.0;         ///< of these, as a share of the run's time
  double longest_ = 0.0;              ///< of all runs, with what is kept of one
  std::vector<double> seconds_;       ///< of the last run with all around it, by arm
  std::optional<double> running_since_;
  int step_ = 0;
  int steps_ = 0;
  int sequence_ = 0;
};

ExecPace Rounds::pace() const {
  double sum = 0.0;
  int known = 0;
  for (const double seconds : seconds_) {
    sum += seconds;
    known += seconds > 0.0 ? 1 : 0;
  }
  if (known == 0) return {step_, steps_, std::nullopt};
  const double mean = sum / known;
  const double of_this = running_since_ ? std::min(elapsed() - *running_since_, mean) : 0.0;
  return {step_, steps_, mean * (steps_ - step_) - of_this};
}

void Rounds::keep_sample(CaseResult& result, const MetricValues& values, const RunPlace& place,
                         int position) {
  int round = 0;
  for (const double number : values.samples) {
    Sample sample;
    sample.sequence = sequence_++;
    sample.variant = place.variant;
    sample.launch = place.round - 1;
    sample.round = round++;
    sample.position = position;
    sample.operations = values.count;
    sample.resolution = values.resolution;
    sample.times = {Seconds{to_sample(*result.definition.metric, number)}};
    sample.health.resize(1);
    result.samples.push_back(std::move(sample));
  }
}

/// Gives one warning for all runs of one reason.
void Rounds::warn_of_missing(const std::string& run, const std::string& metric,
                             const std::string& why) {
  std::vector<std::string>& runs = missing_[{metric, why}];
  const auto warning = [&] {
    return warning_of(WarningCode::metric_missing,
                      fmt::format("no {} in {}: {}", metric, first_named(runs), why));
  };
  if (!runs.empty()) std::erase(record_.warnings, warning());
  runs.push_back(run);
  record_.warnings.push_back(warning());
  journal_.write_warning(warning());
}

/// Gives one warning for all runs whose time has more of linkgain's own in it than a difference may
/// be.
void Rounds::warn_of_waiting(const RunReport& report) {
  constexpr double kMostShare = 0.01;
  const auto time = report.values.find(std::string(ProgramMetric::kTime));
  if (time == report.values.end()) return;
  const double share = report.waited.value / time->second.samples.front();
  if (share <= kMostShare) return;
  const auto warning = [&] {
    return warning_of(
        WarningCode::exec_waited,
        fmt::format("the command had to wait for linkgain to read its output, for up to "
                    "{:.0f} % of its time, in {}",
                    100.0 * longest_wait_, first_named(waiting_)));
  };
  if (!waiting_.empty()) std::erase(record_.warnings, warning());
  waiting_.push_back(name_of(plan_, report.place));
  longest_wait_ = std::max(longest_wait_, std::min(1.0, share));
  record_.warnings.push_back(warning());
  journal_.write_warning(warning());
}

/// Says that it failed, with what the GPUs say. That they could not be asked concerns nobody whose
/// program has a name misspelt.
Warning Rounds::lost_run(const RunReport& report) const {
  const std::string last =
      report.last_lines.empty() ? "" : "; its last line: " + visible(report.last_lines.back());
  const Warning failed{
      name_of(WarningCode::run_failed),
      fmt::format("{} failed and does not count: {}{}", name_of(plan_, report.place),
                  *report.failure, last),
      report.advice.empty()
          ? fmt::format("its output is in {}/{}", report.log.parent_path().filename().string(),
                        report.log.filename().string())
          : report.advice};
  const std::string words = fmt::format("{}", fmt::join(report.last_lines, "\n"));
  std::vector<GpuFault> faults = world_.faults();
  if (!may_be_of_gpus(*report.failure + words)) std::erase_if(faults, &GpuFault::is_unknown);
  return explained(failed, words, faults);
}

void Rounds::keep(const RunReport& report, int position) {
  const std::string run = name_of(plan_, report.place);
  ProgramRun& seen = record_.runs.emplace_back();
  seen.variant = plan_.variants[static_cast<std::size_t>(report.place.variant)].name;
  seen.round = report.place.round;
  seen.warm_up = report.place.warm_up;
  seen.at = place_on_axis(plan_, report.place);
  seen.failure = report.failure.value_or("");
  seen.evidence = report.evidence;
  const auto time = report.values.find(std::string(ProgramMetric::kTime));
  if (time != report.values.end()) seen.seconds = time->second.samples.front();
  note_received(report);
  for (const std::string& note : report.missing_logs) {
    const bool is_new = noted_logs_.insert(note).second;
    if (is_new) warn_at_once({name_of(WarningCode::run_noted), note, {}});
  }
  for (const std::string& note : report.notes) {
    record_.warnings.push_back(
        {name_of(WarningCode::run_noted), fmt::format("{}: {}", run, note), {}});
    journal_.write_warning(record_.warnings.back());
  }
  if (report.failure) {
    record_.warnings.push_back(lost_run(report));
    journal_.write_warning(record_.warnings.back());
    return;
  }
  warn_of_rates(report.values);
  if (report.place.warm_up) return;
  warn_of_waiting(report);
  for (std::size_t i = 0; i < record_.cases.size(); ++i) {
    CaseResult& result = record_.cases[i];
    if (result.definition.metric->at != seen.at) continue;
    const std::string& name = result.definition.metric->name;
    const auto values = report.values.find(name);
    const bool found = values != report.values.end() && values->second.missing.empty();
    if (found) {
      keep_sample(result, values->second, report.place, position);
      summarise(result);
      journal_.write_case(static_cast<int>(i), result);
    } else if (!is_start_up(result.definition)) {
      warn_of_missing(run, name, values == report.values.end() ? "" : values->second.missing);
    }
  }
}

void Rounds::run(const RunPlace& place, int position) {
  const double before = elapsed();
  running_since_ = before;
  const RunReport report = world_.run(place, [&] { observer_.running(pace(), place); });
  running_since_.reset();
  ++step_;
  const std::size_t arm = arm_at(place);
  seconds_[arm] = elapsed() - before;
  failures_[arm] = report.failure ? failures_[arm] + 1 : 0;
  keep(report, position);
  journal_.write_program_run(record_.runs.back());  // last: a cut journal has it with its numbers
  observer_.finished(pace(), report);
  if (read_errors()) journal_.write_head(record_);
  if (failures_[arm] == 2) {
    observer_.note(
        fmt::format("{} failed twice in a row and is not run again", spoken_arm(plan_, place)));
  }
  longest_ = std::max(longest_, elapsed() - before);
}

/// Reads them before the first run and after each; tells at once what grew, and returns whether
/// something did.
bool Rounds::read_errors() {
  const std::vector<std::string> grown =
      errors_.add(record_.link_errors, world_.error_counts(), elapsed());
  for (const std::string& line : grown) observer_.note(line);
  return !grown.empty();
}

/// Tells whether the budget leaves time for so many runs as long as the longest one.
bool Rounds::fits(int runs) const {
  return !plan_.budget || elapsed() + longest_ * runs <= plan_.budget->value;
}

void Rounds::warn_at_once(const Warning& warning) {
  record_.warnings.push_back(warning);
  journal_.write_warning(warning);
  note_warning(warning);
}

void Rounds::note_warning(const Warning& warning) {
  observer_.note(warning.text + (warning.advice.empty() ? "" : ": " + warning.advice));
}

/// Warns of rates that count as times, at once: an answer the wrong way round would come too late.
/// What the output says behind a run's values is known after it.
void Rounds::warn_of_rates(const std::map<std::string, MetricValues>& values) {
  for (const MetricRequest& each : plan_.output.metrics) {
    const auto own = values.find(each.metric.name);
    const std::string words = own == values.end() ? "" : own->second.words;
    if (each.metric.higher_is_better || !looks_like_rate(each, words)) continue;
    const Warning warning = warning_of(
        WarningCode::rate_unmarked,
        fmt::format(
            "{} looks like a rate, but without --higher-is-better less of it counts as better",
            each.metric.name));
    if (std::ranges::count(record_.warnings, warning) == 0) warn_at_once(warning);
  }
}

const Environment& Rounds::set_by(int variant) const {
  return plan_.variants[static_cast<std::size_t>(variant)].environment;
}

/// Warns of variables of variants that do not reach the program, once.
void Rounds::warn_of_containers() {
  const std::optional<Warning> warning = container_warning(plan_, received_, record_);
  if (warning && std::ranges::count(record_.warnings, *warning) > 0) return;
  std::erase_if(record_.warnings,
                [](const Warning& each) { return is(each, WarningCode::exec_container); });
  if (warning) warn_at_once(*warning);
}

/// Notes what processes of the run had; what reached the program once is not lost in a later run.
void Rounds::note_received(const RunReport& report) {
  if (!report.received) return;
  const auto variant = static_cast<std::size_t>(report.place.variant);
  const Environment& own = set_by(report.place.variant);
  Settings& settings = record_.settings;
  for (const auto& [name, value] : *report.received) {
    const bool has_arrived = own.contains(name) && own.at(name) == value;
    if (has_arrived) arrived_.emplace(report.place.variant, name);
    if (!has_arrived && arrived_.contains({report.place.variant, name})) continue;
    received_[variant][name] = value;
    if (variant >= settings.environment_in_force.size()) continue;
    settings.environment_in_force[variant][name] =
        has_arrived ? settings.variants[variant].environment.at(name)
                    : without_secrets(Environment{{name, value}}).at(name);
  }
  warn_of_containers();
}

void Rounds::warm_up() {
  for (int turn = 1; turn <= plan_.warm_up; ++turn) {
    for (int arm = 0; arm < arm_count(plan_); ++arm) {
      const RunPlace place = place_of(plan_, arm, turn, true);
      if (is_out(place)) continue;
      if (!fits(1 + arm_count(plan_))) {
        observer_.note("the budget leaves no time for more warm-ups");
        return;
      }
      observer_.running(pace(), place);
      run(place, arm);
    }
  }
}

/// Tells whether fewer than two variants are left, at any value, and what is left has had its first
/// run.
bool Rounds::has_nothing_to_compare() const {
  const auto controls = std::ranges::count(plan_.variants, true, &Variant::is_control);
  std::map<int, int> left;  // by value, of variants that are compared
  for (int arm = 0; arm < arm_count(plan_); ++arm) {
    const RunPlace place = place_of(plan_, arm, 1);
    if (is_out(place)) continue;
    if (runs_[arm_at(place)] == 0) return false;
    const Variant& variant = plan_.variants[static_cast<std::size_t>(place.variant)];
    if (!variant.is_control) ++left[place.value];
  }
  const int least = std::min(2, variant_count() - static_cast<int>(controls));
  return std::ranges::none_of(left, [=](const auto& each) { return each.second >= least; });
}

/// Tells whether there is time for another run of the arm and for those by which the others come to
/// as many, which then are due whatever the budget. So is the first one of each.
bool Rounds::is_due(const RunPlace& place) const {
  const int own = runs_[arm_at(place)];
  if (own == 0) return true;
  int needed = 0;
  for (std::size_t arm = 0; arm < runs_.size(); ++arm) {
    if (is_out(arm)) continue;
    if (runs_[arm] > own) return true;
    needed += own + 1 - runs_[arm];
  }
  return fits(needed);
}

StopReason Rounds::run_rounds(int first, int last) {
  bool out_of_time = false;
  for (const RunPlace& place : shuffled_rounds(plan_, first, last)) {
    if (is_out(place)) continue;
    if (!is_due(place)) {
      out_of_time = true;
      continue;
    }
    const int position = std::accumulate(runs_.begin(), runs_.end(), 0);
    observer_.running(pace(), place);
    ++runs_[arm_at(place)];
    run(place, position);
    if (position + 1 == variant_count() && lacks_metric()) return StopReason::skipped;
    if (fails_everywhere()) return StopReason::skipped;
    if (has_nothing_to_compare()) return StopReason::skipped;
  }
  if (out_of_time) return StopReason::out_of_time;
  return variant_count() > 1 ? StopReason::out_of_rounds : StopReason::nothing_to_compare;
}

/// Tells whether a run gave the metric, at whichever value.
bool Rounds::has_given(const std::string& metric) const {
  return std::ranges::any_of(record_.cases, [&](const CaseResult& result) {
    return result.definition.metric->name == metric && !result.samples.empty();
  });
}

/// Tells whether runs ended well and none gave a metric that was asked for, so that more of them
/// would not either.
bool Rounds::lacks_metric() const {
  if (!has_given(std::string(ProgramMetric::kTime))) return false;
  const auto lacking = std::ranges::find_if(record_.cases, [&](const CaseResult& result) {
    return !is_start_up(result.definition) && !has_given(result.definition.metric->name);
  });
  if (lacking == record_.cases.end()) return false;
  observer_.note(fmt::format("no run gave {}, so the command is not run again",
                             lacking->definition.metric->name));
  return true;
}

/// Tells whether every variant's runs failed, so that more of them would not end well either.
bool Rounds::fails_everywhere() const {
  const auto failed = [](const ProgramRun& run) { return !run.failure.empty(); };
  if (std::ranges::count(failures_, 0) > 0 || !std::ranges::all_of(record_.runs, failed)) {
    return false;
  }
  if (step_ == steps_) return true;
  observer_.note(fmt::format("the command failed{}, so it is not run again",
                             variant_count() > 1 ? " with every variant" : ""));
  return true;
}

/// Counts them by the half width of an interval, which falls as one over the square root of the
/// runs, at least.
Rounds::More Rounds::rounds_worth_more() const {
  Record copy = record_;
  summarise(copy);
  double factor = 1.0;
  More most;
  for (const CaseResult& result : copy.cases) {
    if (!decides_rounds(copy, result.definition)) continue;
    const double asked = precision_of(copy.settings, result.definition);
    for (const RatioResult& each : result.ratios) {
      if (each.is_refused) continue;  // as where runs were lost, which no rounds bring back
      if (rounding_of(result, each.variant) >= asked) continue;  // which no runs make narrower
      const double width = relative_half_width(each.ratio).value_or(0.0);
      if (std::pow(width / asked, 2) <= factor) continue;
      factor = std::pow(width / asked, 2);
      most = {0, metric_label(*result.definition.metric), asked};
    }
  }
  most.rounds = static_cast<int>(std::ceil(std::min(1.0, factor - 1.0) * plan_.rounds));
  return most;
}

bool has_samples(const CaseResult& result, std::size_t variant) {
  return std::ranges::any_of(result.samples, [=](const Sample& sample) {
    return sample.variant == static_cast<int>(variant);
  });
}

/// Notes an NCCL that programs had mapped; nothing where they had several.
void note_nccl(Software& software, const std::set<std::pair<std::string, std::string>>& mapped) {
  if (mapped.size() != 1) return;
  const auto& [path, build] = *mapped.begin();
  software.nccl_path = path;
  if (build.empty()) return;
  software.nccl_build = build;
  software.nccl_library = build.substr(0, build.find('+'));
}

/// Notes the version that NCCL logged where no library was seen: programs may have it in them.
void note_logged_nccl(Software& software, const std::set<std::string>& versions) {
  if (software.nccl_path || versions.size() != 1) return;
  software.nccl_build = *versions.begin();
  software.nccl_library = software.nccl_build->substr(0, software.nccl_build->find('+'));
}

/// Notes the library of each variant's runs, and of the machine where all runs had the same.
void note_software(Record& record) {
  std::set<std::pair<std::string, std::string>> all;
  std::set<std::string> all_logged;
  std::vector<Software>& in_force = record.settings.software_in_force;
  in_force.clear();
  for (const Variant& variant : record.settings.variants) {
    std::set<std::pair<std::string, std::string>> own;
    std::set<std::string> logged;
    for (const ProgramRun& run : record.runs) {
      if (run.variant != variant.name) continue;
      if (!run.evidence.nccl_logged.empty()) logged.insert(run.evidence.nccl_logged);
      for (const MappedNccl& library : run.evidence.nccl)
        own.emplace(library.path, library.version);
    }
    note_nccl(in_force.emplace_back(record.machine.software), own);
    if (own.empty()) note_logged_nccl(in_force.back(), logged);
    all.merge(own);
    all_logged.merge(logged);
  }
  note_nccl(record.machine.software, all);
  if (all.empty()) note_logged_nccl(record.machine.software, all_logged);
}

}  // namespace

Machine survey_machine() {
  Machine machine = describe_host();
  machine.software.linkgain = build_info().version;
  machine.software.build = build_info().text;
  const std::shared_ptr<Nvml> nvml = Nvml::open();
  if (!nvml) return machine;
  machine.software.driver = nvml->driver_version();
  std::vector<std::optional<Nvml::Device>> devices;
  for (int i = 0; i < nvml->device_count(); ++i) {
    const std::optional<Nvml::Device> device = nvml->device_by_index(i);
    devices.push_back(device);
    RankInfo& rank = machine.ranks.emplace_back();
    rank.rank = i;
    rank.host = machine.host;
    GpuInfo& gpu = rank.gpu.emplace();
    gpu.cuda_index = i;
    if (!device) continue;
    gpu.name = device->name().value_or("");
    gpu.uuid = device->uuid().value_or("");
    gpu.pci_bus_id = device->pci_bus_id().value_or("");
    gpu.memory_bytes = device->memory_bytes().value_or(0);
    device->read_links(gpu);
    device->read_limits(gpu);
  }
  machine.links = links_between(devices);
  return machine;
}

void execute(const ExecPlan& plan, ExecWorld& world, Record& record, JournalWriter& journal,
             ExecObserver& observer) {
  Rounds(plan, world, record, journal, observer).carry_out();
}

ExitCode conclude(Record& record) {
  for (CaseResult& result : record.cases) {
    for (std::size_t i = 0; i < result.variants.size(); ++i) {
      if (has_samples(result, i)) continue;
      VariantResult& variant = result.variants[i];
      const bool was_run =
          !counted_runs(record, variant.variant, result.definition.metric->at).empty();
      variant.skipped = Skip{.refusal = was_run ? "no run gave it" : "no run of it ended well"};
    }
  }
  std::erase_if(record.cases, [](const CaseResult& result) {
    return is_start_up(result.definition) && result.samples.empty();
  });
  note_software(record);
  return judge(record);
}

}  // namespace linkgain
