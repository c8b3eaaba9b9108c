#include "linkgain/analysis/run_validity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/path_validity.hpp"
#include "linkgain/analysis/program_validity.hpp"
#include "linkgain/analysis/soak.hpp"
#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/analysis/variant_environment.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/backend.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/record/warning.hpp"

namespace linkgain {
namespace {

/// Says what could make variants part that took one path.
std::string advice_to_part(const Record& record) {
  for (std::size_t i = 0; i < record.settings.variants.size(); ++i) {
    if (const std::string assignment = forbidden_by_caller(record, i); !assignment.empty()) {
      return fmt::format("unset {}, also in NCCL_CONF_FILE, ~/.nccl.conf and /etc/nccl.conf",
                         assignment);
    }
  }
  const auto& links = record.machine.links;
  if (std::ranges::any_of(links, [](const PairLink& link) {
        return joined_by_nvlink(link) == true && link.p2p == false;
      })) {
    return "`linkgain doctor`: NVLink joins the GPUs but the driver refuses P2P (a bad bridge, "
           "IOMMU/ACS, a virtual machine)";
  }
  if (offers_nvlink(record.machine)) {
    return "NVLink joins every pair and P2P works: follow the warning of a wrong path where there "
           "is one, else compare variants of which one forces nothing and one forbids P2P";
  }
  const bool asked = std::ranges::any_of(record.settings.variants, [](const Variant& variant) {
    return variant.environment.contains("NCCL_P2P_LEVEL");
  });
  if (asked) return "`linkgain doctor` says whether the driver allows P2P between these GPUs";
  return "where the driver allows P2P, --variant p2p-sys lets NCCL use it over PCIe across the "
         "host bridge";
}

void judge_same_paths(Record& record) {
  std::set<std::string> paths;
  for (const CaseResult& result : record.cases) {
    for (std::size_t i = 1; i < result.variants.size(); ++i) {
      if (!same_path(result.variants[0], result.variants[i]) ||
          !choose_path(record, result.variants[0], result.variants[i])) {
        continue;
      }
      paths.insert(fmt::format("{} and {} took the same path: {}", result.variants[0].variant,
                               result.variants[i].variant, name_of(result.variants[i].path)));
    }
  }
  for (const std::string& text : paths) {
    add_once(record.warnings,
             {name_of(WarningCode::same_path), text,
              "their ratio says nothing about the link; " + advice_to_part(record)});
  }
}

void judge_convergence(Record& record) {
  if (record.status == RunStatus::unfinished || record.settings.race) return;
  std::vector<std::string> out_of_time;
  std::vector<std::string> differing;
  std::vector<std::string> without_interval;
  for (const CaseResult& result : record.cases) {
    const std::optional<Remedy> remedy = remedy_for(record, result);
    if (!remedy) continue;
    const bool has_interval = std::ranges::any_of(
        result.ratios, [](const RatioResult& each) { return each.ratio.interval.has_value(); });
    auto& group = !has_interval             ? without_interval
                  : *remedy == Remedy::time ? out_of_time
                                            : differing;
    group.push_back(spoken_case(record, result.definition));
  }
  const std::string asked =
      record.settings.precision
          ? fmt::format("{:.3g} % of the ratio", 100 * *record.settings.precision)
          : "1 % of the ratio (2 % below 16 MiB, 5 % below 1 MiB)";
  const auto warn = [&](const std::vector<std::string>& cases, std::string_view why,
                        std::string_view advice) {
    if (cases.empty()) return;
    add_once(
        record.warnings,
        {name_of(WarningCode::not_converged),
         fmt::format("{} wider than {}, for {}", why, asked, first_named(cases)),
         fmt::format("their rows are marked; {}, or keep other work off this machine", advice)});
  };
  warn(out_of_time, "the time was used up while the interval was", "give more time with --budget");
  warn(differing, "launches differ, so that the interval is",
       "ask for more launches with --launches");
  if (!without_interval.empty()) {
    add_once(
        record.warnings,
        {name_of(WarningCode::one_launch),
         fmt::format("one launch has no confidence interval: {}", first_named(without_interval)),
         fmt::format("{}: what differs from launch to launch, as the placement of buffers, cannot "
                     "be seen in one",
                     record.settings.launches > 1 ? "give more time with --budget"
                                                  : "ask for six launches with --launches 6")});
  }
}

void judge_level_shifts(Record& record) {
  std::vector<std::string> shifts;
  for (const CaseResult& result : record.cases) {
    for (const VariantResult& variant : result.variants) {
      if (!variant.level_shift) continue;
      shifts.push_back(fmt::format("{} with {} (x{:.3g} in launch {})",
                                   spoken_case(record, result.definition), variant.variant,
                                   variant.level_shift->ratio, variant.level_shift->launch + 1));
    }
  }
  if (shifts.empty()) return;
  add_once(record.warnings,
           {name_of(WarningCode::level_change),
            "within a launch times changed level: " + first_named(shifts),
            "something else began or ended meanwhile, or clocks changed: keep other work "
            "off this machine and run again"});
}

/// Tells whether nothing but the budget, and what was asked for, ended the run.
bool was_carried_out(const Record& record) {
  return record.status == RunStatus::complete || record.status == RunStatus::incomplete;
}

void judge_budget(Record& record) {
  if (!record.settings.budget || !was_carried_out(record)) return;
  // A case that launches enough brought to its width did not need the rest.
  const auto was_cut = [](const CaseResult& result) {
    return result.stopped == StopReason::out_of_time;
  };
  if (std::ranges::none_of(record.cases, was_cut)) return;
  const auto unmeasured = std::ranges::count_if(record.cases, [&](const CaseResult& result) {
    return was_cut(result) &&
           std::ranges::none_of(result.variants, [](const VariantResult& variant) {
             return variant.time.has_value();
           });
  });
  const bool is_program = record.settings.program.has_value();
  const auto begun = is_program ? std::ranges::count(record.runs, false, &ProgramRun::warm_up)
                                : count_launches(record);
  const std::ptrdiff_t asked =
      record.settings.launches * (is_program ? std::ssize(record.settings.variants) : 1);
  std::vector<std::string> lacks;
  if (unmeasured > 0 && !is_program) {
    lacks.push_back(
        fmt::format("{} of {} cases were not measured", unmeasured, record.cases.size()));
  }
  if (begun < asked) {
    const std::string_view what = is_program ? "runs" : "launches";
    lacks.push_back(fmt::format("{} of {} {} were begun", begun, asked, what));
  }
  if (lacks.empty()) return;
  add_once(record.warnings,
           warning_of(WarningCode::budget_used_up,
                      fmt::format("the budget of {} was used up: {}",
                                  readable_time(*record.settings.budget), fmt::join(lacks, ", "))));
}

/// Says "variant p2p", "variants a, b", "all variants".
std::string named_variants(const std::vector<std::string>& names, std::size_t all) {
  if (names.size() == 1) return "variant " + names.front();
  return names.size() == all ? "all variants" : fmt::format("variants {}", fmt::join(names, ", "));
}

}  // namespace

void warn_of_inherited(Record& record) {
  const std::vector<Variant>& variants = record.settings.variants;
  // By assignment, and by whether it closes the path that the run is about.
  std::map<std::pair<bool, std::string>, std::vector<std::string>> holding;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string forbidding = forbidden_by_caller(record, i);
    for (const std::string& assignment : inherited_switches(record, i)) {
      // The warning p2p-forbidden says so of a program.
      if (record.settings.program && assignment == forbidding) continue;
      const bool closes = offers_nvlink(record.machine) && assignment == forbidding;
      holding[{!closes, assignment}].push_back(variants[i].name);
    }
  }
  for (const auto& [key, names] : holding) {
    const bool closes = !key.first;
    add_once(record.warnings,
             {name_of(WarningCode::inherited_variable),
              fmt::format("{} was already set and holds for {}{}", key.second,
                          named_variants(names, variants.size()),
                          closes ? ": it keeps messages off the NVLink that joins every pair" : ""),
              closes ? "unset it, also in NCCL_CONF_FILE, ~/.nccl.conf and /etc/nccl.conf, and run "
                       "again"
                     : "unset it unless it is meant: it changes what the variants compare"});
  }
}

