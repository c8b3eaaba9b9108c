#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "comparison_parts.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/health.hpp"
#include "linkgain/record/warning.hpp"

namespace linkgain {
namespace {

struct Explanation {
  DifferenceKind kind;
  WarningCode code;
  const char* text;
};

/// Links between GPUs are what the comparison is about; their changes explain nothing away.
constexpr Explanation kExplanations[] = {
    {DifferenceKind::gpu, WarningCode::other_gpus, "the GPUs differ"},
    {DifferenceKind::pcie, WarningCode::other_pcie, "what joins GPUs with the host differs"},
    {DifferenceKind::clock, WarningCode::other_clocks, "the GPUs' clocks or their limits differ"},
    {DifferenceKind::driver, WarningCode::other_driver, "the driver differs"},
    {DifferenceKind::nccl, WarningCode::other_nccl, "NCCL differs"},
    {DifferenceKind::software, WarningCode::other_software, "other software differs"},
    {DifferenceKind::host, WarningCode::other_host, "the host differs"},
    {DifferenceKind::variable, WarningCode::other_variables, "variables in force differ"},
    {DifferenceKind::setting, WarningCode::other_settings, "the settings differ"},
};

void add_changes(std::vector<Warning>& cautions, const std::vector<MachineDifference>& changes) {
  for (const Explanation& row : kExplanations) {
    std::vector<std::string> what;
    for (const MachineDifference& change : changes) {
      if (change.kind == row.kind) {
        what.push_back(fmt::format("{}: {} → {}", change.what, change.before, change.after));
      }
    }
    if (what.empty()) continue;
    const std::size_t more = what.size() > 3 ? what.size() - 3 : 0;
    what.resize(what.size() - more);
    cautions.push_back(warning_of(
        row.code,
        fmt::format("{} ({}{}) and may explain a difference", row.text, fmt::join(what, "; "),
                    more > 0 ? fmt::format("; {} more", more) : "")));
  }
}

void add_throttling(std::vector<Warning>& cautions, const RunFigures& run,
                    const std::vector<const CaseFigures*>& compared) {
  HealthSummary health;
  for (const CaseFigures* figures : compared) add_summary(health, figures->health);
  if (health.unhealthy_samples == 0) return;
  cautions.push_back({name_of(WarningCode::throttled),
                      fmt::format("in {} {}", run.name, throttling_text(health)),
                      kThrottlingAdvice});
}

std::size_t most_launches(const RunComparison& comparison, bool after) {
  std::size_t most = 0;
  for (const CaseComparison& each : comparison.cases) {
    if (!each.speed_up) continue;
    most = std::max(most, (after ? each.after : each.before)->launches.size());
  }
  return most;
}

/// Names the command for a side that needs more launches, which a file of nccl-tests cannot have.
std::string advice_for_launches(const RunComparison& comparison, bool before, bool after) {
  const bool foreign = (before && comparison.before->source == RunSource::nccl_tests) ||
                       (after && comparison.after->source == RunSource::nccl_tests);
  return fmt::format("{}measure with {}", foreign ? "a file of nccl-tests is one launch: " : "",
                     command_for_launches(comparison.cases.front().definition));
}

/// Warns of a run beside itself: nothing can differ then, which looks like a machine that did not
/// change.
void add_same_run(std::vector<Warning>& cautions, const RunComparison& comparison) {
  const RunFigures& before = *comparison.before;
  const RunFigures& after = *comparison.after;
  if (before.identity.empty() || before.identity != after.identity) return;
  cautions.push_back(warning_of(
      WarningCode::same_run, fmt::format("{} and {} are the same run", before.name, after.name)));
}

void add_single_launches(std::vector<Warning>& cautions, const RunComparison& comparison) {
  const std::size_t before = most_launches(comparison, false);
  const std::size_t after = most_launches(comparison, true);
  if (before == 0 || (before > 1 && after > 1)) return;
  const bool both = before == 1 && after == 1;
  const std::string who = both          ? "both sides have"
                          : before == 1 ? fmt::format("{} has", comparison.before->name)
                                        : fmt::format("{} has", comparison.after->name);
  cautions.push_back({name_of(WarningCode::one_launch),
                      fmt::format("{} one launch only: how far launches differ is not known", who),
                      advice_for_launches(comparison, before == 1, after == 1)});
}

/// Gives what of the run is compared, each once: what the other run lacks explains nothing.
std::vector<const CaseFigures*> compared_figures(const RunComparison& comparison,
                                                 const RunFigures& run) {
  std::vector<const CaseFigures*> figures;
  for (const CaseComparison& each : comparison.cases) {
    const CaseFigures* const own = &run == comparison.before ? each.before : each.after;
    const bool is_shared = each.before != nullptr && each.after != nullptr;
    if (is_shared && std::ranges::count(figures, own) == 0) figures.push_back(own);
  }
  return figures;
}

void add_run(std::vector<Warning>& cautions, const RunComparison& comparison,
             const RunFigures& run) {
  if (run.status != RunStatus::complete) {
    cautions.push_back(
        warning_of(WarningCode::incomplete,
                   fmt::format("{} is not complete ({})", run.name, name_of(run.status))));
  }
  for (const Warning& each : run.warnings) {
    if (row_of(each).exit_code != ExitCode::wrong_path) continue;
    cautions.push_back({each.code, fmt::format("in {} {}", run.name, each.text), each.advice});
  }
  const std::vector<const CaseFigures*> compared = compared_figures(comparison, run);
  add_throttling(cautions, run, compared);
  std::vector<DisturbedCase> cases;
  for (const CaseFigures* figures : compared) {
    cases.push_back(
        {fmt::format("{} with {}", figures->name, figures->variant), figures->disturbance});
  }
  const auto disturbances =
      disturbance_warnings(run.name, cases, run.neighbours, run.link_errors, run.warnings);
  for (const Warning& each : disturbances) add_once(cautions, each);
}

std::size_t ranks_of(const RunFigures& run) {
  return run.cases.empty() ? 0 : static_cast<std::size_t>(run.cases.front().definition.ranks);
}

/// Warns of other paths of one variant: bytes that took another one explain a difference by
/// themselves.
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
    cautions.push_back(warning_of(WarningCode::other_path,
                                  fmt::format("{} ({})", text, counted(count, "case", "cases"))));
  }
}

