#include "linkgain/baseline/baseline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "linkgain/analysis/variant_environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/machines/machine_difference.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

std::string label(const Case& definition, const std::string& variant) {
  return fmt::format("{} with {}", case_name(definition), variant);
}

/// Says why launches cannot be a reference; empty where they can.
std::string why_unfit(const CaseLaunches& launches) {
  if (!launches.wrong_data.empty()) return "wrong data: " + launches.wrong_data;
  if (launches.launches.empty()) return launches.missing;
  if (launches.paths.size() < 2) return {};
  std::vector<std::string_view> names;
  for (const Path path : launches.paths) names.push_back(name_of(path));
  return fmt::format("its launches took different paths: {}", fmt::join(names, ", "));
}

BaselineCase reference_of(const CaseLaunches& launches,
                          const std::optional<LaunchDeviation>& between_launches,
                          const Tolerance& tolerance) {
  BaselineCase reference{.definition = launches.definition,
                         .variant = launches.variant,
                         .path = launches.paths.empty() ? Path::unknown : launches.paths.front(),
                         .time = geometric_mean(launches.launches),
                         .launches = static_cast<int>(launches.launches.size()),
                         .tolerance = tolerance,
                         .between_launches = between_launches,
                         .launch_times = {},
                         .resolution = resolution_of(launches.launches)};
  for (const LaunchMedian& launch : launches.launches) {
    reference.launch_times.push_back(launch.time);
  }
  return reference;
}

/// Takes the mean of runs for the time if there are enough: each then counts the same, however many
/// launches it had.
void add_runs(BaselineCase& reference, const CaseLaunches& runs,
              const std::optional<LaunchDeviation>& between_runs) {
  const int count = static_cast<int>(runs.launches.size());
  if (count < kEnoughRuns || !between_runs) return;
  reference.between_runs = RunDeviation{count, *between_runs};
  reference.time = geometric_mean(runs.launches);
}

/// Warns of what holds of some cases; nothing where there are none.
void warn_of_cases(Baseline& baseline, WarningCode code, const std::string& what,
                   const std::vector<std::string>& cases, const std::string& advice) {
  if (cases.empty()) return;
  baseline.warnings.push_back(
      {name_of(code), fmt::format("{}: {}", what, first_named(cases, 3, "; ")), advice});
}

void warn_of_few_launches(Baseline& baseline) {
  int fewest = kEnoughLaunches;
  for (const BaselineCase& reference : baseline.cases) {
    fewest = std::min(fewest, reference.launches);
  }
  if (fewest >= kEnoughLaunches) return;
  const std::string measure =
      fmt::format("measure with `{}`", command_for_launches(baseline.cases.front().definition));
  baseline.warnings.push_back(
      {name_of(WarningCode::weak_baseline),
       fmt::format("some cases have only {}, {} are wanted", counted(fewest, "launch", "launches"),
                   kEnoughLaunches),
       measure + (fewest < 2 ? ": from one launch nothing is known of how launches differ, so a "
                               "check against it is inconclusive"
                             : ", or give more records: checks will often be inconclusive")});
}

void warn_of_deviations(Baseline& baseline) {
  std::vector<std::string> alone;
  for (const BaselineCase& reference : baseline.cases) {
    if (!reference.between_launches || !reference.between_launches->alone) continue;
    alone.push_back(fmt::format("{} ({:.2g} %)", label(reference.definition, reference.variant),
                                100.0 * reference.between_launches->deviation));
  }
  warn_of_cases(baseline, WarningCode::unsteady,
                "launches differ far more than in like cases, so the deviation is the case's own",
                alone, "a check of these needs more launches, or a wider tolerance (overrides)");
}

void warn_of_health(Baseline& baseline, std::span<const CaseLaunches> cases) {
  std::vector<std::string> throttled;
  for (const CaseLaunches& launches : cases) {
    if (launches.unhealthy_samples == 0) continue;
    throttled.push_back(label(launches.definition, launches.variant));
  }
  warn_of_cases(baseline, WarningCode::throttled,
                "GPUs were throttled by heat, power brake or hardware", throttled,
                "a baseline of an unhealthy machine hides regressions: measure again");
}

/// Adds the record's variants, with what was in force in the first record that tells; a warning
/// says where another record's differs.
void add_variants(Baseline& baseline, const NamedRecord& source) {
  const Settings& settings = source.record.settings;
  for (std::size_t i = 0; i < settings.variants.size(); ++i) {
    const std::string& name = settings.variants[i].name;
    const Environment& environment = settings.variants[i].environment;
    auto known = std::ranges::find(baseline.variants, name, &BaselineVariant::name);
    if (known == baseline.variants.end()) {
      known = baseline.variants.insert(known, {name, environment});
    } else if (known->environment != environment) {
      throw UsageError(fmt::format("{}: variant {} sets other variables than in the records "
                                   "before it",
                                   source.name, name),
                       "make one baseline of each, or give the variants names of their own");
    }
    if (i >= settings.environment_in_force.size()) continue;
    const Environment& own = settings.environment_in_force[i];
    if (!known->in_force) known->in_force = own;
    const auto changes = variable_changes(*known->in_force, own);
    if (changes.empty()) continue;
    baseline.warnings.push_back(
        {name_of(WarningCode::other_variables),
         fmt::format("{}: variables of variant {} are not those of the records before it: {}",
                     source.name, name, shown_changes(changes)),
         "launches may differ by these; measure all records with the same variables"});
  }
}

