#include "linkgain/compare/run_comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/hardware/health.hpp"

namespace linkgain {
namespace {

/// What times depend on, and with it by how much launches differ.
enum class DeviationSource {
  gpus,        ///< cases of linkgain's on GPUs: assumed_deviation() of the size
  cpu_memory,  ///< cases of the mpi backend: kAssumedCpuDeviation
};

std::string text_of(DeviationSource source) {
  switch (source) {
    case DeviationSource::gpus:
      return fmt::format("{:.1f} % from 1 MiB on, {:.0f} % for all else", 100 * kAssumedDeviation,
                         100 * kAssumedSmallDeviation);
    case DeviationSource::cpu_memory:
      return fmt::format("{:.0f} % in CPU memory, where the load of the host decides",
                         100 * kAssumedCpuDeviation);
  }
  throw std::invalid_argument("no such source of a deviation");
}

double largest(const std::optional<double>& a, const std::optional<double>& b) {
  return std::max(a.value_or(0.0), b.value_or(0.0));
}

DeviationSource deviation_source(const RunFigures& run) {
  return run.settings.backend == BackendKind::mpi ? DeviationSource::cpu_memory
                                                  : DeviationSource::gpus;
}

/// Of a case of both runs. Never less than what the samples of either show.
BetweenLaunchDeviation assumed_between_launches(DeviationSource source, const CaseFigures& before,
                                                const CaseFigures& after) {
  const double error = largest(before.sample_error, after.sample_error);
  switch (source) {
    case DeviationSource::gpus:
      return {std::max(assumed_deviation(before.definition.size), error), std::nullopt};
    case DeviationSource::cpu_memory:
      return {std::max(kAssumedCpuDeviation, error), std::nullopt};
  }
  throw std::invalid_argument("no such source of a deviation");
}

/// Which were assumed, in words: "1.5 % from 1 MiB on, 15 % for all else"; empty where none was.
std::string assumed_deviations_text(const RunComparison& comparison) {
  std::set<DeviationSource> sources;
  for (const CaseComparison& each : comparison.cases) {
    if (!each.between_launches || each.between_launches->degrees_of_freedom) continue;
    sources.insert(deviation_source(*comparison.before));
  }
  std::vector<std::string> texts;
  for (const DeviationSource source : sources) texts.push_back(text_of(source));
  return fmt::format("{}", fmt::join(texts, "; "));
}

/// P(|Z| < 1.96) = 95 % for a standard normal Z.
constexpr double kNormalQuantile = 1.959963984540054;

bool is_selected(const CaseFigures& figures, const CompareOptions& options) {
  if (options.operations.empty()) return true;
  return std::find(options.operations.begin(), options.operations.end(),
                   figures.definition.operation) != options.operations.end();
}

std::string first_variant(const RunFigures& run) {
  return run.cases.empty() ? "" : run.cases.front().variant;
}

bool has_variant(const RunFigures& run, const std::string& name) {
  return std::any_of(run.cases.begin(), run.cases.end(),
                     [&](const CaseFigures& figures) { return figures.variant == name; });
}

/// Which variants stand for each other.
class VariantMatch {
 public:
  VariantMatch(const RunFigures& before, const RunFigures& after)
      : first_before_(first_variant(before)), first_after_(first_variant(after)) {
    by_name_ = std::any_of(after.cases.begin(), after.cases.end(), [&](const CaseFigures& each) {
      return has_variant(before, each.variant);
    });
  }

  /// Whether a variant takes part at all: by name all do, else the first ones.
  bool counts(const std::string& variant, bool after) const {
    return by_name_ || variant == (after ? first_after_ : first_before_);
  }
  bool matches(const CaseFigures& before, const CaseFigures& after) const {
    if (before.name != after.name) return false;
    if (by_name_) return before.variant == after.variant;
    return before.variant == first_before_ && after.variant == first_after_;
  }
  /// What a row is called.
  std::string label(const std::string& variant) const {
    if (by_name_) return variant;
    if (first_before_.empty() || first_after_.empty()) return first_before_ + first_after_;
    return fmt::format("{} → {}", first_before_, first_after_);
  }

