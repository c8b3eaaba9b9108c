#include "linkgain/baseline/regression.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "linkgain/analysis/variant_environment.hpp"
#include "linkgain/base/glob.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/cases/program_metric.hpp"
#include "linkgain/hardware/health.hpp"
#include "linkgain/statistics/false_discovery.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

using Name = std::pair<std::string, std::string>;

Name name_of(const Case& definition, const std::string& variant) {
  return {case_name(definition), variant};
}

/// Those of the largest size of their operation and variant.
void mark_headlines(std::vector<CaseCheck>& checks) {
  std::map<std::pair<OperationKind, std::string>, Bytes> largest;
  for (const CaseCheck& check : checks) {
    Bytes& size = largest[{check.definition.operation, check.variant}];
    size = std::max(size, check.definition.size);
  }
  for (CaseCheck& check : checks) {
    check.headline =
        largest.at({check.definition.operation, check.variant}) == check.definition.size;
  }
}

CaseCheck to_check(const BaselineCase& reference, const Tolerance& tolerance) {
  CaseCheck check;
  check.definition = reference.definition;
  check.variant = reference.variant;
  check.tolerance = tolerance;
  check.reference = reference.time;
  check.reference_launches = reference.launches;
  return check;
}

/// The same by the other launch mode.
Case otherwise_launched(Case definition) {
  const bool graph = definition.launch == LaunchMode::graph;
  definition.launch = graph ? LaunchMode::stream : LaunchMode::graph;
  return definition;
}

/// Fails for what no statistic is needed for. What a complete run has no entry of was not to be
/// measured in it.
void judge_facts(CaseCheck& check, const BaselineCase& reference, const CaseLaunches* launches,
                 RunsAre runs) {
  if (launches == nullptr) {
    const bool other = runs == RunsAre::complete;
    check.verdict = other ? RegressionVerdict::inconclusive : RegressionVerdict::missing;
    check.reason = other ? "not part of this run" : "not in the record";
  } else if (launches->launches.empty()) {
    check.verdict = RegressionVerdict::missing;
    check.reason = launches->missing;
  }
  if (launches != nullptr && !launches->wrong_data.empty()) {
    check.verdict = RegressionVerdict::wrong_data;
    check.reason = launches->wrong_data;
  }
  if (launches == nullptr || fails(check.verdict)) return;
  const auto other = std::find_if(launches->paths.begin(), launches->paths.end(),
                                  [&](Path path) { return path != reference.path; });
  if (other == launches->paths.end() || reference.path == Path::unknown) return;
  check.verdict = RegressionVerdict::other_path;
  check.reason =
      fmt::format("{} in the baseline, {} now", name_of(reference.path), name_of(*other));
}

void add_reason(CaseCheck& check, const std::string& reason) {
  check.reason += (check.reason.empty() ? "" : "; ") + reason;
}

/// On a side that was measured: it tells nothing of how launches differ, so there is no interval.
bool has_one_launch(const CaseCheck& check) {
  return check.launches == 1 || check.reference_launches == 1;
}

/// Why more launches would not settle a shift: the program prints so few digits.
void explain_digits(CaseCheck& check, double rounding) {
  add_reason(check, fmt::format("the program prints too few digits: no shift below {} can be seen",
                                percent_of_digits(std::expm1(rounding))));
}

/// What is to be checked of one case, and how far its replicates lie apart.
struct Measured {
  const CaseLaunches& launches;
  const CaseLaunches& runs;  ///< the same by_run()
  std::optional<LaunchDeviation> between_launches;
  std::optional<LaunchDeviation> between_runs;
};

/// The same of all cases.
class MeasuredCases {
 public:
  explicit MeasuredCases(std::span<const CaseLaunches> launches)
      : launches_(launches),
        means_(by_run(launches)),
        between_launches_(pooled_deviations(launches)),
        between_runs_(pooled_deviations(means_)) {}

  Measured at(std::size_t i) const {
    return {launches_[i], means_[i], between_launches_[i], between_runs_[i]};
  }