void require_like(const NamedRecord& one, const MachineKey& key, const NamedRecord& other,
                  const MachineKey& other_key) {
  const std::vector<std::string> lines = differences(key, other_key);
  if (lines.empty()) return;
  throw UsageError(fmt::format("{} and {} do not belong together: {}", one.name, other.name,
                               fmt::join(lines, "; ")),
                   "give records of like machines");
}

/// Requires one program whose metrics are read alike: times of several are no reference for either.
void require_one_program(std::span<const NamedRecord> records) {
  const BaselineSource first = source_of(records.front().record);
  for (const NamedRecord& each : records.subspan(1)) {
    const BaselineSource source = source_of(each.record);
    require_same_metrics(source, each.name, first, records.front().name);
    if (source.program == first.program) continue;
    throw UsageError(fmt::format("{} and {} ran different programs: '{}' and '{}'",
                                 records.front().name, each.name, first.program, source.program),
                     "make one baseline of each");
  }
}

/// Collects what any of the records knows.
MachineKey key_of_all(std::span<const NamedRecord> records) {
  MachineKey key = key_of(records.front().record);
  for (const NamedRecord& source : records.subspan(1)) fill_in(key, key_of(source.record));
  return key;
}

/// Says how metrics of a program are read, by name: "last of 'lat: ([0-9.]+)' in ms".
std::map<std::string, std::string> metrics_in(const Record& record) {
  std::map<std::string, std::string> metrics;
  if (!record.settings.program) return metrics;
  for (const std::string& each : record.settings.program->metrics) {
    const std::size_t end = each.find(": ");
    if (end == each.npos) continue;
    const std::string name = each.substr(0, end);
    const auto& units = record.settings.program->units;
    const auto unit = units.find(name);
    metrics[name] = each.substr(end + 2) + (unit == units.end() ? "" : " in " + unit->second);
  }
  return metrics;
}

/// Returns what `linkgain exec` ran; empty for other records.
std::string program_in(const Record& record) {
  if (!record.settings.program) return {};
  return shown_program(record.settings.program->command, record.settings.program->server);
}

struct Pool {
  int cases = 0;
  std::optional<LaunchDeviation> between_launches;
};

Table deviations_of(const Baseline& baseline) {
  std::map<std::string, Pool> pools;
  for (const BaselineCase& reference : baseline.cases) {
    if (reference.between_launches && reference.between_launches->alone) continue;
    Pool& pool = pools[deviation_pool(reference.definition, reference.variant)];
    ++pool.cases;
    pool.between_launches = reference.between_launches;
  }
  Table table({{"Like cases"},
               {"Cases", kRight, false, 2},
               {"Between launches", kRight},
               {"Degrees of freedom", kRight, false, 1}});
  for (const auto& [name, pool] : pools) {
    table.add_row(
        {name, fmt::format("{}", pool.cases),
         pool.between_launches ? fmt::format("{:.2f} %", 100.0 * pool.between_launches->deviation)
                               : "?",
         fmt::format(
             "{}", pool.between_launches ? pool.between_launches->degrees_of_freedom.value() : 0)});
  }
  return table;
}

std::string launches_text(const Baseline& baseline) {
  const auto [fewest, most] = std::minmax_element(
      baseline.cases.begin(), baseline.cases.end(),
      [](const BaselineCase& a, const BaselineCase& b) { return a.launches < b.launches; });
  if (fewest == baseline.cases.end()) return "no launches";
  if (fewest->launches == most->launches) return counted(most->launches, "launch", "launches");
  return fmt::format("{} to {} launches", fewest->launches, most->launches);
}

/// Says what a check against the baseline will be of.
std::string runs_text(const Baseline& baseline) {
  const auto known = std::ranges::count_if(
      baseline.cases, [](const BaselineCase& each) { return each.between_runs.has_value(); });
  if (known == std::ssize(baseline.cases)) {
    return "Deviation between runs: known, so that a check counts it.";
  }
  return fmt::format(
      "Deviation between runs: {}, so that a check compares launches. Give {} runs (records) or "
      "more.",
      known == 0 ? "not known" : "not known of every case", kEnoughRuns);
}

}  // namespace

BaselineSource source_of(const Record& record) {
  std::set<int> launches;
  for (const CaseResult& result : record.cases) {
    for (const Sample& sample : result.samples) launches.insert(sample.launch);
  }
  return {record.machine.host, record.started,     static_cast<int>(launches.size()),
          record.digest,       program_in(record), metrics_in(record)};
}