 private:
  std::string first_before_;
  std::string first_after_;
  bool by_name_ = false;
};

/// By case of a run.
using Deviations = std::map<const CaseFigures*, std::optional<LaunchDeviation>>;

/// How launches of each case of a run differ.
Deviations deviations_of(const RunFigures& run) {
  std::vector<CaseLaunches> all;
  for (const CaseFigures& figures : run.cases) {
    all.push_back({figures.definition, figures.variant, {}});
    if (figures.no_time.empty()) all.back().launches = figures.launches;
  }
  const std::vector<std::optional<LaunchDeviation>> pooled = pooled_deviations(all);
  Deviations deviations;
  for (std::size_t i = 0; i < pooled.size(); ++i) deviations[&run.cases[i]] = pooled[i];
  return deviations;
}

/// The deviations of two runs.
class BothDeviations {
 public:
  BothDeviations(const RunFigures& before, const RunFigures& after)
      : source_(deviation_source(before)),
        before_deviations_(deviations_of(before)),
        after_deviations_(deviations_of(after)) {}

  /// Of a case of both, which are part of them; throws std::out_of_range for copies of such.
  BetweenLaunchDeviation of(const CaseFigures& before, const CaseFigures& after) const {
    const auto pooled =
        combine_deviations(before_deviations_.at(&before), after_deviations_.at(&after));
    return pooled ? BetweenLaunchDeviation{pooled->deviation, pooled->degrees_of_freedom}
                  : assumed_between_launches(source_, before, after);
  }