/// Warns of operations that were made of other calls: NCCL has alltoall, gather and scatter as
/// calls of its own from 2.28 on.
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
    cautions.push_back(warning_of(WarningCode::other_form,
                                  fmt::format("{} ({})", text, counted(count, "case", "cases"))));
  }
}

/// Warns of other buffers. Those of nccl-tests count as plain, so that its cases are those of
/// others' runs; from NCCL 2.19 on NCCL allocates them.
void add_buffers(std::vector<Warning>& cautions, const RunComparison& comparison) {
  const bool before = comparison.before->source == RunSource::nccl_tests;
  const bool after = comparison.after->source == RunSource::nccl_tests;
  if (before == after) return;
  const RunFigures& tests = before ? *comparison.before : *comparison.after;
  const RunFigures& other = before ? *comparison.after : *comparison.before;
  const bool any_plain = std::ranges::any_of(comparison.cases, [](const CaseComparison& each) {
    return each.speed_up && each.definition.buffers == Buffers::plain;
  });
  if (!any_plain) return;
  cautions.push_back(
      warning_of(WarningCode::other_buffers,
                 fmt::format("NCCL allocated the buffers of {} (from 2.19 on), and CUDA those "
                             "of {}: NCCL may take another path with them",
                             tests.name, other.name)));
}

/// Says why cases of different rank counts are missing: they never match.
void add_ranks(std::vector<Warning>& cautions, const RunComparison& comparison) {
  const std::size_t before = ranks_of(*comparison.before);
  const std::size_t after = ranks_of(*comparison.after);
  if (before == 0 || after == 0 || before == after) return;
  cautions.push_back(
      warning_of(WarningCode::other_ranks,
                 fmt::format("{} measured {} ranks, {} {}: their cases differ",
                             comparison.before->name, before, comparison.after->name, after)));
}

/// Names the option that has the run's program measure by this mode.
std::string option_for(LaunchMode mode, const RunFigures& run) {
  if (run.source != RunSource::nccl_tests) return fmt::format("--launch-mode {}", name_of(mode));
  return mode == LaunchMode::graph ? "-G 1" : "-G 0";
}

/// Says how to measure both sides by this mode.
std::string advice_for(LaunchMode mode, const RunComparison& comparison) {
  const RunFigures& before = *comparison.before;
  const RunFigures& after = *comparison.after;
  if ((before.source == RunSource::nccl_tests) == (after.source == RunSource::nccl_tests)) {
    return fmt::format("measure both sides with {}", option_for(mode, before));
  }
  return fmt::format("measure {} with {} and {} with {}", before.name, option_for(mode, before),
                     after.name, option_for(mode, after));
}

/// Says why cases of different launch modes are missing: they never match.
void add_launch_modes(std::vector<Warning>& cautions, const RunComparison& comparison) {
  std::map<LaunchMode, std::set<std::string>> cases;  // of the later run, by the mode of the other
  for (const CaseComparison& each : comparison.cases) {
    if (each.before != nullptr) continue;
    if (const auto other = other_launch(comparison, each)) cases[*other].insert(each.name);
  }
  for (const auto& [before, names] : cases) {
    const LaunchMode after = before == LaunchMode::graph ? LaunchMode::stream : LaunchMode::graph;
    cautions.push_back({name_of(WarningCode::other_launch),
                        fmt::format("{} by {} in {} and by {} in {}, which cannot be compared",
                                    counted(static_cast<std::int64_t>(names.size()),
                                            "case was measured", "cases were measured"),
                                    name_of(before), comparison.before->name, name_of(after),
                                    comparison.after->name),
                        advice_for(before, comparison)});
  }
}

}  // namespace

std::vector<Warning> cautions_of(const RunComparison& comparison) {
  std::vector<Warning> cautions;
  add_same_run(cautions, comparison);
  add_single_launches(cautions, comparison);
  add_run(cautions, comparison, *comparison.before);
  if (comparison.after != comparison.before) add_run(cautions, comparison, *comparison.after);
  add_ranks(cautions, comparison);
  add_launch_modes(cautions, comparison);
  add_paths(cautions, comparison);
  add_groups(cautions, comparison);
  add_buffers(cautions, comparison);
  add_changes(cautions, comparison.changes);
  return cautions;
}

}  // namespace linkgain