 private:
  std::span<const CaseLaunches> launches_;
  std::vector<CaseLaunches> means_;
  std::vector<std::optional<LaunchDeviation>> between_launches_;
  std::vector<std::optional<LaunchDeviation>> between_runs_;
};

/// Quantiles of the intervals that are shown, and of the tests that say same.
struct Quantiles {
  ShiftQuantiles shown;
  ShiftQuantiles same{1.0 - kFalseDiscoveryRate};
};

/// The baseline's side of a comparison by launches.
LaunchMean mean_of(const BaselineCase& reference) {
  return {reference.time, reference.launches,
          reference.between_launches
              ? reference.between_launches
              : deviation_of_agreeing(reference.definition, reference.launches),
          reference.resolution};
}

/// The shift from the baseline to what is checked, by runs where it knows how far they lie apart,
/// else by launches; nothing where neither is known.
std::optional<LaunchShift> shift_of(const BaselineCase& reference, const Measured& measured) {
  const CaseLaunches& launches = measured.launches;
  LaunchMean before = mean_of(reference);
  if (!reference.between_runs) {
    return shift_between(
        before, mean_of(reference.definition, launches.launches, measured.between_launches));
  }
  const RunDeviation& between_runs = *reference.between_runs;
  before.launches = between_runs.runs;
  before.deviation = between_runs.deviation;
  LaunchMean after = mean_of(reference.definition, measured.runs.launches, measured.between_runs);
  after.resolution = resolution_of(launches.launches);
  const auto shift = shift_between(before, after);
  if (!shift) return std::nullopt;
  const auto of_runs = [](int launches_of_all, int runs) {
    return static_cast<double>(launches_of_all) / runs;
  };
  return with_fewer_launches(*shift, measured.between_launches,
                             {of_runs(reference.launches, before.launches),
                              of_runs(static_cast<int>(launches.launches.size()), after.launches)});
}

bool is_within(const LaunchShift& shift, double lower, double upper) {
  return chance_below(shift, upper) <= kFalseDiscoveryRate &&
         chance_above(shift, lower) <= kFalseDiscoveryRate;
}

/// Returns the shift that chances and interval are of; nothing where there is no interval.
std::optional<LaunchShift> measure(CaseCheck& check, const BaselineCase& reference,
                                   const Measured& measured, Quantiles& quantiles) {
  const CaseLaunches& launches = measured.launches;
  if (launches.launches.empty()) return std::nullopt;
  check.replicate = reference.between_runs ? Replicate::run : Replicate::launch;
  const std::vector<LaunchMedian>& replicates =
      reference.between_runs ? measured.runs.launches : launches.launches;
  check.time = geometric_mean(replicates);
  check.launches = static_cast<int>(launches.launches.size());
  check.shift = mean_log(replicates) - std::log(check.reference->value);
  if (launches.unhealthy_samples > 0) {
    add_reason(check, fmt::format("GPUs were throttled in {}",
                                  counted(launches.unhealthy_samples, "sample", "samples")));
  }
  check.disturbance = launches.disturbance;
  if (const std::string text = describe(check.disturbance); !text.empty()) add_reason(check, text);
  if (has_one_launch(check)) return std::nullopt;
  const double lower = log_lower(check.tolerance);
  const double upper = log_upper(check.tolerance);
  const std::optional<LaunchShift> shift = shift_of(reference, measured);
  if (!shift) return std::nullopt;
  check.interval = interval_of(*shift, quantiles.shown);
  check.chance_slower = chance_above(*shift, upper);
  check.chance_faster = chance_below(*shift, lower);
  if (fails(check.verdict)) return shift;
  const bool within = is_within(*shift, lower, upper);
  check.verdict = within ? RegressionVerdict::same : RegressionVerdict::inconclusive;
  if (!within) check.settling = launches_to_settle(*shift, quantiles.same, lower, upper);
  const double margin = std::min(std::abs(shift->log - lower), std::abs(shift->log - upper));
  if (!within && shift->rounding > margin) explain_digits(check, shift->rounding);
  return shift;
}

