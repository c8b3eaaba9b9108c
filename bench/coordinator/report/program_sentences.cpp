#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/program_metric.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/tables/number_format.hpp"
#include "sentences.hpp"

namespace linkgain {
namespace {

/// Finds the metric where `beside` stands on the axis.
const CaseSummary* find_metric(const RunSummary& summary, std::string_view name,
                               const CaseSummary& beside) {
  const auto found = std::ranges::find_if(summary.cases, [&](const CaseSummary& each) {
    return each.definition().metric->name == name &&
           each.definition().metric->at == beside.definition().metric->at;
  });
  return found == summary.cases.end() ? nullptr : &*found;
}

/// Explains why the wall time shows less than half of a change in what the program reports, or
/// another one: "The time is that of the whole run, start-up included (8.00 s of 50.00 s); tokens
/// is what the program reports." Empty where it does not.
std::string hidden_change(const RunSummary& summary, const Answer& answer) {
  const CaseSummary* const time = find_metric(summary, ProgramMetric::kTime, *answer.main());
  const auto is_hidden = [time](const AnswerRow& row) {
    if (time == nullptr || row.of->definition().metric->name == ProgramMetric::kTime ||
        row.of->definition().metric->at != time->definition().metric->at ||
        !is_change(row.comparison()->verdict)) {
      return false;
    }
    const Comparison* const whole = AnswerRow{time, row.other}.comparison();
    return whole != nullptr && whole->has_speed_up() &&
           (whole->verdict != row.comparison()->verdict ||
            2.0 * std::abs(std::log(whole->ratio->value)) <
                std::abs(std::log(row.comparison()->ratio->value)));
  };
  const auto row = std::ranges::find_if(answer.spoken, is_hidden);
  if (row == answer.spoken.end()) return {};
  const std::string own = fmt::format(
      "{} is {}", row->of->definition().metric->name,
      is_timed(*row->of->definition().metric) ? "a part of it" : "what the program reports");
  if (!summary.record.settings.program->server.empty()) {
    return fmt::format("The time is that of the client's whole run; {}.", own);
  }
  const CaseSummary* const start_up = find_metric(summary, ProgramMetric::kStartUp, *time);
  std::string share;
  if (start_up != nullptr && start_up->is_compared) {
    const auto shown = [](const CaseSummary& each) {
      return readable_time(*each.variants.front().result->time);
    };
    share = fmt::format(" ({} of {})", shown(*start_up), shown(*time));
  }
  return fmt::format("The time is that of the whole run, start-up included{}; {}.", share, own);
}

/// Says "The run was cut short, after 4 runs with host and 3 with p2p." where it was, "The budget
/// was used up after 4 runs with host and 3 with p2p." where that ended it; else empty.
std::string cut_sentence(const RunSummary& summary) {
  const Record& record = summary.record;
  const bool was_cut = record.status != RunStatus::complete &&
                       std::ranges::all_of(record.cases, [](const CaseResult& each) {
                         return each.stopped == StopReason::interrupted;
                       });
  const bool by_budget = ending_of(record) == kEndedByBudget;
  if (!was_cut && !by_budget) return {};
  std::vector<std::string> parts;
  for (const Variant& variant : record.settings.variants) {
    const auto runs = std::ranges::count_if(record.runs, [&](const ProgramRun& run) {
      return run.variant == variant.name && !run.warm_up;
    });
    parts.push_back(fmt::format("{} with {}",
                                parts.empty() ? counted(runs, "run", "runs") : fmt::to_string(runs),
                                variant.name));
  }
  return fmt::format("{} {}.",
                     by_budget ? "The budget was used up after" : "The run was cut short, after",
                     fmt::join(parts, " and "));
}

/// Cases next to each other on the axis that differ alike: in no way that is shown, or in this one.
struct Stretch {
  Verdict verdict = Verdict::same;
  const CaseSummary* first = nullptr;
  const CaseSummary* last = nullptr;
};

std::vector<Stretch> stretches_of(const std::vector<const CaseSummary*>& along, std::size_t other) {
  std::vector<Stretch> stretches;
  for (const CaseSummary* each : along) {
    const Comparison& own = each->comparisons[other - 1];
    if (!own.has_speed_up()) continue;
    const Verdict verdict = is_change(own.verdict) ? own.verdict : Verdict::same;
    if (stretches.empty() || stretches.back().verdict != verdict) {
      stretches.push_back({verdict, each});
    }
    stretches.back().last = each;
  }
  return stretches;
}

/// Says where along the axis, of so many values, a difference turns, begins or ends to be shown;
/// empty where it is the same all along.
std::string turns_text(const std::vector<Stretch>& all, std::size_t values) {
  std::string text;
  const auto at = [](const CaseSummary* each) { return each->definition().metric->at; };
  const auto is_of_change = [](const Stretch& each) { return each.verdict != Verdict::same; };
  const auto lone = std::ranges::find_if(all, is_of_change);
  if (values > 2 && std::ranges::count_if(all, is_of_change) == 1 && lone->first == lone->last) {
    return fmt::format(" A difference is shown at {} alone, one of {} values.", at(lone->first),
                       values);
  }
  const Stretch* decided = nullptr;
  for (const Stretch& each : all) {
    const bool is_change = each.verdict != Verdict::same;
    if (is_change && decided != nullptr && decided->verdict != each.verdict) {
      text += fmt::format(" The speed-up crosses 1x between {} and {}.", at(decided->last),
                          at(each.first));
    } else if (is_change && decided == nullptr && &each != all.data()) {
      text += fmt::format(" A difference is shown from {} on.", at(each.first));
    } else if (!is_change && decided != nullptr && &each == &all.back()) {
      text += fmt::format(" No difference is shown from {} on.", at(each.first));
    }
    if (is_change) decided = &each;
  }
  return text;
}

/// Says " Only p2p ran at LOAD=64, LOAD=128: every run with host failed." of cases without a
/// speed-up; empty where all have one.
std::string lacks_text(const std::vector<const CaseSummary*>& along, std::size_t other) {
  std::vector<std::pair<Lack, std::vector<std::string>>> lacks;
  for (const CaseSummary* each : along) {
    const Comparison& own = each->comparisons[other - 1];
    if (own.has_speed_up()) continue;
    const Lack lack = lacking_speed_up(*each, own);
    if (lacks.empty() || lacks.back().first != lack) lacks.emplace_back(lack, 0);
    lacks.back().second.push_back(each->definition().metric->at);
  }
  std::string text;
  for (const auto& [lack, places] : lacks) {
    text += fmt::format(" {} at {}: {}.", lack.what, first_named(places), lack.why);
  }
  return text;
}

/// Says "Speed-up by LOAD: 0.80x at 1, 1.01x at 8 (no difference shown), 1.30x at 64. The speed-up
/// crosses 1x between LOAD=1 and LOAD=64." of a variant beside the first; empty without an axis.
std::string axis_sentence(const std::vector<const CaseSummary*>& along, std::size_t other) {
  constexpr std::size_t kMostNamed = 8;
  if (along.size() < 2) return {};
  std::vector<std::string> parts;
  bool is_ordered = true;
  for (const CaseSummary* each : along) {
    const ProgramMetric& metric = *each->definition().metric;
    const Comparison& own = each->comparisons[other - 1];
    is_ordered = is_ordered && number_on_axis(metric);
    if (!own.has_speed_up()) continue;
    parts.push_back(fmt::format("{} at {}{}", readable_ratio(*own.ratio).estimate,
                                value_on_axis(metric),
                                is_change(own.verdict) ? "" : " (no difference shown)"));
  }
  if (parts.empty()) return {};  // the sentence before this one says why
  const std::string beside =
      along.front()->arms() == 2
          ? ""
          : fmt::format(" beside {}", along.front()->comparisons[other - 1].other->variant);
  const std::string named = parts.size() > kMostNamed
                                ? fmt::format("{} to {}", parts.front(), parts.back())
                                : fmt::format("{}", fmt::join(parts, ", "));
  return fmt::format("Speed-up{} by {}: {}.{}{}", beside,
                     axis_of(*along.front()->definition().metric), named, lacks_text(along, other),
                     is_ordered ? turns_text(stretches_of(along, other), parts.size()) : "");
}

/// Adds what a control of the run shows.
void add_control(const RunSummary& summary, const CaseSummary& main,
                 std::vector<std::string>& sentences) {
  for (std::size_t i = 1; i < main.variants.size(); ++i) {
    if (!main.variants[i].is_control) continue;
    sentences.push_back(control_sentence(summary.along_axis(*main.definition().metric), i));
  }
}

}  // namespace

std::vector<std::string> program_sentences(const RunSummary& summary, const Answer& answer) {
  std::vector<std::string> sentences{cut_sentence(summary)};
  if (answer.comparison() == nullptr) {
    sentences.emplace_back(answer.main() != nullptr      ? "No comparison: one variant ran."
                           : summary.record.runs.empty() ? "No comparison: no run had ended."
                                                         : "No comparison: there is no valid run.");
    if (answer.main() != nullptr) add_control(summary, *answer.main(), sentences);
    return sentences;
  }
  for (const WarningCode code : {WarningCode::p2p_forbidden, WarningCode::same_path,
                                 WarningCode::exec_container, WarningCode::exec_no_change}) {
    for (const Warning& warning : summary.record.warnings) {
      if (is(warning, code)) sentences.push_back(warning.text + ".");
    }
  }
  const ProgramMetric& metric = *answer.main()->definition().metric;
  const std::vector<const CaseSummary*> along = summary.along_axis(metric);
  for (const AnswerRow& each : answer.spoken) {
    sentences.push_back(outcome_sentence(*each.of, *each.comparison()).plain());
    if (each.of->definition().metric->name == metric.name) {
      sentences.push_back(axis_sentence(along, each.other));
    }
  }
  sentences.push_back(hidden_change(summary, answer));
  add_control(summary, *answer.main(), sentences);
  return sentences;
}

}  // namespace linkgain