namespace {

/// Says where to look for what bent data.
std::string_view memory_advice(const Record& record) {
  return record.settings.backend == BackendKind::mpi
             ? "then check the host's memory (errors in `dmesg`)"
             : "then check the GPUs' memory (nvidia-smi -q -d ECC) and NCCL's release notes for "
               "corruption bugs";
}

/// Tells whether it is a step without communication, which others are compared with.
bool is_yardstick(const CaseResult& result) {
  return result.definition.training && !uses_link(result.definition);
}

bool was_measured(const CaseResult& result) {
  return std::ranges::any_of(result.variants,
                             [](const VariantResult& variant) { return variant.time.has_value(); });
}

/// Says ": " and the first reason that is known of these cases, with its case; empty where none is.
template <typename Concerns>
std::string why_not(const Record& record, Concerns concerns) {
  for (const CaseResult& result : record.cases) {
    if (was_measured(result) || !concerns(result)) continue;
    for (const VariantResult& variant : result.variants) {
      if (!variant.skipped) continue;
      return fmt::format(": {}: {}", spoken_case(record, result.definition), why_skipped(variant));
    }
  }
  return {};
}

bool nothing_was_measured(const Record& record) {
  const bool all_are_yardsticks = std::ranges::all_of(record.cases, is_yardstick);
  return std::ranges::none_of(record.cases, [&](const CaseResult& result) {
    return (all_are_yardsticks || !is_yardstick(result)) && was_measured(result);
  });
}

/// Samples that one rank's GPU spent throttled in one way, and how.
struct ThrottledRank {
  std::size_t rank = 0;
  int samples = 0;
  std::set<ClockEvent> events;
};

bool is_power_cap(ClockEvent event) { return event == ClockEvent::power_cap; }

/// Counts by rank the events that `counts` says to count.
template <typename Counts>
std::vector<ThrottledRank> throttled_ranks(const Record& record, Counts counts) {
  std::vector<ThrottledRank> ranks;
  const auto count = [&](const Sample& sample) {
    for (std::size_t rank = 0; rank < sample.health.size(); ++rank) {
      while (ranks.size() <= rank) ranks.push_back({.rank = ranks.size(), .samples = 0, .events{}});
      bool held = false;
      for (const ClockEvent event :
           clock_events(sample.health[rank].clock_event_reasons.value_or(0)))
        if (counts(event)) {
          held = true;
          ranks[rank].events.insert(event);
        }
      ranks[rank].samples += held ? 1 : 0;
    }
  };
  for (const CaseResult& result : record.cases) {
    std::ranges::for_each(result.samples, count);
  }
  std::erase_if(ranks, [](const ThrottledRank& rank) { return rank.samples == 0; });
  return ranks;
}

/// Says "rank 1 (GPU 1 of node1)".
std::string describe_rank(const Machine& machine, std::size_t rank) {
  if (rank >= machine.ranks.size() || !machine.ranks[rank].gpu) return fmt::format("rank {}", rank);
  const RankInfo& info = machine.ranks[rank];
  return fmt::format("rank {} (GPU {} of {})", rank, info.gpu->cuda_index, info.host);
}

std::string describe_throttled(const Machine& machine, const std::vector<ThrottledRank>& ranks) {
  std::vector<std::string> parts;
  for (const ThrottledRank& rank : ranks) {
    std::vector<std::string_view> events;
    for (const ClockEvent event : rank.events) events.push_back(name_of(event));
    parts.push_back(fmt::format("{} in {} by {}", describe_rank(machine, rank.rank), rank.samples,
                                fmt::join(events, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// Says what to do about the events of all ranks together. Heat and power brake set the bit of the
/// hardware slowdown too, so that it has advice of its own only where it stands alone.
std::string advice_for(const std::vector<ThrottledRank>& ranks) {
  std::set<ClockEvent> events;
  for (const ThrottledRank& rank : ranks) events.insert(rank.events.begin(), rank.events.end());
  std::vector<std::string_view> advice;
  if (events.contains(ClockEvent::sw_thermal) || events.contains(ClockEvent::hw_thermal)) {
    advice.push_back(
        "heat: look at fans, airflow and the room (nvidia-smi -q -d TEMPERATURE), and let "
        "the GPUs cool down before the next run");
  }
  if (events.contains(ClockEvent::power_brake)) {
    advice.push_back(
        "power brake: give every 8-pin socket a cable of its own and check that the power supply "
        "is large enough");
  }
  if (advice.empty()) {
    advice.push_back(
        "hardware slowdown: look at nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE and at "
        "the power cables");
  }
  return fmt::format("{}", fmt::join(advice, "; "));
}

/// Tells whether a sample has the clock events of every rank that gave a time.
bool is_measured(const Sample& sample) {
  for (std::size_t rank = 0; rank < sample.times.size(); ++rank) {
    const bool told = rank < sample.health.size() && sample.health[rank].clock_event_reasons;
    if (sample.times[rank] && !told) return false;
  }
  return !sample.times.empty();
}

HealthSummary summary_of(const Record& record) {
  HealthSummary summary;
  for (const CaseResult& result : record.cases) {
    for (const Sample& sample : result.samples) add_sample(summary, sample.health);
  }
  return summary;
}

/// Says the same of others' work on the GPUs. Of a run on several hosts only this one's are looked
/// at, which is said and stands against nobody's health.
void warn_of_neighbours_not_looked_for(Record& record) {
  if (!record.neighbours || record.neighbours->not_looked.empty()) return;
  const Neighbours& found = *record.neighbours;
  const bool unmet = found.looks + found.idle_windows == 0 || on_one_host(record.machine);
  add_once(record.warnings,
           {name_of(unmet ? WarningCode::neighbours_not_looked_for
                          : WarningCode::other_hosts_not_looked_at),
            fmt::format(
                "--require-healthy {} of others' work on the GPUs: {}",
                unmet ? "cannot be met, for nothing is known" : "is met without knowledge of all",
                found.not_looked),
            unmet ? "`linkgain doctor` says what of NVML can be read on this machine; "
                    "without it omit --require-healthy"
                  : advice_of(WarningCode::other_hosts_not_looked_at)});
}

/// Says what keeps a run from being shown to be healthy.
void warn_of_unmeasured(Record& record) {
  const int samples = count_samples(record);
  std::ptrdiff_t unknown = 0;
  for (const CaseResult& result : record.cases) {
    unknown += std::ranges::count_if(result.samples,
                                     [](const Sample& sample) { return !is_measured(sample); });
  }
  warn_of_neighbours_not_looked_for(record);
  if (unknown == 0 && samples > 0) return;
  const std::string what =
      samples == 0
          ? std::string("no sample was taken")
          : fmt::format("clock events were not measured in {} of {} samples", unknown, samples);
  add_once(record.warnings, warning_of(WarningCode::health_not_measured,
                                       "--require-healthy cannot be met: " + what));
}

void judge_data(Record& record) {
  for (const CaseResult& result : record.cases) {
    for (const VariantResult& variant : result.variants) {
      if (!has_wrong_data(variant)) continue;
      add_once(
          record.warnings,
          {name_of(WarningCode::wrong_data),
           fmt::format("{} with {}: {}", spoken_case(record, result.definition), variant.variant,
                       describe_wrong(result.definition, *variant.verification)),
           fmt::format("do not trust results of this machine; run again, {}",
                       memory_advice(record))});
    }
  }
}

/// Tells whether a run that was not cut short has times of which nobody knows whether their data
/// are right.
bool judge_unverified(Record& record) {
  if (!was_carried_out(record)) return false;
  std::vector<std::string> unverified;
  for (const CaseResult& result : record.cases) {
    for (std::size_t i = 0; i < result.variants.size(); ++i) {
      const VariantResult& variant = result.variants[i];
      const bool is_marked = std::ranges::any_of(result.samples, [i](const Sample& sample) {
        return sample.unverified && static_cast<std::size_t>(sample.variant) == i;
      });
      if (!is_marked && (!variant.time || variant.verification)) continue;
      unverified.push_back(
          fmt::format("{} with {}", spoken_case(record, result.definition), variant.variant));
    }
  }
  if (unverified.empty()) return false;
  add_once(record.warnings, warning_of(WarningCode::not_verified,
                                       fmt::format("data were not checked in every launch: {}",
                                                   first_named(unverified))));
  return true;
}

/// Tells whether nothing was measured of what was asked for, or of one of the operations that were
/// named, in a run that was not cut short. Of the first the step without communication counts only
/// where it was all that was asked for.
bool judge_absence(Record& record, const std::vector<OperationKind>& named) {
  if (!was_carried_out(record) || record.cases.empty()) return false;
  if (nothing_was_measured(record)) {
    add_once(record.warnings,
             warning_of(WarningCode::nothing_measured,
                        fmt::format("nothing was measured of what was asked for{}",
                                    why_not(record, [](const CaseResult&) { return true; }))));
    return true;
  }
  bool absent = false;
  for (const OperationKind operation : named) {
    const auto is_of_it = [operation](const CaseResult& result) {
      return result.definition.operation == operation;
    };
    if (std::ranges::none_of(record.cases, is_of_it)) continue;
    if (std::ranges::any_of(record.cases, [&](const CaseResult& result) {
          return is_of_it(result) && was_measured(result);
        })) {
      continue;
    }
    absent = true;
    add_once(record.warnings,
             warning_of(WarningCode::operation_not_measured,
                        fmt::format("{} was named with --only and not measured{}",
                                    name_of(operation), why_not(record, is_of_it))));
  }
  return absent;
}

/// Warns of trainings whose losses differ between variants by more than rounding explains. That is
/// no proof of wrong data, for a variant may compute otherwise, and decides nothing.
void judge_losses(Record& record) {
  for (const CaseResult& result : record.cases) {
    if (!may_stand_for_run(result.definition)) continue;
    const double bound = loss_bound(*result.definition.training, result.definition.ranks);
    for (std::size_t i = 1; i < result.variants.size(); ++i) {
      const std::optional<double> difference = judged_loss_difference(result, i);
      if (!difference || *difference <= bound) continue;
      add_once(record.warnings,
               {name_of(WarningCode::losses_differ),
                fmt::format("{}: the loss with {} is off from that with {} by {:.1e} of it within "
                            "{} steps, rounding explains {:.1e}",
                            spoken_case(record, result.definition), result.variants[i].variant,
                            result.variants[0].variant, *difference, kJudgedSteps, bound),
                fmt::format("both trained alike on the same tokens: unless a variant changes the "
                            "arithmetic (as NVIDIA_TF32_OVERRIDE does), one of the two had wrong "
                            "data; run again, {}",
                            memory_advice(record))});
    }
  }
}

/// Warns where a counter of errors grew.
void warn_of_link_errors(Record& record) {
  const std::vector<std::string> grown = grown_texts(record.link_errors);
  if (grown.empty()) return;
  add_once(record.warnings,
           {name_of(WarningCode::link_errors),
            fmt::format("errors were counted during the run: {}", first_named(grown)),
            kLinkErrorsAdvice});
}

/// Warns of what counts as unhealthy: some sample's GPU was throttled or did not tell, a link had
/// errors, or a soak's times drifted.
void judge_health(Record& record) {
  warn_of_link_errors(record);
  judge_soak(record);
  const HealthSummary summary = summary_of(record);
  if (summary.unhealthy_samples > 0) {
    const auto ranks =
        throttled_ranks(record, [](ClockEvent event) { return !is_power_cap(event); });
    add_once(record.warnings,
             {name_of(WarningCode::unhealthy_samples),
              fmt::format("in {} of {} samples a GPU was throttled: {}", summary.unhealthy_samples,
                          summary.samples, describe_throttled(record.machine, ranks)),
              advice_for(ranks)});
  }
  if (summary.power_capped_samples > 0) {
    const auto ranks = throttled_ranks(record, is_power_cap);
    add_once(record.warnings,
             warning_of(WarningCode::power_capped,
                        fmt::format("in {} of {} samples a GPU ran at its power limit: {}",
                                    summary.power_capped_samples, summary.samples,
                                    describe_throttled(record.machine, ranks))));
  }
  if (record.settings.require_healthy) warn_of_unmeasured(record);
}

void judge_run(Record& record, const std::vector<OperationKind>& named) {
  judge_data(record);
  judge_losses(record);
  judge_paths(record);
  judge_evidence(record);
  judge_same_paths(record);
  judge_convergence(record);
  judge_level_shifts(record);
  judge_budget(record);
  judge_health(record);
  const bool is_unverified = judge_unverified(record);
  if (judge_absence(record, named) || is_unverified) record.status = RunStatus::incomplete;
}

/// Judges runs of a program. Those that failed, or gave no number, have said so.
void judge_runs(Record& record) {
  judge_program(record);
  judge_budget(record);
  warn_of_link_errors(record);
  const bool nothing = std::ranges::all_of(
      record.cases, [](const CaseResult& result) { return result.samples.empty(); });
  if (was_carried_out(record) && (nothing || has_warning(record, ExitCode::incomplete))) {
    record.status = RunStatus::incomplete;
  }
}

}  // namespace

ExitCode judge(Record& record, const std::vector<OperationKind>& named) {
  drop_derived(record);
  summarise(record);
  note_exposed_communication(record);
  warn_of_inherited(record);
  if (record.settings.program) {
    judge_runs(record);
  } else {
    judge_run(record, named);
  }
  const ExitCode code = exit_code_of(record);
  const bool by_signal =
      record.status == RunStatus::interrupted && record.exit_code > kSignalExitBase;
  if (!by_signal) record.exit_code = static_cast<int>(code);
  return code;
}

}  // namespace linkgain