/// A case on the wrong side of its tolerance that the test over all cases does not find: launches
/// that would settle it alone need not settle it among `tested` cases.
void leave_open(CaseCheck& check, const LaunchShift& shift, ShiftQuantiles& quantiles,
                std::size_t tested, RegressionVerdict verdict) {
  const double lower = log_lower(check.tolerance);
  const double upper = log_upper(check.tolerance);
  check.settling = launches_to_settle(shift, quantiles, lower, upper);
  if (check.interval->low <= upper && check.interval->high >= lower) return;
  add_reason(check, fmt::format("taken alone it is {}, but of {} cases that are not clearly "
                                "within the tolerance one may be so by chance",
                                name_of(verdict), tested));
}

/// Gives `verdict` to the cases whose chance is too small, given how many were looked at.
void judge_chances(std::vector<CaseCheck>& checks,
                   const std::vector<std::optional<LaunchShift>>& shifts,
                   std::optional<double> CaseCheck::*chance, RegressionVerdict verdict) {
  std::vector<double> chances;
  std::vector<std::size_t> tested;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (fails(checks[i].verdict) || !(checks[i].*chance)) continue;
    chances.push_back(*(checks[i].*chance));
    tested.push_back(i);
  }
  const TestsOfABound tests = benjamini_hochberg_beyond(chances, kFalseDiscoveryRate);
  if (tests.in_question.empty()) return;
  ShiftQuantiles quantiles(1.0 - tests.next);
  for (const std::size_t place : tests.in_question) {
    CaseCheck& check = checks[tested[place]];
    const std::optional<LaunchShift>& shift = shifts[tested[place]];
    const bool beyond = *(check.*chance) <= 0.5;
    if (tests.rejected[place]) {
      check.verdict = verdict;
      check.settling.reset();
    } else if (shift && beyond && check.verdict == RegressionVerdict::inconclusive) {
      leave_open(check, *shift, quantiles, tests.in_question.size(), verdict);
    }
  }
}

/// As fast as ever, perhaps, but by which path?
void judge_unknown_path(CaseCheck& check, const BaselineCase& reference,
                        const CaseLaunches* launches) {
  if (launches == nullptr || !launches->path_unknown) return;
  if (reference.path == Path::unknown || fails(check.verdict)) return;
  add_reason(check, fmt::format("{} in the baseline, not known now", name_of(reference.path)));
  if (check.verdict == RegressionVerdict::faster) return;
  check.verdict = RegressionVerdict::unknown_path;
  check.settling.reset();
}

/// Not measured as the baseline was: nothing is known of the case, and nothing need be wrong.
void judge_other_launch(CaseCheck& check, const CaseLaunches* own, const CaseLaunches* other) {
  if (own != nullptr || other == nullptr) return;
  check.verdict = RegressionVerdict::other_launch;
  check.reason = fmt::format(
      "by {0} in the baseline, by {1} now: measure with --launch-mode {0}, or make a new baseline",
      name_of(check.definition.launch), name_of(other->definition.launch));
}

/// Why a case without an interval is inconclusive.
void explain_no_interval(CaseCheck& check) {
  if (check.verdict != RegressionVerdict::inconclusive || check.interval || !check.time) return;
  const std::string_view more = option_for_launches(check.definition);
  if (!has_one_launch(check)) {
    add_reason(
        check,
        "launches agree to the last digit, as no measured ones do, so how far the next would "
        "differ is not known: was a record copied or edited?");
  } else if (check.launches > 1) {
    add_reason(check, fmt::format("one launch in the baseline: make it anew with {}", more));
  } else {
    const char* which = check.reference_launches > 1 ? "one launch: measure"
                                                     : "one launch, and one in the baseline: "
                                                       "measure both";
    add_reason(check, fmt::format("{} with {}", which, more));
  }
}

