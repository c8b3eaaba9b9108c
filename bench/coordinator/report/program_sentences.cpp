#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/program_metric.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/tables/number_format.hpp"
#include "sentences.hpp"

namespace linkgain {
namespace {

const CaseSummary* find_metric(const RunSummary& summary, std::string_view name) {
  const auto found = std::ranges::find_if(summary.cases, [&](const CaseSummary& each) {
    return each.definition().metric->name == name;
  });
  return found == summary.cases.end() ? nullptr : &*found;
}

/// Explains why the wall time shows less than half of a change in what the program reports, or
/// another one: "The time is that of the whole run, start-up included (8.00 s of 50.00 s); tokens
/// is what the program reports." Empty where it does not.
std::string hidden_change(const RunSummary& summary, const Answer& answer) {
  const CaseSummary* const time = find_metric(summary, ProgramMetric::kTime);
  const auto is_hidden = [time](const AnswerRow& row) {
    if (row.of == time || !is_change(row.comparison()->verdict)) return false;
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
  const CaseSummary* const start_up = find_metric(summary, ProgramMetric::kStartUp);
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

}  // namespace

std::vector<std::string> program_sentences(const RunSummary& summary, const Answer& answer) {
  std::vector<std::string> sentences{cut_sentence(summary)};
  if (answer.comparison() == nullptr) {
    sentences.emplace_back(answer.main() != nullptr      ? "No comparison: one variant ran."
                           : summary.record.runs.empty() ? "No comparison: no run had ended."
                                                         : "No comparison: there is no valid run.");
    return sentences;
  }
  for (const WarningCode code :
       {WarningCode::p2p_forbidden, WarningCode::same_path, WarningCode::exec_container}) {
    for (const Warning& warning : summary.record.warnings) {
      if (is(warning, code)) sentences.push_back(warning.text + ".");
    }
  }
  for (const AnswerRow& each : answer.spoken) {
    sentences.push_back(outcome_sentence(*each.of, *each.comparison()).plain());
  }
  sentences.push_back(hidden_change(summary, answer));
  return sentences;
}

}  // namespace linkgain
