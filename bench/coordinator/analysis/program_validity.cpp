#include "linkgain/analysis/program_validity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/analysis/judgement.hpp"
#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/program_path.hpp"
#include "linkgain/analysis/variant_environment.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/record/evidence.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/telemetry/program_traffic.hpp"

namespace linkgain {
namespace {

constexpr double kUnlikePowerCap = 0.1;

void judge_neighbours(const std::vector<ArmEvidence>& arms, const std::vector<GpuNeighbour>& idle,
                      std::vector<Warning>& warnings) {
  std::vector<std::string> seen;
  for (const GpuNeighbour& each : idle) seen.push_back(neighbour_text(each));
  for (const ArmEvidence& arm : arms) {
    for (const RunEvidence& run : arm.runs) {
      for (const GpuNeighbour& each : run.neighbours.seen) {
        seen.push_back(fmt::format("in a run of {} {}", arm.variant, neighbour_text(each)));
      }
    }
  }
  if (seen.empty()) return;
  warnings.push_back({name_of(WarningCode::exec_neighbours), first_named(seen), kNeighbourAdvice});
}

/// Gives one warning for all arms of one reason. Of runs without GPUs exec-unseen has said it.
void judge_unknown_neighbours(const std::vector<ArmEvidence>& arms,
                              std::vector<Warning>& warnings) {
  std::map<std::string, std::vector<std::string>> unknown;
  for (const ArmEvidence& arm : arms) {
    std::set<std::string> reasons;
    for (const RunEvidence& run : arm.runs) {
      const std::string& reason = run.neighbours.not_looked;
      if (run.no_gpus.empty() && !reason.empty()) reasons.insert(reason);
    }
    for (const std::string& reason : reasons) unknown[reason].push_back(arm.variant);
  }
  for (const auto& [reason, variants] : unknown) {
    warnings.push_back(warning_of(WarningCode::exec_others_unknown,
                                  fmt::format("{}: whether others used the GPUs is not known ({})",
                                              fmt::join(variants, ", "), reason)));
  }
}

HealthSummary health_of(const ArmEvidence& arm) {
  HealthSummary health;
  for (const RunEvidence& run : arm.runs) {
    for (const GpuEvidence& gpu : run.gpus) add_summary(health, gpu.health);
  }
  return health;
}

void judge_health(const std::vector<ArmEvidence>& arms, std::vector<Warning>& warnings) {
  for (const ArmEvidence& arm : arms) {
    const std::string text = throttling_text(health_of(arm));
    if (text.empty()) continue;
    warnings.push_back({name_of(WarningCode::exec_throttled),
                        fmt::format("{}: {}", arm.variant, text), kThrottlingAdvice});
  }
  for (std::size_t i = 1; i < arms.size(); ++i) {
    const HealthSummary first = health_of(arms.front());
    const HealthSummary other = health_of(arms[i]);
    if (first.samples == 0 || other.samples == 0) continue;
    const double share = 1.0 * first.power_capped_samples / first.samples;
    const double other_share = 1.0 * other.power_capped_samples / other.samples;
    if (std::abs(share - other_share) <= kUnlikePowerCap) continue;
    warnings.push_back(warning_of(
        WarningCode::exec_power_capped,
        fmt::format("GPUs ran at their power limit in {:.0f} % of the samples with {} and {:.0f} % "
                    "with {}",
                    100.0 * share, arms.front().variant, 100.0 * other_share, arms[i].variant)));
  }
}

/// Names "2.28.9+cuda13.0 (/usr/lib/libnccl.so.2)" of every library that an arm had mapped.
std::set<std::string> libraries_of(const ArmEvidence& arm) {
  std::set<std::string> names;
  for (const RunEvidence& run : arm.runs) {
    for (const MappedNccl& each : run.nccl) {
      names.insert(fmt::format("{} ({}{})", each.version.empty() ? "unknown" : each.version,
                               each.path, each.deleted ? ", deleted" : ""));
    }
  }
  return names;
}

std::string named(const std::set<std::string>& names) {
  return names.empty() ? "none" : first_named(std::vector<std::string>(names.begin(), names.end()));
}

bool had_another(const ArmEvidence& arm) {
  return std::ranges::any_of(arm.runs, [&](const RunEvidence& run) {
    return std::ranges::any_of(run.nccl,
                               [&](const MappedNccl& each) { return each.path != arm.nccl; });
  });
}

bool looked(const ArmEvidence& arm) {
  return std::ranges::any_of(arm.runs,
                             [](const RunEvidence& run) { return run.processes_looked > 0; });
}

/// Judges variants that name a library of their own.
void judge_own_nccl(const ArmEvidence& arm, std::vector<Warning>& warnings) {
  if (arm.nccl.empty() || !looked(arm)) return;
  const std::set<std::string> libraries = libraries_of(arm);
  if (libraries.empty()) {
    warnings.push_back(warning_of(
        WarningCode::exec_no_nccl,
        fmt::format("{} asks for NCCL {}, and no process of it was seen with a libnccl mapped",
                    arm.variant, arm.nccl)));
  } else if (had_another(arm)) {
    warnings.push_back(
        {name_of(WarningCode::exec_nccl_not_replaced),
         fmt::format("{} asks for NCCL {}, and had {}", arm.variant, arm.nccl, named(libraries)),
         fmt::format("an RPATH, LD_PRELOAD or an import by its full path comes before "
                     "LD_LIBRARY_PATH; {}:LD_PRELOAD={} comes before these",
                     arm.variant, arm.nccl)});
  }
}

void judge_nccl(const std::vector<ArmEvidence>& arms, std::vector<Warning>& warnings) {
  const bool any =
      std::ranges::any_of(arms, [](const ArmEvidence& arm) { return !libraries_of(arm).empty(); });
  if (!any) {
    const bool has_logged = std::ranges::any_of(
        arms, [](const ArmEvidence& arm) { return !connections_of(arm.runs).empty(); });
    if (has_logged || std::ranges::none_of(arms, looked)) return;
    warnings.push_back(warning_of(WarningCode::exec_no_nccl,
                                  "no process of the command was seen with a libnccl mapped"));
    return;
  }
  for (const ArmEvidence& arm : arms) judge_own_nccl(arm, warnings);
  for (std::size_t i = 1; i < arms.size(); ++i) {
    if (!looked(arms.front()) || !looked(arms[i])) continue;
    if (!arms.front().nccl.empty() || !arms[i].nccl.empty()) continue;
    const std::set<std::string> first = libraries_of(arms.front());
    const std::set<std::string> other = libraries_of(arms[i]);
    if (first == other) continue;
    warnings.push_back(warning_of(WarningCode::exec_nccl_differs,
                                  fmt::format("{} had NCCL {}, {} had {}", arms.front().variant,
                                              named(first), arms[i].variant, named(other))));
  }
}

/// Tells whether metrics were compared with the first variant's and none is shown to differ.
bool no_metric_differs(const Record& record, const std::string& variant) {
  bool compared = false;
  for (const CaseResult& result : record.cases) {
    const auto place = std::ranges::find(result.variants, variant, &VariantResult::variant);
    const auto index = static_cast<std::size_t>(place - result.variants.begin());
    if (index == 0 || place == result.variants.end()) continue;
    const Judgement judgement = judge_variants(record, result, index);
    if (is_change(judgement.verdict) || judgement.has(Reason::Kind::few_runs)) return false;
    compared = compared || has_speed_up(judgement.verdict);
  }
  return compared;
}

bool is_like_first(const Record& record, const Variant& variant) {
  constexpr const char* kGpus = "CUDA_VISIBLE_DEVICES";
  const Variant& first = record.settings.variants.front();
  return !variant.is_control && variant.nccl == first.nccl &&
         value_of(variant.environment, kGpus) == value_of(first.environment, kGpus) &&
         no_metric_differs(record, variant.name);
}

/// Tells whether the command or the server's gives the variable a value.
bool is_set_by_command(const ProgramPlan& program, const std::string& name) {
  const auto sets = [&](const std::string& text) { return text.find(name + "=") != text.npos; };
  return sets(program.server) || std::ranges::any_of(program.command, sets);
}

}  // namespace

std::vector<Warning> forbidden_p2p_warnings(const Record& record) {
  const Settings& settings = record.settings;
  std::vector<Warning> warnings;
  for (std::size_t i = 0; i < settings.variants.size(); ++i) {
    const Variant& variant = settings.variants[i];
    for (const auto& [name, value] : in_force(record, i)) {
      if (value_of(variant.environment, name) == value || !forbids_p2p(name, value)) continue;
      const bool by_command = is_set_by_command(*settings.program, name);
      const std::string file = by_command ? "" : value_of(settings.nccl_files, name);
      warnings.push_back(
          {name_of(WarningCode::p2p_forbidden),
           fmt::format("{} has {}={} of {}, which forbids P2P", variant.name, name, value,
                       by_command      ? "your command"
                       : !file.empty() ? file
                                       : "your environment"),
           by_command      ? fmt::format("give the command no value for {}", name)
           : !file.empty() ? fmt::format("take {} out of {} and run again", name, file)
                           : fmt::format("unset {} and run again", name)});
    }
  }
  return warnings;
}

namespace {

/// Warns where variants part by P2P that the driver allows to none of them and NCCL's log shows of
/// none; returns whether it did.
bool warn_of_refused_p2p(Record& record, const std::vector<ArmEvidence>& arms) {
  const auto refused = refused_p2p_warning(record);
  if (!refused || std::ranges::any_of(arms, logs_p2p)) return false;
  record.warnings.push_back(*refused);
  return true;
}

/// Tells whether printed digits, not runs, make the ratio's interval so wide that it is not what
/// was asked for, or that it does not tell whether there is a difference.
bool is_of_few_digits(const Record& record, const CaseResult& result, const RatioResult& each) {
  const std::optional<double> width = relative_half_width(each.ratio);
  constexpr double kDecides = 0.99;
  const double rounding = rounding_of(result, each.variant);
  if (!width || rounding < kDecides * *width) return false;
  return *width > precision_of(record.settings, result.definition) ||
         (each.ratio.interval->holds(1.0) && !is_one(each.ratio.value));
}

void warn_of_few_digits(Record& record) {
  for (const CaseResult& result : record.cases) {
    for (const RatioResult& each : result.ratios) {
      if (!is_of_few_digits(record, result, each)) continue;
      record.warnings.push_back(warning_of(
          WarningCode::few_digits,
          fmt::format("{} is printed in steps of {} of its value: no smaller difference can be "
                      "seen, however many runs there are",
                      case_label(result.definition),
                      percent_of_digits(rounding_of(result, each.variant)))));
      break;
    }
  }
}

/// Counts the orders of so many runs of two variants.
double orders_of(std::size_t own, std::size_t other) {
  double orders = 1.0;
  for (std::size_t i = 1; i <= other; ++i) {
    orders *= static_cast<double>(own + i) / static_cast<double>(i);
  }
  return orders;
}

/// Warns where two orders of few put all that is slowed into one variant. An interval of 95 % is of
/// runs that do not depend on each other; where these are more than 5 % of all orders, something
/// periodic may be what it shows.
void warn_of_few_runs(Record& record) {
  constexpr double kEnough = 40.0;
  for (const CaseResult& result : record.cases) {
    const std::size_t own = launch_medians(result, 0).size();
    for (std::size_t i = 1; i < result.variants.size(); ++i) {
      if (!is_change(judge_variants(record, result, i).verdict)) continue;
      const double orders = orders_of(own, launch_medians(result, i).size());
      if (orders >= kEnough) continue;
      record.warnings.push_back(warning_of(
          WarningCode::few_runs,
          fmt::format(
              "only {} runs show a difference: if other work slowed half of them, all slow runs "
              "would be of one variant by chance in 1 of {:.0f} cases",
              own + launch_medians(result, i).size(), orders / 2.0)));
      return;
    }
  }
}

/// Warns where the control is shown to differ from the variant that it runs as, in the metric that
/// the answer is about: the first that was asked for, else the time.
void warn_of_control(Record& record) {
  const std::vector<Variant>& variants = record.settings.variants;
  const auto control = std::ranges::find(variants, true, &Variant::is_control);
  const auto place = static_cast<std::size_t>(control - variants.begin());
  std::string metric;
  std::vector<std::string> differing;
  for (const CaseResult& result : record.cases) {
    if (metric.empty() && decides_rounds(record, result.definition)) {
      metric = result.definition.metric->name;
    }
    if (result.definition.metric->name != metric || place >= result.variants.size()) continue;
    if (!is_change(judge_variants(record, result, place).verdict)) continue;
    const auto own = std::ranges::find(result.ratios, control->name, &RatioResult::variant);
    differing.push_back(fmt::format("{} by {}", case_label(result.definition),
                                    percent_of_digits(std::abs(own->ratio.value - 1.0))));
  }
  if (differing.empty()) return;
  record.warnings.push_back(
      warning_of(WarningCode::control_differs,
                 fmt::format("{} runs as {} does, and yet they differ: {}", control->name,
                             variants.front().name, fmt::join(differing, ", "))));
}

/// Matches, or steps, of a variant in a run; absent where it has none.
std::optional<double> matches_in_a_run(const CaseResult& result, std::size_t variant) {
  std::set<int> runs;
  double matches = 0.0;
  for (const Sample& sample : result.samples) {
    if (sample.variant != static_cast<int>(variant)) continue;
    runs.insert(sample.launch);
    matches += static_cast<double>(sample.operations);
  }
  return runs.empty() ? std::nullopt : std::optional(matches / static_cast<double>(runs.size()));
}

/// Warns where variants matched unequally often: sums and medians are of other work then.
void warn_of_matches(Record& record) {
  constexpr double kAllowed = 0.01;
  for (const CaseResult& result : record.cases) {
    const std::optional<double> first = matches_in_a_run(result, 0);
    for (std::size_t i = 1; i < result.variants.size(); ++i) {
      const std::optional<double> other = matches_in_a_run(result, i);
      if (!first || !other) continue;
      if (std::abs(*first - *other) <= kAllowed * std::max(*first, *other)) continue;
      record.warnings.push_back(warning_of(
          WarningCode::matches_differ,
          fmt::format("{} matched {} times in a run with {} and {} times with {}, on average",
                      case_label(result.definition), readable_number(*first),
                      result.variants[0].variant, readable_number(*other),
                      result.variants[i].variant)));
    }
  }
}

void warn_of_wide_intervals(Record& record) {
  std::vector<std::string> wide;
  bool time = false;
  for (const CaseResult& result : record.cases) {
    if (std::ranges::all_of(result.ratios, &RatioResult::is_refused)) continue;
    const std::optional<Remedy> remedy = remedy_for(record, result);
    // Numbers that agree to the last digit have no interval, however many there are.
    const bool has_interval = std::ranges::any_of(
        result.ratios, [](const RatioResult& each) { return each.ratio.interval.has_value(); });
    const bool one_run = std::ranges::any_of(
        result.ratios, [](const RatioResult& each) { return each.ratio.replicates < 2; });
    if (std::ranges::any_of(result.ratios, [&](const RatioResult& each) {
          return is_of_few_digits(record, result, each);
        })) {
      continue;
    }
    if (!remedy || !decides_rounds(record, result.definition)) continue;
    if (!has_interval && !one_run) continue;
    time = time || *remedy == Remedy::time;
    wide.push_back(case_label(result.definition));
  }
  if (wide.empty()) return;
  const double asked = precision_of(record.settings, record.cases.front().definition);
  record.warnings.push_back(
      {name_of(WarningCode::not_converged),
       fmt::format("the interval is wider than ±{} of the ratio for {}", percent_of_digits(asked),
                   fmt::join(wide, ", ")),
       time ? "give more time with --budget" : "ask for more runs with --rounds"});
}

/// Lists the arms at each value of the axis; empty without one.
std::vector<std::vector<ArmEvidence>> arms_by_value(const Record& record) {
  std::vector<std::vector<ArmEvidence>> all;
  std::set<std::string> values;
  for (const ProgramRun& run : record.runs) {
    if (!run.at.empty() && values.insert(run.at).second) all.push_back(arms_of(record, run.at));
  }
  return all;
}

}  // namespace

std::vector<ArmEvidence> arms_of(const Record& record, const std::optional<std::string>& at) {
  std::vector<ArmEvidence> arms;
  for (const Variant& variant : record.settings.variants) {
    ArmEvidence& arm = arms.emplace_back();
    arm.variant = at ? fmt::format("{} at {}", variant.name, *at) : variant.name;
    arm.forbidding = p2p_forbidden_by(record, variant.name);
    arm.nccl = variant.nccl;
    arm.is_like_first = is_like_first(record, variant);
    arm.runs = at ? counted_runs(record, variant.name, *at) : counted_runs(record, variant.name);
    arm.is_joined = same_for_used_pairs(record.machine, arm.runs, joined_by_nvlink);
    arm.path = path_of_program(arm.runs, record.machine, most_nvlink_bytes(record, at));
    arm.is_refused = refuses_p2p(record.machine) ||
                     same_for_used_pairs(record.machine, arm.runs, allows_p2p) == false;
  }
  return arms;
}

std::vector<Warning> judge_exec(const std::vector<ArmEvidence>& arms,
                                const std::vector<GpuNeighbour>& idle,
                                const std::vector<std::vector<ArmEvidence>>& by_value) {
  std::vector<Warning> warnings;
  if (arms.empty()) return warnings;
  judge_unseen(arms, warnings);
  if (by_value.empty()) judge_program_paths(arms, warnings);
  for (const std::vector<ArmEvidence>& each : by_value) judge_program_paths(each, warnings);
  judge_neighbours(arms, idle, warnings);
  judge_unknown_neighbours(arms, warnings);
  judge_health(arms, warnings);
  judge_nccl(arms, warnings);
  return warnings;
}

bool is_start_up(const Case& definition) {
  return definition.metric->name == ProgramMetric::kStartUp;
}

bool decides_rounds(const Record& record, const Case& definition) {
  if (is_start_up(definition)) return false;
  return !is_always_measured(*definition.metric) ||
         std::ranges::all_of(record.cases, [](const CaseResult& each) {
           return is_always_measured(*each.definition.metric);
         });
}

std::optional<Warning> refused_p2p_warning(const Record& record) {
  const std::vector<Variant>& variants = record.settings.variants;
  // A variable that reaches no program counts: passed on, it would change nothing either.
  const auto off = std::ranges::count_if(variants, [&](const Variant& each) {
    return is_p2p_off(record, each.name) ||
           std::ranges::any_of(each.environment, [](const auto& variable) {
             return forbids_p2p(variable.first, variable.second);
           });
  });
  const bool is_alone = record.machine.ranks.size() == 1;
  if (off == 0 || off == std::ssize(variants) || (!is_alone && !refuses_p2p(record.machine))) {
    return std::nullopt;
  }
  return warning_of(
      WarningCode::same_path,
      is_alone ? "P2P is on in no variant: there is one GPU here, which has no peer"
               : "P2P is on in no variant: the driver allows it between none of these GPUs");
}

void judge_program(Record& record) {
  std::ranges::move(forbidden_p2p_warnings(record), std::back_inserter(record.warnings));
  warn_of_few_runs(record);
  warn_of_control(record);
  warn_of_matches(record);
  warn_of_few_digits(record);
  warn_of_wide_intervals(record);
  const std::vector<ArmEvidence> arms = arms_of(record);
  const std::vector<Warning> found =
      judge_exec(arms, record.neighbours ? record.neighbours->seen : std::vector<GpuNeighbour>{},
                 arms_by_value(record));
  const bool refused =
      warn_of_refused_p2p(record, arms);  // which explains that nothing used NVLink
  std::ranges::copy_if(found, std::back_inserter(record.warnings), [&](const Warning& each) {
    return !refused || !is(each, WarningCode::exec_no_nvlink);
  });
}

}  // namespace linkgain