CaseCheck added(const CaseLaunches& launches, bool known_otherwise_launched) {
  CaseCheck check;
  check.definition = launches.definition;
  check.variant = launches.variant;
  check.verdict = RegressionVerdict::added;
  check.reason = "not in the baseline";
  if (known_otherwise_launched) {
    const Case other = otherwise_launched(launches.definition);
    check.reason = fmt::format("in the baseline by {} alone", name_of(other.launch));
  }
  check.launches = static_cast<int>(launches.launches.size());
  if (check.launches > 0) check.time = geometric_mean(launches.launches);
  return check;
}

}  // namespace

CheckResult check_launches(std::span<const CaseLaunches> launches, const Baseline& baseline,
                           const std::optional<Tolerance>& tolerance, RunsAre runs) {
  std::map<Name, std::size_t> places;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    places[name_of(launches[i].definition, launches[i].variant)] = i;
  }
  std::set<Name> known;
  const MeasuredCases measured(launches);
  std::vector<bool> held(launches.size(), false);
  Quantiles quantiles;
  CheckResult result;
  std::vector<const CaseLaunches*> owns;
  std::vector<std::optional<LaunchShift>> shifts;
  for (const BaselineCase& reference : baseline.cases) {
    CaseCheck check = to_check(reference, tolerance.value_or(tolerance_of(baseline, reference)));
    known.insert(name_of(reference.definition, reference.variant));
    const auto found = places.find(name_of(reference.definition, reference.variant));
    const CaseLaunches* own = found == places.end() ? nullptr : &launches[found->second];
    const auto other =
        places.find(name_of(otherwise_launched(reference.definition), reference.variant));
    owns.push_back(own);
    judge_facts(check, reference, own, runs);
    judge_other_launch(check, own, other == places.end() ? nullptr : &launches[other->second]);
    std::optional<LaunchShift>& shift = shifts.emplace_back();
    if (own != nullptr) {
      held[found->second] = true;
      shift = measure(check, reference, measured.at(found->second), quantiles);
    }
    result.cases.push_back(std::move(check));
  }
  mark_headlines(result.cases);
  judge_chances(result.cases, shifts, &CaseCheck::chance_slower, RegressionVerdict::slower);
  judge_chances(result.cases, shifts, &CaseCheck::chance_faster, RegressionVerdict::faster);
  for (std::size_t i = 0; i < result.cases.size(); ++i) {
    explain_no_interval(result.cases[i]);
    judge_unknown_path(result.cases[i], baseline.cases[i], owns[i]);
  }
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (held[i]) continue;
    const Case other = otherwise_launched(launches[i].definition);
    result.cases.push_back(added(launches[i], known.contains(name_of(other, launches[i].variant))));
  }
  return result;
}

std::optional<double> share_of(const std::optional<double>& log) {
  return log ? std::optional<double>(std::expm1(*log)) : std::nullopt;
}

int count_of(const CheckResult& result, RegressionVerdict verdict) {
  return static_cast<int>(
      std::count_if(result.cases.begin(), result.cases.end(),
                    [verdict](const CaseCheck& check) { return check.verdict == verdict; }));
}

ExitCode exit_code_of(const CheckResult& result) {
  int held = 0;
  bool failed = false;
  bool headline_open = false;
  int open = 0;
  for (const CaseCheck& check : result.cases) {
    if (check.verdict != RegressionVerdict::added) ++held;
    failed = failed || fails(check.verdict);
    if (!is_open(check.verdict)) continue;
    ++open;
    headline_open = headline_open || check.headline;
  }
  if (failed) return ExitCode::problem_found;
  const bool many = open > kMostInconclusive * held;
  return headline_open || many ? ExitCode::inconclusive : ExitCode::success;
}

std::string_view name_of(Replicate replicate) {
  switch (replicate) {
    case Replicate::launch:
      return "launch";
    case Replicate::run:
      return "run";
  }
  return "unknown";
}