 private:
  DeviationSource source_;
  Deviations before_deviations_;
  Deviations after_deviations_;
};

Interval speed_up_of(const CaseFigures& before, const CaseFigures& after,
                     const BetweenLaunchDeviation& between_launches, ShiftQuantiles& quantiles) {
  const int degrees = between_launches.degrees_of_freedom.value_or(1);
  const LaunchShift shift{mean_log(after.launches) - mean_log(before.launches),
                          {between_launches.deviation, degrees},
                          static_cast<int>(before.launches.size()),
                          static_cast<int>(after.launches.size())};
  const double quantile =
      between_launches.degrees_of_freedom ? quantiles.at(degrees) : kNormalQuantile;
  const double half_width = quantile * standard_error(shift);
  return {std::exp(-shift.log), std::exp(-shift.log - half_width),
          std::exp(-shift.log + half_width)};
}

/// The threshold is meant on the log scale, so that twice as fast and half as fast weigh the same.
CaseVerdict judge(const Interval& speed_up, double threshold) {
  const double bound = std::log1p(threshold);
  const double shift = std::log(speed_up.estimate);
  if (std::log(speed_up.low) > -bound && std::log(speed_up.high) < bound) return CaseVerdict::same;
  if (speed_up.low > 1.0 && shift > bound) return CaseVerdict::faster;
  if (speed_up.high < 1.0 && shift < -bound) return CaseVerdict::slower;
  return CaseVerdict::inconclusive;
}

std::string why_not_comparable(const RunComparison& comparison, const CaseComparison& each) {
  const BackendKind before = comparison.before->settings.backend;
  const BackendKind after = comparison.after->settings.backend;
  if (before != after) {
    return fmt::format("backend {} before, {} after", name_of(before), name_of(after));
  }
  if (!each.before->no_time.empty()) return "before: " + each.before->no_time;
  if (!each.after->no_time.empty()) return "after: " + each.after->no_time;
  return {};
}

/// The run that has no case of such a row.
const RunFigures& lacking_run(const RunComparison& comparison, const CaseComparison& each) {
  return each.before == nullptr ? *comparison.before : *comparison.after;
}

/// Of a row that one run lacks: the launch mode by which it has the same case all the same.
std::optional<LaunchMode> other_launch(const RunComparison& comparison,
                                       const CaseComparison& each) {
  Case other = each.definition;
  other.launch =
      each.definition.launch == LaunchMode::graph ? LaunchMode::stream : LaunchMode::graph;
  const std::vector<CaseFigures>& cases = lacking_run(comparison, each).cases;
  const bool known = std::any_of(cases.begin(), cases.end(), [&](const CaseFigures& figures) {
    return figures.definition == other;
  });
  return known ? std::optional(other.launch) : std::nullopt;
}

/// "before: other processes were active in 3 samples"; empty where nothing is known of either side.
std::string disturbances_text(const CaseComparison& each) {
  std::vector<std::string> parts;
  for (const auto& [when, figures] :
       {std::pair{"before", each.before}, std::pair{"after", each.after}}) {
    const std::string text = describe(figures->disturbance);
    if (!text.empty()) parts.push_back(fmt::format("{}: {}", when, text));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

void fill(CaseComparison& each, const RunComparison& comparison, const BothDeviations& deviations,
          ShiftQuantiles& quantiles) {
  if (each.before == nullptr || each.after == nullptr) {
    const std::string& name = lacking_run(comparison, each).name;
    const std::optional<LaunchMode> other = other_launch(comparison, each);
    each.reason = other ? fmt::format("in {} by {} alone", name, name_of(*other))
                        : fmt::format("not in {}", name);
    return;
  }
  each.reason = why_not_comparable(comparison, each);
  if (!each.reason.empty()) {
    each.verdict = CaseVerdict::not_comparable;
    return;
  }
  each.reason = disturbances_text(each);
  each.between_launches = deviations.of(*each.before, *each.after);
  each.speed_up = speed_up_of(*each.before, *each.after, *each.between_launches, quantiles);
  each.verdict = judge(*each.speed_up, comparison.threshold);
}

CaseComparison row_of(const CaseFigures& figures, const VariantMatch& match) {
  CaseComparison row;
  row.name = figures.name;
  row.definition = figures.definition;
  row.variant = match.label(figures.variant);
  return row;
}

std::vector<CaseComparison> matched_cases(const RunFigures& before, const RunFigures& after,
                                          const CompareOptions& options) {
  const VariantMatch match(before, after);
  std::vector<CaseComparison> rows;
  std::vector<bool> used(before.cases.size(), false);
  for (const CaseFigures& figures : after.cases) {
    if (!is_selected(figures, options) || !match.counts(figures.variant, true)) continue;
    CaseComparison row = row_of(figures, match);
    row.after = &figures;
    for (std::size_t i = 0; i < before.cases.size() && row.before == nullptr; ++i) {
      if (used[i] || !match.matches(before.cases[i], figures)) continue;
      row.before = &before.cases[i];
      used[i] = true;
    }
    rows.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < before.cases.size(); ++i) {
    const CaseFigures& figures = before.cases[i];
    if (used[i] || !is_selected(figures, options) || !match.counts(figures.variant, false)) {
      continue;
    }
    CaseComparison row = row_of(figures, match);
    row.before = &figures;
    rows.push_back(std::move(row));
  }
  return rows;
}

struct Explanation {
  ChangeKind kind;
  const char* code;
  const char* text;
  const char* advice;
};

/// Links between GPUs are what the comparison is about; their changes explain nothing away.
constexpr Explanation kExplanations[] = {
    {ChangeKind::gpu, "other-gpus", "the GPUs differ",
     "compare runs of the same GPUs to see what the link is worth"},
    {ChangeKind::pcie, "other-pcie", "what joins GPUs with the host differs",
     "traffic through the host uses it: check PCIe with linkgain doctor"},
    {ChangeKind::clock, "other-clocks", "the GPUs' clocks or their limits differ",
     "look at clock limits and power limits with linkgain doctor"},
    {ChangeKind::driver, "other-driver", "the driver differs",
     "measure both sides with the same driver"},
    {ChangeKind::nccl, "other-nccl", "NCCL differs",
     "measure both sides with the same NCCL: its choices change between versions"},
    {ChangeKind::software, "other-software", "other software differs",
     "measure both sides with the same build and libraries"},
    {ChangeKind::host, "other-host", "the host differs", "compare runs of the same machine"},
    {ChangeKind::variable, "other-variables", "variables in force differ",
     "set the same variables on both sides, unless they are what is compared"},
    {ChangeKind::setting, "other-settings", "the settings differ",
     "measure both sides with the same command line"},
};

void add_changes(std::vector<Warning>& cautions, const std::vector<Change>& changes) {
  for (const Explanation& row : kExplanations) {
    std::vector<std::string> what;
    for (const Change& change : changes) {
      if (change.kind == row.kind) {
        what.push_back(fmt::format("{}: {} → {}", change.what, change.before, change.after));
      }
    }
    if (what.empty()) continue;
    const std::size_t more = what.size() > 3 ? what.size() - 3 : 0;
    what.resize(what.size() - more);
    cautions.push_back(
        {row.code,
         fmt::format("{} ({}{}) and may explain a difference", row.text, fmt::join(what, "; "),
                     more > 0 ? fmt::format("; {} more", more) : ""),
         row.advice});
  }
}

void add_throttling(std::vector<Warning>& cautions, const RunFigures& run) {
  HealthSummary health;
  for (const CaseFigures& figures : run.cases) add_summary(health, figures.health);
  if (health.unhealthy_samples == 0) return;
  cautions.push_back(
      {"throttled", fmt::format("in {} {}", run.name, throttling_text(health)), kThrottlingAdvice});
}

std::size_t most_launches(const RunComparison& comparison, bool after) {
  std::size_t most = 0;
  for (const CaseComparison& each : comparison.cases) {
    if (!each.speed_up) continue;
    most = std::max(most, (after ? each.after : each.before)->launches.size());
  }
  return most;
}

/// For the sides that need more launches, by the program that measured them.
std::string advice_for_launches(const RunComparison& comparison, bool before, bool after) {
  bool own = false;
  bool foreign = false;
  const auto add = [&](const RunFigures& run) {
    (run.source == RunSource::record ? own : foreign) = true;
  };
  if (before) add(*comparison.before);
  if (after) add(*comparison.after);
  std::string advice = own ? "measure with linkgain run --launches 8" : "";
  if (foreign) {
    advice += fmt::format(
        "{}run {} several times and give the files of a side together: a1.json,a2.json,a3.json, "
        "or their directory",
        own ? "; " : "", own ? "the other program" : "the program");
  }
  return advice;
}

void add_single_launches(std::vector<Warning>& cautions, const RunComparison& comparison) {
  const std::size_t before = most_launches(comparison, false);
  const std::size_t after = most_launches(comparison, true);
  if (before == 0 || (before > 1 && after > 1)) return;
  const bool assumed = before == 1 && after == 1;
  const std::string who = assumed       ? "both sides have"
                          : before == 1 ? fmt::format("{} has", comparison.before->name)
                                        : fmt::format("{} has", comparison.after->name);
  const std::string deviation =
      assumed ? fmt::format("how far launches differ is assumed, not measured ({})",
                            assumed_deviations_text(comparison))
              : "how far launches differ is known from the other side alone";
  cautions.push_back({"one-launch", fmt::format("{} one launch only: {}", who, deviation),
                      advice_for_launches(comparison, before == 1, after == 1)});
}

void add_run(std::vector<Warning>& cautions, const RunFigures& run) {
  if (run.status != RunStatus::complete) {
    cautions.push_back({"incomplete",
                        fmt::format("{} is not complete ({})", run.name, name_of(run.status)),
                        "what it lacks is not compared; measure it again"});
  }
  add_throttling(cautions, run);
  std::vector<DisturbedCase> cases;
  for (const CaseFigures& figures : run.cases) {
    cases.push_back(
        {fmt::format("{} with {}", figures.name, figures.variant), figures.disturbance});
  }
  const auto disturbances = disturbance_warnings(run.name, cases, run.neighbours);
  cautions.insert(cautions.end(), disturbances.begin(), disturbances.end());
}

std::size_t ranks_of(const RunFigures& run) {
  return run.cases.empty() ? 0 : static_cast<std::size_t>(run.cases.front().definition.ranks);
}

/// Of one variant: bytes that took another path explain a difference by themselves.
void add_paths(std::vector<Warning>& cautions, const RunComparison& comparison) {
  std::map<std::string, int> counts;
  for (const CaseComparison& each : comparison.cases) {
    if (!each.speed_up || each.before->variant != each.after->variant) continue;
    const Path before = each.before->path;
    const Path after = each.after->path;
    if (before == after || before == Path::unknown || after == Path::unknown) continue;
    ++counts[fmt::format("{} took {} before and {} after", each.before->variant, name_of(before),
                         name_of(after))];
  }
  for (const auto& [text, count] : counts) {
    cautions.push_back({"other-path", fmt::format("{} ({})", text, counted(count, "case", "cases")),
                        "if no bridge was fitted or taken out, run linkgain doctor"});
  }
}

/// NCCL has alltoall, gather and scatter as calls of its own from 2.28 on.
void add_groups(std::vector<Warning>& cautions, const RunComparison& comparison) {
  std::map<std::string, int> counts;
  const auto form = [](bool grouped) {
    return grouped ? "sends and receives in one group" : "one call of the library";
  };
  for (const CaseComparison& each : comparison.cases) {
    if (!each.speed_up || !each.before->grouped || !each.after->grouped) continue;
    const bool before = *each.before->grouped;
    const bool after = *each.after->grouped;
    if (before == after) continue;
    const std::string_view operation = name_of(each.definition.operation);
    ++counts[fmt::format("{} was {} before and {} after", operation, form(before), form(after))];
  }
  for (const auto& [text, count] : counts) {
    cautions.push_back({"other-form", fmt::format("{} ({})", text, counted(count, "case", "cases")),
                        "measure both sides with the same NCCL and build"});
  }
}

/// nccl-tests' buffers count as plain, so that its cases are those of others' runs; from NCCL 2.19
/// on NCCL allocates them.
void add_buffers(std::vector<Warning>& cautions, const RunComparison& comparison) {
  const bool before = comparison.before->source == RunSource::nccl_tests;
  const bool after = comparison.after->source == RunSource::nccl_tests;
  if (before == after) return;
  const RunFigures& tests = before ? *comparison.before : *comparison.after;
  const RunFigures& other = before ? *comparison.after : *comparison.before;
  const bool any_plain =
      std::any_of(comparison.cases.begin(), comparison.cases.end(), [](const CaseComparison& each) {
        return each.speed_up && each.definition.buffers == Buffers::plain;
      });
  if (!any_plain) return;
  cautions.push_back({"other-buffers",
                      fmt::format("NCCL allocated the buffers of {} (from 2.19 on), and CUDA those "
                                  "of {}: NCCL may take another path with them",
                                  tests.name, other.name),
                      "measure both sides with the same program, or linkgain-bench with "
                      "nccl-tests' flags"});
}

/// Cases of different rank counts never match; the list of missing ones does not say why.
void add_ranks(std::vector<Warning>& cautions, const RunComparison& comparison) {
  const std::size_t before = ranks_of(*comparison.before);
  const std::size_t after = ranks_of(*comparison.after);
  if (before == 0 || after == 0 || before == after) return;
  cautions.push_back({"other-ranks",
                      fmt::format("{} measured {} ranks, {} {}: their cases differ",
                                  comparison.before->name, before, comparison.after->name, after),
                      "measure both sides with as many ranks"});
}

/// Cases of different launch modes never match.
void add_launch_modes(std::vector<Warning>& cautions, const RunComparison& comparison) {
  std::map<LaunchMode, std::set<std::string>> cases;  // of the later run, by the mode of the other
  for (const CaseComparison& each : comparison.cases) {
    if (each.before != nullptr) continue;
    if (const auto other = other_launch(comparison, each)) cases[*other].insert(each.name);
  }
  for (const auto& [before, names] : cases) {
    const LaunchMode after = before == LaunchMode::graph ? LaunchMode::stream : LaunchMode::graph;
    cautions.push_back({"other-launch",
                        fmt::format("{} by {} in {} and by {} in {}, which cannot be compared",
                                    counted(static_cast<std::int64_t>(names.size()),
                                            "case was measured", "cases were measured"),
                                    name_of(before), comparison.before->name, name_of(after),
                                    comparison.after->name),
                        fmt::format("measure both sides with --launch-mode {}", name_of(before))});
  }
}

/// What else differs and could explain a difference, and what weakens the comparison; from the
/// runs, the changes and the cases of `comparison`.
std::vector<Warning> cautions_of(const RunComparison& comparison) {
  std::vector<Warning> cautions;
  add_single_launches(cautions, comparison);
  add_run(cautions, *comparison.before);
  if (comparison.after != comparison.before) add_run(cautions, *comparison.after);
  add_ranks(cautions, comparison);
  add_launch_modes(cautions, comparison);
  add_paths(cautions, comparison);
  add_groups(cautions, comparison);
  add_buffers(cautions, comparison);
  add_changes(cautions, comparison.changes);
  return cautions;
}

}  // namespace

std::string_view name_of(CaseVerdict verdict) {
  switch (verdict) {
    case CaseVerdict::same:
      return "same";
    case CaseVerdict::faster:
      return "faster";
    case CaseVerdict::slower:
      return "slower";
    case CaseVerdict::inconclusive:
      return "inconclusive";
    case CaseVerdict::not_comparable:
      return "not comparable";
    case CaseVerdict::missing:
      return "missing";
  }
  throw std::invalid_argument("no such verdict");
}

RunComparison compare_runs(const RunFigures& before, const RunFigures& after,
                           const CompareOptions& options) {
  RunComparison comparison;
  comparison.before = &before;
  comparison.after = &after;
  comparison.threshold = options.tolerance;
  comparison.changes = changes_between(before, after);
  comparison.cases = matched_cases(before, after, options);
  const BothDeviations deviations(before, after);
  ShiftQuantiles quantiles;
  for (CaseComparison& each : comparison.cases) fill(each, comparison, deviations, quantiles);
  comparison.cautions = cautions_of(comparison);
  return comparison;
}

bool has_common_case(const RunComparison& comparison) {
  return !std::ranges::all_of(comparison.cases, [](const CaseComparison& each) {
    return each.verdict == CaseVerdict::missing;
  });
}

const CaseComparison* headline_case(const RunComparison& comparison) {
  const auto training = std::find_if(
      comparison.cases.begin(), comparison.cases.end(),
      [](const auto& each) { return each.speed_up && may_stand_for_run(each.definition); });
  if (training != comparison.cases.end()) return &*training;
  const CaseComparison* best = nullptr;
  const auto is_all_reduce = [](const CaseComparison& each) {
    return each.definition.operation == OperationKind::all_reduce;
  };
  for (const CaseComparison& each : comparison.cases) {
    if (!each.speed_up) continue;
    if (best == nullptr) {
      best = &each;
      continue;
    }
    if (each.variant != best->variant) continue;
    const bool same_operation = each.definition.operation == best->definition.operation;
    const bool larger = each.definition.size > best->definition.size;
    if (same_operation ? larger : is_all_reduce(each)) best = &each;
  }
  return best;
}

}  // namespace linkgain
