#include "linkgain/baseline/regression.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "linkgain/analysis/variant_environment.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/health.hpp"
#include "linkgain/record/warning.hpp"

namespace linkgain {
namespace {

using Name = std::pair<std::string, std::string>;

Name name_of(const Case& definition, const std::string& variant) {
  return {case_name(definition), variant};
}

/// Marks those of the largest size of their operation and variant.
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

/// Returns the same case by the other launch mode.
Case otherwise_launched(Case definition) {
  const bool graph = definition.launch == LaunchMode::graph;
  definition.launch = graph ? LaunchMode::stream : LaunchMode::graph;
  return definition;
}

/// Says what no statistic is needed for. What a complete run has no entry of was not to be measured
/// in it.
void state_facts(Question& question, const BaselineCase& reference, const CaseLaunches* launches,
                 RunsAre runs) {
  using enum Reason::Kind;
  const auto state = [&](Verdict verdict, Reason::Kind kind, const std::string& words) {
    question.fact = verdict;
    question.reasons = {{.kind = kind, .words = words}};
  };
  if (launches == nullptr) {
    if (runs == RunsAre::complete) return state(Verdict::inconclusive, not_measured, "");
    return state(Verdict::missing, not_recorded, "the record");
  }
  if (launches->launches.empty()) state(Verdict::missing, no_time, launches->missing);
  if (!launches->wrong_data.empty()) {
    return state(Verdict::wrong_data, wrong_data, launches->wrong_data);
  }
  if (reference.path == Path::unknown) return;
  if (launches->path_unknown) question.lost_path = reference.path;
  const auto other =
      std::ranges::find_if(launches->paths, [&](Path path) { return path != reference.path; });
  if (question.fact || other == launches->paths.end()) return;
  state(Verdict::other_path, other_path,
        fmt::format("{} in the baseline, {} now", name_of(reference.path), name_of(*other)));
}

/// Says that a case was not measured as the baseline was: nothing is known of it, and nothing need
/// be wrong.
void state_other_launch(Question& question, LaunchMode reference, LaunchMode own) {
  question.fact = Verdict::other_launch;
  question.reasons = {
      {.kind = Reason::Kind::other_launch,
       .words = fmt::format("by {0} in the baseline, by {1} now: measure with --launch-mode {0}, "
                            "or make a new baseline",
                            name_of(reference), name_of(own))}};
}

/// Says why a case has no interval.
Reason why_no_interval(const CaseCheck& check) {
  const std::string_view more = option_for_launches(check.definition);
  if (check.launches > 1 && check.reference_launches > 1) {
    return {.kind = Reason::Kind::agreeing,
            .words = check.definition.metric
                         ? fmt::format("fewer than {} runs agree, which may be by chance: measure "
                                       "with {}",
                                       kFewestAlone, more)
                         : "launches agree to the last digit, as no measured ones do, so how far "
                           "the next would differ is not known: was a record copied or edited?"};
  }
  if (check.launches > 1) {
    return {.kind = Reason::Kind::one_launch,
            .words = fmt::format("one launch in the baseline: make it anew with {}", more)};
  }
  const char* which = check.reference_launches > 1 ? "one launch: measure"
                                                   : "one launch, and one in the baseline: "
                                                     "measure both";
  return {.kind = Reason::Kind::one_launch, .words = fmt::format("{} with {}", which, more)};
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

/// Returns the baseline's side of a comparison by launches.
LaunchMean mean_of(const BaselineCase& reference) {
  return {reference.time, reference.launches,
          reference.between_launches
              ? reference.between_launches
              : deviation_of_agreeing(reference.definition, reference.launches),
          reference.resolution};
}

/// Returns the shift from the baseline to what is checked, by runs where it knows how far they lie
/// apart, else by launches; nothing where neither is known.
std::optional<LaunchShift> shift_of(const BaselineCase& reference, const Measured& measured) {
  const CaseLaunches& launches = measured.launches;
  LaunchMean before = mean_of(reference);
  if (!reference.between_runs) {
    return shift_between(
        before, mean_of(reference.definition, launches.launches, measured.between_launches));
  }
  before.launches = reference.between_runs->runs;
  before.deviation = reference.between_runs->deviation;
  LaunchMean after = mean_of(reference.definition, measured.runs.launches, measured.between_runs);
  after.resolution = resolution_of(launches.launches);
  // Launches of several runs scatter by what their runs do, too.
  const auto known = after.launches == 1 ? reference.between_launches : std::nullopt;
  return shift_between_runs(
      {before, reference.launches, known},
      {after, static_cast<int>(launches.launches.size()), measured.between_launches});
}

/// Adds what was measured of the case, and the shift by which it is judged.
void measure(CaseCheck& check, Question& question, const BaselineCase& reference,
             const Measured& measured) {
  const CaseLaunches& launches = measured.launches;
  check.definition = launches.definition;  // with the unit, which a baseline lacks
  if (launches.launches.empty()) return;
  check.replicate = reference.between_runs ? Replicate::run : Replicate::launch;
  const std::vector<LaunchMedian>& replicates =
      reference.between_runs ? measured.runs.launches : launches.launches;
  check.time = geometric_mean(replicates);
  check.launches = static_cast<int>(launches.launches.size());
  check.disturbance = launches.disturbance;
  question.log = mean_log(replicates) - std::log(check.reference->value);
  if (launches.unhealthy_samples > 0) {
    question.reasons.push_back({.kind = Reason::Kind::throttled,
                                .words = counted(launches.unhealthy_samples, "sample", "samples")});
  }
  if (const std::string text = disturbance_text(check.disturbance); !text.empty()) {
    question.reasons.push_back({.kind = Reason::Kind::disturbed, .words = text});
  }
  question.shift = shift_of(reference, measured);
  if (!question.shift && !question.fact) question.reasons.push_back(why_no_interval(check));
}

CaseCheck added(const CaseLaunches& launches, bool known_otherwise_launched) {
  CaseCheck check;
  check.definition = launches.definition;
  check.variant = launches.variant;
  check.verdict = Verdict::added;
  check.reasons = {{.kind = Reason::Kind::not_in_reference}};
  if (known_otherwise_launched) {
    const Case other = otherwise_launched(launches.definition);
    check.reasons = {{.kind = Reason::Kind::other_launch,
                      .words = fmt::format("in the baseline by {} alone", name_of(other.launch))}};
  }
  check.launches = static_cast<int>(launches.launches.size());
  if (check.launches > 0) check.time = geometric_mean(launches.launches);
  return check;
}

bool decides(const CaseCheck& check) { return !check.has(Reason::Kind::not_asked_for); }

/// Says of what every program has that it does not decide where the baseline has named metrics.
void mark_what_decides(std::vector<CaseCheck>& checks) {
  const auto is_named = [](const CaseCheck& check) {
    return check.definition.metric && !is_always_measured(*check.definition.metric);
  };
  if (std::ranges::none_of(checks, is_named)) return;
  for (CaseCheck& check : checks) {
    if (is_named(check)) continue;
    check.headline = false;
    check.reasons.push_back({.kind = Reason::Kind::not_asked_for});
  }
}

/// Refuses a record in which no job said what machine it is on: there is none to compare.
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

/// Refuses a metric that is a rate on one side alone: its numbers are other quantities.
void require_directions(const Baseline& baseline, const NamedRecord& source) {
  for (const CaseResult& own : source.record.cases) {
    if (!own.definition.metric) continue;
    Case other = own.definition;
    const bool is_rate = other.metric->higher_is_better;
    other.metric->higher_is_better = !is_rate;
    const auto named_so = [&](const BaselineCase& each) {
      return case_name(each.definition) == case_name(other);
    };
    if (std::ranges::none_of(baseline.cases, named_so)) continue;
    const std::string& name = other.metric->name;
    throw UsageError(
        fmt::format("{} counts as {} in {} and as {} in the baseline", name,
                    is_rate ? "a rate" : "less-is-better", source.name,
                    is_rate ? "less-is-better" : "a rate"),
        is_rate ? "measure without --higher-is-better, or make a new baseline with it"
                : fmt::format("measure with --higher-is-better, or --higher-is-better={} if there "
                              "are several metrics",
                              name));
  }
}

std::set<std::string> uuids_of(const Record& record) {
  std::set<std::string> uuids;
  for (const RankInfo& rank : record.machine.ranks) {
    if (rank.gpu && !rank.gpu->uuid.empty()) uuids.insert(rank.gpu->uuid);
  }
  return uuids;
}

/// Refuses records of several nodes: their mean hides a slow one. Containers of one node may each
/// have a name of their own.
void require_one_node(std::span<const NamedRecord> records) {
  const NamedRecord& first = records.front();
  const std::set<std::string> uuids = uuids_of(first.record);
  for (const NamedRecord& other : records.subspan(1)) {
    const Machine& machine = other.record.machine;
    if (machine.host == first.record.machine.host) continue;
    if (!uuids.empty() && uuids_of(other.record) == uuids) continue;
    throw UsageError(
        fmt::format("{} is of node {}, {} of node {}: a mean of nodes hides a slow one", first.name,
                    first.record.machine.host, other.name, machine.host),
        "check the records of each node by themselves; `linkgain fleet` compares nodes");
  }
}

/// Compares what was in force of the variant at `place` where both sides know that, else what it
/// sets.
std::vector<VariableChange> changed_variables(const BaselineVariant& known,
                                              const Settings& settings, std::size_t place) {
  const Environment& own = settings.variants[place].environment;
  if (!known.in_force || place >= settings.environment_in_force.size()) {
    return variable_changes(known.environment, own);
  }
  // What a variant sets need not be among what may be recorded.
  Environment before = *known.in_force;
  Environment now = environment_of(settings, place);
  before.insert(known.environment.begin(), known.environment.end());
  now.insert(own.begin(), own.end());
  return variable_changes(before, now);
}

/// Warns of other variables, of those that several variants inherited once.
void warn_of_variables(CheckResult& result, const Baseline& baseline, const NamedRecord& source) {
  const Settings& settings = source.record.settings;
  std::map<std::string, std::vector<std::string>> variants_by_changes;
  for (const BaselineVariant& known : baseline.variants) {
    for (std::size_t i = 0; i < settings.variants.size(); ++i) {
      if (settings.variants[i].name != known.name) continue;
      const auto changes = changed_variables(known, settings, i);
      if (!changes.empty()) variants_by_changes[shown_changes(changes)].push_back(known.name);
    }
  }
  for (const auto& [changes, variants] : variants_by_changes) {
    result.warnings.push_back(
        {name_of(WarningCode::other_variables),
         fmt::format("{}: variables of {} {} are not the baseline's: {}", source.name,
                     variants.size() == 1 ? "variant" : "variants", fmt::join(variants, ", "),
                     changes),
         "a difference may come from these; measure with the baseline's, or make a new one"});
  }
}

/// Warns of another program: its times are no test of the machine.
void warn_of_program(CheckResult& result, const Baseline& baseline, const NamedRecord& source) {
  const std::string program = source_of(source.record).program;
  for (const BaselineSource& known : baseline.sources) {
    if (known.program.empty() || known.program == program) continue;
    result.warnings.push_back(warning_of(
        WarningCode::other_program,
        fmt::format("{}: ran '{}', not the baseline's '{}'", source.name, program, known.program)));
    return;
  }
}

/// Warns of GPUs that were throttled, which cases that are the same show nowhere else.
void warn_of_health(CheckResult& result, const NamedRecord& source) {
  HealthSummary health;
  for (const CaseResult& each : source.record.cases) {
    for (const VariantResult& variant : each.variants) add_summary(health, variant.health);
  }
  if (health.unhealthy_samples == 0) return;
  result.warnings.push_back({name_of(WarningCode::throttled),
                             fmt::format("{}: {}", source.name, throttling_text(health)),
                             kThrottlingAdvice});
}

void warn_of_record(CheckResult& result, const Baseline& baseline, const NamedRecord& source) {
  const BaselineSource own = source_of(source.record);
  if (std::ranges::any_of(baseline.sources,
                          [&](const BaselineSource& each) { return are_one_run(each, own); })) {
    result.warnings.push_back(
        warning_of(WarningCode::own_baseline,
                   source.name + " is one of the records the baseline was made from"));
  }
  if (source.record.status != RunStatus::complete) {
    result.warnings.push_back({name_of(WarningCode::incomplete_record),
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
    const bool fits = std::ranges::any_of(baseline.cases, [&](const BaselineCase& reference) {
      return matches_glob(change.cases, case_name(reference.definition)) &&
             matches_glob(change.variant, reference.variant);
    });
    if (fits) continue;
    result.warnings.push_back(warning_of(
        WarningCode::idle_override,
        fmt::format("the override for cases '{}' and variant '{}' fits no case of the baseline",
                    change.cases, change.variant)));
  }
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
  CheckResult result;
  std::vector<Question> questions;
  for (const BaselineCase& reference : baseline.cases) {
    CaseCheck& check = result.cases.emplace_back(
        to_check(reference, tolerance.value_or(tolerance_of(baseline, reference))));
    Question& question = questions.emplace_back();
    question.tolerance = check.tolerance;
    known.insert(name_of(reference.definition, reference.variant));
    const auto found = places.find(name_of(reference.definition, reference.variant));
    const CaseLaunches* own = found == places.end() ? nullptr : &launches[found->second];
    const auto other =
        places.find(name_of(otherwise_launched(reference.definition), reference.variant));
    state_facts(question, reference, own, runs);
    if (own != nullptr) {
      held[found->second] = true;
      measure(check, question, reference, measured.at(found->second));
    } else if (other != places.end()) {
      state_other_launch(question, reference.definition.launch,
                         launches[other->second].definition.launch);
    }
  }
  mark_headlines(result.cases);
  const std::vector<Judgement> judgements = judge(questions, Claim::beyond_tolerance);
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    static_cast<Judgement&>(result.cases[i]) = judgements[i];
  }
  mark_what_decides(result.cases);
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

bool fails(const CaseCheck& check) { return decides(check) && fails(check.verdict); }

bool is_open(const CaseCheck& check) { return decides(check) && is_open(check.verdict); }

int count_of(const CheckResult& result, Verdict verdict) {
  return static_cast<int>(std::ranges::count(result.cases, verdict, &CaseCheck::verdict));
}

ExitCode exit_code_of(const CheckResult& result) {
  int held = 0;
  bool failed = false;
  bool headline_open = false;
  int open = 0;
  for (const CaseCheck& check : result.cases) {
    if (check.verdict != Verdict::added && decides(check)) ++held;
    failed = failed || fails(check);
    if (!is_open(check)) continue;
    ++open;
    headline_open = headline_open || check.headline;
  }
  if (failed) return ExitCode::problem_found;
  const bool many = open > kMostInconclusive * held;
  const bool other_program = std::ranges::any_of(result.warnings, [](const Warning& warning) {
    return is(warning, WarningCode::other_program);
  });
  return headline_open || many || other_program || result.left_out > 0 ? ExitCode::inconclusive
                                                                       : ExitCode::success;
}

/// Warns of cases of the baseline that the run was not to measure.
void warn_of_other_selection(CheckResult& result, const Settings& settings) {
  const auto absent = std::ranges::count_if(
      result.cases, [](const CaseCheck& check) { return check.has(Reason::Kind::not_measured); });
  if (absent == 0) return;
  result.warnings.push_back(
      warning_of(WarningCode::other_selection,
                 fmt::format("{} of the baseline {} not part of this run of profile {}",
                             counted(absent, "case", "cases"), absent == 1 ? "was" : "were",
                             settings.profile)));
}

CheckResult check_records(std::span<const NamedRecord> records, const Baseline& baseline,
                          const std::optional<Tolerance>& tolerance) {
  for (const NamedRecord& source : records) {
    require_measured(source);
    require_key(baseline, source);
    require_directions(baseline, source);
    const BaselineSource own = source_of(source.record);
    for (const BaselineSource& known : baseline.sources) {
      require_same_metrics(own, source.name, known, "the baseline");
    }
  }
  require_like_records(records);
  require_one_node(records);
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
    if (is(warning, WarningCode::weak_baseline)) result.warnings.push_back(warning);
  }
  if (!tolerance) warn_of_overrides(result, baseline);
  return result;
}

}  // namespace linkgain