std::string_view name_of(RegressionVerdict verdict) {
  switch (verdict) {
    case RegressionVerdict::missing:
      return "missing";
    case RegressionVerdict::wrong_data:
      return "wrong-data";
    case RegressionVerdict::other_path:
      return "other-path";
    case RegressionVerdict::slower:
      return "slower";
    case RegressionVerdict::unknown_path:
      return "unknown-path";
    case RegressionVerdict::other_launch:
      return "other-launch";
    case RegressionVerdict::inconclusive:
      return "inconclusive";
    case RegressionVerdict::faster:
      return "faster";
    case RegressionVerdict::same:
      return "same";
    case RegressionVerdict::added:
      return "added";
  }
  return "unknown";
}

bool is_open(RegressionVerdict verdict) {
  return verdict == RegressionVerdict::inconclusive || verdict == RegressionVerdict::unknown_path ||
         verdict == RegressionVerdict::other_launch;
}

bool fails(RegressionVerdict verdict) {
  return verdict == RegressionVerdict::missing || verdict == RegressionVerdict::wrong_data ||
         verdict == RegressionVerdict::other_path || verdict == RegressionVerdict::slower;
}

namespace {

/// Where no job said what machine it is on there is none to compare.
void require_measured(const NamedRecord& source) {
  const Record& record = source.record;
  const bool none = std::ranges::all_of(
      record.cases, [](const CaseResult& result) { return result.samples.empty(); });
  if (!none || !record.machine.ranks.empty()) return;
  throw UsageError(fmt::format("in {} nothing was measured: no job of it was up", source.name),
                   "the jobs' output in jobs/ of its folder says why; measure again");
}

void require_key(const Baseline& baseline, const NamedRecord& source) {
  const std::vector<std::string> lines = differences(baseline.key, key_of(source.record));
  if (lines.empty()) return;
  throw UsageError(fmt::format("{} is of another machine than the baseline (there) was made on: {}",
                               source.name, fmt::join(lines, "; ")),
                   "check it against a baseline of its own kind of machine; `linkgain doctor` says "
                   "whether links are down");
}

/// Of the variant at `place`: what was in force where both sides know that, else what it sets.
std::vector<VariableChange> changed_variables(const Baseline& baseline, const Variant& known,
                                              const Settings& settings, std::size_t place) {
  const auto in_force = baseline.environment_in_force.find(known.name);
  const Environment& own = settings.variants[place].environment;
  if (in_force == baseline.environment_in_force.end() ||
      place >= settings.environment_in_force.size()) {
    return variable_changes(known.environment, own);
  }
  // What a variant sets need not be among what may be recorded.
  Environment before = in_force->second;
  Environment now = environment_of(settings, place);
  before.insert(known.environment.begin(), known.environment.end());
  now.insert(own.begin(), own.end());
  return variable_changes(before, now);
}

/// Those that several variants inherited are named once.
void warn_of_variables(CheckResult& result, const Baseline& baseline, const NamedRecord& source) {
  const Settings& settings = source.record.settings;
  std::map<std::string, std::vector<std::string>> variants_by_changes;
  for (const Variant& known : baseline.variants) {
    for (std::size_t i = 0; i < settings.variants.size(); ++i) {
      if (settings.variants[i].name != known.name) continue;
      const auto changes = changed_variables(baseline, known, settings, i);
      if (!changes.empty()) variants_by_changes[shown_changes(changes)].push_back(known.name);
    }
  }
  for (const auto& [changes, variants] : variants_by_changes) {
    result.warnings.push_back(
        {"other-variables",
         fmt::format("{}: variables of {} {} are not the baseline's: {}", source.name,
                     variants.size() == 1 ? "variant" : "variants", fmt::join(variants, ", "),
                     changes),
         "a difference may come from these; measure with the baseline's, or make a new one"});
  }
}

/// Its times are then no test of the machine.
void warn_of_program(CheckResult& result, const Baseline& baseline, const NamedRecord& source) {
  const std::string program = source_of(source.record).program;
  for (const BaselineSource& known : baseline.sources) {
    if (known.program.empty() || known.program == program) continue;
    result.warnings.push_back(
        {"other-program",
         fmt::format("{}: ran '{}', not the baseline's '{}'", source.name, program, known.program),
         "times of another program or of other arguments say nothing: check a run of the "
         "baseline's command"});
    return;
  }
}

/// Cases that are the same show it nowhere else.
void warn_of_health(CheckResult& result, const NamedRecord& source) {
  HealthSummary health;
  for (const CaseResult& each : source.record.cases) {
    for (const VariantResult& variant : each.variants) add_summary(health, variant.health);
  }
  if (health.unhealthy_samples == 0) return;
  result.warnings.push_back({"throttled",
                             fmt::format("{}: {}", source.name, throttling_text(health)),
                             kThrottlingAdvice});
}

void warn_of_record(CheckResult& result, const Baseline& baseline, const NamedRecord& source) {
  const BaselineSource own = source_of(source.record);
  if (std::ranges::any_of(baseline.sources,
                          [&](const BaselineSource& each) { return are_one_run(each, own); })) {
    result.warnings.push_back({"own-baseline",
                               source.name + " is one of the records the baseline was made from",
                               "it is no test of anything: check another run"});
  }
  if (source.record.status != RunStatus::complete) {
    result.warnings.push_back({"incomplete-record",
                               fmt::format("{}: {}", source.name, name_of(source.record.status)),
                               "what was measured is checked; cases that are missing fail"});
  }
  warn_of_health(result, source);
  const auto disturbances = disturbance_warnings(source.name, source.record);
  result.warnings.insert(result.warnings.end(), disturbances.begin(), disturbances.end());
  warn_of_variables(result, baseline, source);
  warn_of_program(result, baseline, source);
}

void warn_of_overrides(CheckResult& result, const Baseline& baseline) {
  for (const ToleranceOverride& change : baseline.overrides) {
    const bool fits = std::any_of(
        baseline.cases.begin(), baseline.cases.end(), [&](const BaselineCase& reference) {
          return matches_glob(change.cases, case_name(reference.definition)) &&
                 matches_glob(change.variant, reference.variant);
        });
    if (fits) continue;
    result.warnings.push_back(
        {"idle-override",
         fmt::format("the override for cases '{}' and variant '{}' fits no case of the baseline",
                     change.cases, change.variant),
         "patterns must match whole names: begin and end with * where more may stand there"});
  }
}

}  // namespace