void require_same_metrics(const BaselineSource& source, const std::string& name,
                          const BaselineSource& known, const std::string& known_name) {
  for (const auto& [metric, how] : known.metrics) {
    const auto own = source.metrics.find(metric);
    if (own == source.metrics.end() || own->second == how) continue;
    throw UsageError(
        fmt::format("{}: {} is {}, and in {} it is {}", name, metric, own->second, known_name, how),
        "measure both with the same --metric, --metric-use and --unit");
  }
}

bool are_one_run(const BaselineSource& one, const BaselineSource& other) {
  const bool digested = !one.digest.empty() && !other.digest.empty();
  return one.host == other.host && one.started == other.started && one.launches == other.launches &&
         (!digested || one.digest == other.digest);
}

std::vector<std::string> differences(const MachineKey& there, const MachineKey& here) {
  const Record one = known_by(there);
  const Record other = known_by(here);
  std::vector<std::string> lines;
  for (const MachineDifference& each : differences_between(
           {&one.machine, &one.settings}, {&other.machine, &other.settings}, Weight::reference)) {
    lines.push_back(fmt::format("{}: {} there, {} here", each.what, each.before, each.after));
  }
  return lines;
}

/// Compares each record with every other: others may differ in what one does not know.
void require_like_records(std::span<const NamedRecord> records) {
  std::vector<MachineKey> keys;
  for (std::size_t i = 0; i < records.size(); ++i) {
    keys.push_back(key_of(records[i].record));
    for (std::size_t j = 0; j < i; ++j) {
      require_like(records[j], keys[j], records[i], keys[i]);
      if (!are_one_run(source_of(records[i].record), source_of(records[j].record))) continue;
      throw UsageError(fmt::format("{} and {} are the same run", records[j].name, records[i].name),
                       "give each run once: launches counted twice look more alike than they are");
    }
  }
}

Baseline baseline_of(std::span<const CaseLaunches> cases, const Tolerance& tolerance) {
  Baseline baseline;
  std::vector<CaseLaunches> fit;
  std::vector<std::string> left_out;
  const std::vector<std::optional<LaunchDeviation>> deviations = pooled_deviations(cases);
  const std::vector<CaseLaunches> runs = by_run(cases);
  const std::vector<std::optional<LaunchDeviation>> between_runs = pooled_deviations(runs);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string reason = why_unfit(cases[i]);
    if (!reason.empty()) {
      left_out.push_back(
          fmt::format("{} ({})", label(cases[i].definition, cases[i].variant), reason));
      continue;
    }
    fit.push_back(cases[i]);
    baseline.cases.push_back(reference_of(cases[i], deviations[i], tolerance));
    add_runs(baseline.cases.back(), runs[i], between_runs[i]);
  }
  warn_of_few_launches(baseline);
  warn_of_cases(baseline, WarningCode::left_out, "not in the baseline", left_out,
                "a check does not look at these");
  warn_of_health(baseline, fit);
  warn_of_deviations(baseline);
  return baseline;
}

Baseline make_baseline(std::span<const NamedRecord> records, const Tolerance& tolerance,
                       const std::string& made) {
  if (records.empty()) throw UsageError("a baseline needs a record");
  require_like_records(records);
  require_one_program(records);
  Baseline baseline = baseline_of(launch_medians(records), tolerance);
  if (baseline.cases.empty()) {
    throw UsageError("no case of these records can be a reference",
                     baseline.warnings.empty() ? "" : baseline.warnings.front().text);
  }
  baseline.made = made;
  baseline.key = key_of_all(records);
  for (const NamedRecord& source : records) {
    baseline.sources.push_back(source_of(source.record));
    add_variants(baseline, source);
    const auto disturbances = disturbance_warnings(source.name, source.record);
    baseline.warnings.insert(baseline.warnings.end(), disturbances.begin(), disturbances.end());
    if (source.record.status == RunStatus::complete) continue;
    baseline.warnings.push_back(
        {name_of(WarningCode::incomplete_record),
         fmt::format("{}: {}", source.name, name_of(source.record.status)),
         "what was measured is in the baseline; measure again to have all"});
  }
  return baseline;
}

Tolerance tolerance_of(const Baseline& baseline, const BaselineCase& reference) {
  Tolerance tolerance = reference.tolerance;
  if (baseline.overrides.empty()) return tolerance;
  const std::string name = case_name(reference.definition);
  for (const ToleranceOverride& change : baseline.overrides) {
    if (!matches_glob(change.cases, name) || !matches_glob(change.variant, reference.variant)) {
      continue;
    }
    if (change.lower) tolerance.lower = *change.lower;
    if (change.upper) tolerance.upper = *change.upper;
  }
  return tolerance;
}

Document baseline_summary(const Baseline& baseline) {
  Document document;
  document.paragraph(fmt::format(
      "{}: {} of {}", key_text(baseline.key),
      counted(static_cast<std::int64_t>(baseline.cases.size()), "reference", "references"),
      launches_text(baseline)));
  document.table(deviations_of(baseline));
  document.paragraph(runs_text(baseline));
  for (const Warning& warning : baseline.warnings) {
    document.item(Document::Item{toned("warning:", Tone::doubtful) + " " + with_code(warning.text),
                                 with_code(warning.advice)});
  }
  return document;
}

}  // namespace linkgain