/// Of cases of the baseline that the run was not to measure.
void warn_of_other_selection(CheckResult& result, const Settings& settings) {
  const auto absent = std::ranges::count_if(result.cases, [](const CaseCheck& check) {
    return check.verdict == RegressionVerdict::inconclusive && !check.time;
  });
  if (absent == 0) return;
  result.warnings.push_back({"other-selection",
                             fmt::format("{} of the baseline {} not part of this run of profile {}",
                                         counted(absent, "case", "cases"),
                                         absent == 1 ? "was" : "were", settings.profile),
                             "measure with the profile and options that the baseline's runs had"});
}

CheckResult check_records(std::span<const NamedRecord> records, const Baseline& baseline,
                          const std::optional<Tolerance>& tolerance) {
  for (const NamedRecord& source : records) {
    require_measured(source);
    require_key(baseline, source);
  }
  require_like_records(records);
  const bool complete = std::ranges::all_of(records, [](const NamedRecord& source) {
    return source.record.status == RunStatus::complete;
  });
  CheckResult result = check_launches(launch_medians(records), baseline, tolerance,
                                      complete ? RunsAre::complete : RunsAre::cut_short);
  warn_of_other_selection(result, records.front().record.settings);
  result.made = baseline.made;
  result.key = baseline.key;
  for (const NamedRecord& source : records) {
    result.sources.push_back(source_of(source.record));
    warn_of_record(result, baseline, source);
  }
  for (const Warning& warning : baseline.warnings) {
    if (warning.code == "weak-baseline") result.warnings.push_back(warning);
  }
  if (!tolerance) warn_of_overrides(result, baseline);
  return result;
}

}  // namespace linkgain
