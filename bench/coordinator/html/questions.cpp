#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/summary/judgement_text.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/telemetry/program_traffic.hpp"
#include "run_pictures.hpp"
#include "which_sizes.hpp"

namespace linkgain {
namespace {

/// What a reader asks: the first screen answers it in a line, `more` says what the line rests on.
struct Asked {
  std::string_view id;
  std::string_view title;
  Text verdict;
  Document more{};
  std::string_view section{};  ///< that says the rest where `more` is empty; empty: there is none
};

Text verdict_of(std::string_view word, Tone tone, const std::string& rest) {
  return Text(Text::Run{std::string(word), Text::Form::strong, tone}) + rest;
}

Document with_items(const std::vector<std::string>& items) {
  Document document;
  for (const std::string& item : items) document.item(item);
  return document;
}

struct Evidence {
  std::int64_t judged = 0;  ///< results whose path the links' counters tell
  std::int64_t disagree = 0;
};

Evidence evidence_of(const RunSummary& summary) {
  Evidence evidence;
  for (const CaseSummary& each : summary.cases) {
    for (const VariantSummary& variant : each.variants) {
      if (!variant.nvlink_share) continue;
      ++evidence.judged;
      const bool carried = *variant.nvlink_share > kAllNvlink;
      if (carried != (variant.result->path == Path::nvlink)) ++evidence.disagree;
    }
  }
  return evidence;
}

std::int64_t count_results(const RunSummary& summary) {
  std::int64_t results = 0;
  for (const CaseSummary& each : summary.cases) {
    results += std::ranges::count_if(each.variants, [](const VariantSummary& variant) {
      return variant.result->time.has_value();
    });
  }
  return results;
}

/// Something that takes from what a run says.
struct Fault {
  WarningWeight weight;
  double share;  ///< of the samples, cases or results: how much of the run it is in
  std::string text;
  WarningCode code = WarningCode::unknown;  ///< of the warning that says it, too
};

double share_of(std::int64_t part, std::int64_t all) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(1, all));
}

/// Says "1 of 54 results changed level within a launch, by 3.3 %". That is doubtful where a row of
/// the answer shows one of them, its curve one that changed by much, or where they are many.
void add_level_changes(const RunSummary& summary, const Answer& answer,
                       std::vector<Fault>& faults) {
  constexpr double kFew = 0.05;
  constexpr double kMuch = 0.1;
  const AnswerRow sized = row_of_sizes(summary, answer);
  const Curve* const curve = sized.of == nullptr ? nullptr : summary.curve_with(sized.of);
  std::int64_t changed = 0;
  double most = 0.0;
  double most_of_curve = 0.0;
  bool is_in_row = false;
  for (const CaseSummary& each : summary.cases) {
    for (const VariantSummary& variant : each.variants) {
      const std::optional<LevelShift>& shift = variant.result->level_shift;
      if (!shift) continue;
      ++changed;
      const double change = std::abs(shift->ratio - 1.0);
      most = std::max(most, change);
      if (curve != nullptr && std::ranges::count(curve->cases, &each) > 0) {
        most_of_curve = std::max(most_of_curve, change);
      }
      is_in_row = is_in_row || std::ranges::count(answer.rows, &each, &AnswerRow::of) > 0 ||
                  std::ranges::count(answer.headroom, &each) > 0;
    }
  }
  if (changed == 0) return;
  const std::int64_t results = count_results(summary);
  const double share = share_of(changed, results);
  const bool is_doubtful = is_in_row || most_of_curve > kMuch || share > kFew;
  const std::string_view where = is_in_row             ? ""
                                 : most_of_curve > 0.0 ? ", not in the table, but in its curve"
                                                       : ", none in the answer";
  faults.push_back({is_doubtful ? WarningWeight::doubtful : WarningWeight::notice, share,
                    fmt::format("{} of {} changed level within a launch, by {}{}{}", changed,
                                counted(results, "result", "results"), changed == 1 ? "" : "up to ",
                                readable_percent(most, Whole::no), where),
                    WarningCode::level_change});
}

void add_health_faults(const HealthSummary& health, std::vector<Fault>& faults) {
  if (health.unhealthy_samples > 0) {
    faults.push_back({WarningWeight::doubtful, share_of(health.unhealthy_samples, health.samples),
                      throttling_text(health), WarningCode::unhealthy_samples});
  }
  if (health.power_capped_samples > 0) {
    const double share = share_of(health.power_capped_samples, health.samples);
    faults.push_back(
        {WarningWeight::notice, share,
         fmt::format("a GPU was at its power limit in {} of {} samples ({}), as heavy work brings "
                     "about",
                     health.power_capped_samples, health.samples, readable_percent(share)),
         WarningCode::power_capped});
  }
}

/// Lists what the results themselves show and what warnings say, the heaviest first; of what is
/// neither wrong nor missing first what results show, by how much of the run it is in.
std::vector<Fault> faults_of(const RunSummary& summary, const Answer& answer) {
  const Record& record = summary.record;
  std::vector<Fault> faults;
  const auto wrong_cases = std::ranges::count_if(summary.cases, &CaseSummary::has_wrong_data);
  const std::int64_t cases = std::ssize(summary.cases);
  if (wrong_cases > 0) {
    faults.push_back(
        {WarningWeight::wrong, share_of(wrong_cases, cases),
         fmt::format("WRONG DATA in {} of {}", wrong_cases, counted(cases, "case", "cases")),
         WarningCode::wrong_data});
  }
  if (const auto [judged, disagree] = evidence_of(summary); disagree > 0) {
    faults.push_back({WarningWeight::wrong, share_of(disagree, judged),
                      fmt::format("NVLink's counters disagree with the path of {} of {}", disagree,
                                  counted(judged, "result", "results"))});
  }
  const auto says_what_is_missing = [](const Warning& warning) {
    return row_of(warning).weight == WarningWeight::incomplete;
  };
  const bool is_told_by_warnings = record.status == RunStatus::incomplete &&
                                   std::ranges::any_of(record.warnings, says_what_is_missing);
  if (record.status != RunStatus::complete && !is_told_by_warnings) {
    faults.push_back({WarningWeight::incomplete, 1.0,
                      fmt::format("the status of the run is {}", ending_of(record))});
  }
  if (summary.health) add_health_faults(*summary.health, faults);
  add_level_changes(summary, answer, faults);
  for (const Warning& warning : record.warnings) {
    const WarningRow& row = row_of(warning);
    const bool is_told =
        row.code != WarningCode::unknown && std::ranges::count(faults, row.code, &Fault::code) > 0;
    if (row.weight == WarningWeight::notice || is_told) continue;
    faults.push_back({row.weight, 0.0, warning.text});
  }
  std::ranges::stable_sort(faults, {}, [](const Fault& each) {
    return std::pair(each.weight, each.weight < WarningWeight::doubtful ? 0.0 : -each.share);
  });
  return faults;
}

/// Gives what weighs most; WarningWeight::notice where nothing takes anything.
WarningWeight heaviest(const std::vector<Fault>& faults) {
  return faults.empty() ? WarningWeight::notice : faults.front().weight;
}

Text whether_wrong(const RunSummary& summary, const std::vector<Fault>& faults) {
  if (faults.empty()) {
    return verdict_of("No:", Tone::good,
                      summary.is_of_program()
                          ? " no run is missing, no GPU was seen throttled or used by others."
                          : " nothing is missing, no data are wrong, no GPU was seen throttled.");
  }
  const std::string rest = fmt::format(" {}.", faults.front().text);
  switch (faults.front().weight) {
    case WarningWeight::wrong:
    case WarningWeight::incomplete:
      return verdict_of("Yes:", Tone::bad, rest);
    case WarningWeight::doubtful:
      return verdict_of("Perhaps:", Tone::doubtful, rest);
    case WarningWeight::notice:
      break;
  }
  return verdict_of("Nothing serious:", Tone::good, rest);
}

/// Leads to the warnings, and says what they are where nothing is wrong.
std::string warnings_html(const RunSummary& summary, const std::vector<Fault>& faults) {
  const std::vector<Warning>& warnings = summary.record.warnings;
  const std::string link = fmt::format("<a href=\"#warnings\">{}</a>",
                                       counted(std::ssize(warnings), "warning", "warnings"));
  if (!faults.empty()) return fmt::format("<p>Read the {}.</p>\n", link);
  return fmt::format("<p>The {} {} no fault.</p>\n", link, warnings.size() == 1 ? "names" : "name");
}

/// Lists several faults; one alone is in the verdict, which leads to the warnings.
Asked fault_question(const RunSummary& summary, const std::vector<Fault>& faults) {
  constexpr std::size_t kMostShown = 4;
  Asked asked{"wrong", "Is anything wrong?", whether_wrong(summary, faults)};
  if (faults.size() > 1) {
    for (const Fault& fault : std::span(faults).first(std::min(faults.size(), kMostShown))) {
      asked.more.item(fault.text + ".");
    }
  }
  if (summary.record.warnings.empty()) return asked;
  asked.section = "warnings";
  if (faults.size() != 1) asked.more.figure(warnings_html(summary, faults));
  return asked;
}

/// Says how much of the output was checked.
std::string checked_text(const RunSummary& summary) {
  if (summary.is_of_program()) return "Data: linkgain does not check what the command computes.";
  const std::int64_t results = count_results(summary);
  std::int64_t checked = 0;
  std::int64_t wrong = 0;
  for (const CaseSummary& each : summary.cases) {
    for (const VariantSummary& variant : each.variants) {
      if (!variant.result->time) continue;
      checked += variant.result->verification.has_value() ? 1 : 0;
      wrong += variant.wrong_data ? 1 : 0;
    }
  }
  return fmt::format("Data: every element of {} of {} was checked; {} wrong.", checked,
                     counted(results, "result", "results"),
                     wrong == 0 ? "none" : fmt::to_string(wrong));
}

/// Names what is repeated: a run's "launch", a program's "run".
std::string_view replicate(const RunSummary& summary) {
  return summary.is_of_program() ? "run" : "launch";
}

/// How wide the intervals of the answer came out, as half widths, a share of the ratio.
struct Widths {
  std::optional<Interval> came_out{};  ///< the least and the most
  bool is_more_than_default = false;   ///< what was asked for, of some row
};

Widths widths_of(const RunSummary& summary, const Answer& answer) {
  Widths widths;
  const Settings& settings = summary.record.settings;
  for (const AnswerRow& row : answer.rows) {
    const Case& definition = row.of->definition();
    for (const Comparison& each : row.of->comparisons) {
      const bool is_meant = row.other == 0 || &each == row.comparison();
      if (!is_meant || !each.has_speed_up() || !each.has_interval()) continue;
      const double own = relative_half_width(*each.ratio).value_or(0.0);
      Interval& out = widths.came_out ? *widths.came_out : widths.came_out.emplace(own, own);
      out = {std::min(out.low, own), std::max(out.high, own)};
      widths.is_more_than_default =
          widths.is_more_than_default ||
          precision_of(settings, definition) > default_precision(definition);
    }
  }
  return widths;
}

/// Says "±0.41 % to ±9.1 %".
std::string came_out_text(const Interval& widths) {
  const std::string low = percent_of_digits(widths.low, 2);
  const std::string high = percent_of_digits(widths.high, 2);
  return low == high ? "±" + low : fmt::format("±{} to ±{}", low, high);
}

/// How wide the interval of one comparison came out.
struct OwnWidth {
  const CaseSummary* of = nullptr;
  double width = 0.0;
  std::string variant{};  ///< where there are several beside the first

  bool is_missed(const Settings& settings) const {
    return width > precision_of(settings, of->definition());
  }
};

/// Adds the widest of the row's intervals, where it has one.
void add_width(const AnswerRow& row, std::vector<OwnWidth>& widths) {
  OwnWidth widest{row.of};
  for (const Comparison& each : row.of->comparisons) {
    const bool is_meant = row.other == 0 || &each == row.comparison();
    if (!is_meant || !each.has_speed_up() || !each.has_interval()) continue;
    widest.width = std::max(widest.width, relative_half_width(*each.ratio).value_or(0.0));
    if (row.other != 0 && row.of->comparisons.size() > 1) widest.variant = each.other->variant;
  }
  if (widest.width > 0.0) widths.push_back(widest);
}

/// Says "latency ±8.8 %", of a program the metric; "all-reduce of 8 B with ll128 ±1.0 %" of one of
/// several variants.
std::string width_text(const OwnWidth& own) {
  const Case& definition = own.of->definition();
  std::string name = definition.metric ? definition.metric->name : spoken_operation(definition);
  if (!own.variant.empty() && !definition.metric && !definition.training) {
    name += fmt::format(" of {}", readable_bytes(definition.size));
  }
  if (!own.variant.empty()) name += " with " + own.variant;
  return fmt::format("{} ±{}", name, percent_of_digits(own.width, 2));
}

/// What the answer's first sentence speaks of, and how wide that is.
struct Headline {
  std::string widths;      ///< "send-recv ±2.0 %, training ±0.9 %; widest: latency ±8.8 %"
  bool is_missed = false;  ///< the precision asked for, by its first case
};

Headline headline_of(const RunSummary& summary, const Answer& answer) {
  const Settings& settings = summary.record.settings;
  std::vector<OwnWidth> spoken;
  for (const AnswerRow& row : answer.spoken) add_width(row, spoken);
  std::vector<OwnWidth> trainings;
  for (const CaseSummary* each : summary.trainings) add_width({each}, trainings);
  std::vector<OwnWidth> rows = trainings;
  for (const AnswerRow& row : answer.rows) add_width(row, rows);
  Headline headline;
  if (spoken.empty()) return headline;
  headline.is_missed = spoken.front().is_missed(settings);
  const bool of_training = is_training(spoken.front().of->definition().operation);
  if (!of_training && !trainings.empty()) {
    spoken.push_back(*std::ranges::max_element(trainings, {}, &OwnWidth::width));
  }
  headline.widths = width_text(spoken.front());
  if (headline.is_missed) {
    headline.widths +=
        fmt::format(" (±{} was asked for)",
                    percent_of_digits(precision_of(settings, spoken.front().of->definition())));
  }
  for (const OwnWidth& each : std::span(spoken).subspan(1)) {
    const std::string text = width_text(each);
    if (headline.widths.find(text) == std::string::npos) headline.widths += ", " + text;
  }
  const auto by_width = [](const OwnWidth& each) { return each.width; };
  const OwnWidth& widest = *std::ranges::max_element(rows, {}, by_width);
  if (widest.width > std::ranges::max(spoken, {}, by_width).width) {
    headline.widths += "; widest: " + width_text(widest);
  }
  return headline;
}

/// Tells whether any case is, as those of one variant are not: only then intervals can be.
bool is_any_compared(const RunSummary& summary) {
  return std::ranges::any_of(summary.cases, &CaseSummary::is_compared);
}

Text whether_trusted(const RunSummary& summary, const Answer& answer, WarningWeight weight,
                     const Widths& widths) {
  const Settings& settings = summary.record.settings;
  if (weight == WarningWeight::wrong) {
    return verdict_of(
        "No:", Tone::bad,
        summary.is_of_program() ? " the path is wrong." : " data are wrong, or the path is.");
  }
  if (settings.backend == BackendKind::mpi) {
    return verdict_of("Not as figures of GPUs:", Tone::doubtful,
                      " these are MPI transfers in CPU memory.");
  }
  if (!is_any_compared(summary)) {
    return verdict_of("Nothing is compared,", Tone::doubtful, " so there is no interval.");
  }
  if (summary.launches.most <= 1) {
    return verdict_of("Not yet:", Tone::doubtful,
                      fmt::format(" one {} of each variant decides nothing.", replicate(summary)));
  }
  const auto single = std::ranges::count_if(answer.rows, [](const AnswerRow& row) {
    return row.comparison() != nullptr && !row.comparison()->has_interval();
  });
  if (2 * single > std::ssize(answer.rows)) {
    return verdict_of(
        "Not yet:", Tone::doubtful,
        fmt::format(" {} of {} rows of the answer have no interval.", single, answer.rows.size()));
  }
  if (weight == WarningWeight::incomplete) {
    return verdict_of("What was measured,", Tone::doubtful, " within the intervals.");
  }
  const Headline headline = headline_of(summary, answer);
  if (widths.is_more_than_default) {
    return verdict_of("With care:", Tone::doubtful,
                      fmt::format(" ±{} was asked for; the intervals are: {}.",
                                  percent_of_digits(*settings.precision), headline.widths));
  }
  if (weight == WarningWeight::doubtful) {
    return verdict_of("With care:", Tone::doubtful,
                      " something may be wrong, which the intervals do not cover.");
  }
  if (headline.is_missed) {
    return verdict_of("With care:", Tone::doubtful, fmt::format(" {}.", headline.widths));
  }
  return verdict_of("Yes,", Tone::good,
                    headline.widths.empty()
                        ? " within the intervals."
                        : fmt::format(" within the intervals: {}.", headline.widths));
}

std::string launches_text(const RunSummary& summary) {
  const bool is_of_program = summary.is_of_program();
  const LaunchRange& launches = summary.launches;
  if (launches.most <= 1 && is_any_compared(summary)) {
    return fmt::format(
        "Repetition: one {} of each variant, so there is no confidence interval; "
        "{} 6 gives one.",
        replicate(summary), is_of_program ? "--rounds" : "--launches");
  }
  return fmt::format("Repetition: {} of each variant.",
                     is_of_program ? launches.text("run", "runs") : launches.text());
}

/// Says which precision was asked for, how many cases reached it, and how wide the intervals of the
/// answer are.
std::string precision_reached(const RunSummary& summary, const Widths& widths) {
  const Settings& settings = summary.record.settings;
  const auto compared = std::ranges::count_if(summary.cases, &CaseSummary::is_compared);
  const auto converged = std::ranges::count_if(summary.cases, [](const CaseSummary& each) {
    return each.is_compared && each.result->converged;
  });
  Settings by_default = settings;
  by_default.precision.reset();
  return fmt::format(
      "Precision: {} of {} reached what was asked for, {}{}.{}", converged,
      summary.is_of_program() && summary.cases.front().definition().metric->at.empty()
          ? counted(compared, "metric", "metrics")
          : counted(compared, "case", "cases"),
      precision_text(settings),
      widths.is_more_than_default
          ? fmt::format(", instead of the default, {}", precision_text(by_default))
          : "",
      widths.came_out
          ? fmt::format(" The answer's intervals are {}.", came_out_text(*widths.came_out))
          : "");
}

/// Says in how many runs of a program NVLink's counters were read.
std::string counted_traffic_text(const RunSummary& summary) {
  std::size_t runs = 0;
  std::size_t read = 0;
  for (const Variant& variant : summary.record.settings.variants) {
    const std::vector<RunEvidence> own = counted_runs(summary.record, variant.name);
    runs += own.size();
    read += nvlink_bytes_of(own, SharedGpus::count).size();
  }
  return fmt::format("NVLink's counters were read in {} of {}.", read,
                     counted(static_cast<std::int64_t>(runs), "run", "runs"));
}

/// Says why NVLink's counters judged no result: "NVLink's counters were read for 18 results and
/// could judge none: smaller than 16 MiB.", "NVLink's counters were not read."
std::string unjudged_text(const RunSummary& summary) {
  std::int64_t read = 0;
  std::vector<std::string> reasons;
  for (const CaseSummary& each : summary.cases) {
    for (const VariantSummary& variant : each.variants) {
      const std::optional<TrafficEvidence>& evidence = variant.result->evidence;
      if (!evidence) continue;
      if (evidence->nvlink_sent) ++read;
      const std::string reason = one_line(evidence->reason);
      if (!reason.empty() && std::ranges::count(reasons, reason) == 0) reasons.push_back(reason);
    }
  }
  return fmt::format("NVLink's counters were {}{}{}.",
                     read == 0 ? "not read"
                               : fmt::format("read for {} and could judge none",
                                             counted(read, "result", "results")),
                     reasons.empty() ? "" : ": ", fmt::join(reasons, "; "));
}

std::string evidence_text(const RunSummary& summary) {
  if (summary.is_of_program()) return counted_traffic_text(summary);
  const auto [judged, disagree] = evidence_of(summary);
  if (judged == 0) return unjudged_text(summary);
  return fmt::format(
      "The bytes that NVLink's counters saw were compared with {}; {}.",
      counted(judged, "result", "results"),
      disagree == 0 ? "all agree with the path" : fmt::format("{} disagree", disagree));
}

Asked path_question(const RunSummary& summary, const Answer& answer) {
  Asked asked{"path", "Which path?", "Nothing was measured with two variants."};
  std::vector<std::string> sentences;
  if (answer.main() != nullptr) {
    sentences = path_sentences(*answer.main());
    asked.verdict = sentences.front();
    sentences.erase(sentences.begin());
  }
  if (summary.record.settings.backend != BackendKind::mpi) {
    sentences.push_back(evidence_text(summary));
  }
  asked.more = with_items(sentences);
  return asked;
}

Asked size_question(const RunSummary& summary, const Answer& answer) {
  if (summary.tuning) return {};  // it is what the answer says
  const WhichSizes which = which_sizes(summary, answer);
  Asked asked{"pays", "At which size does it pay?", which.verdict, with_items(which.others),
              "sizes"};
  if (!which.others.empty()) {
    asked.more.figure("<p>All sizes are in the <a href=\"#sizes\">tables by size</a>.</p>\n");
  }
  return asked;
}

Asked trust_question(const RunSummary& summary, const Answer& answer, WarningWeight weight) {
  const Widths widths = widths_of(summary, answer);
  std::vector<std::string> items{checked_text(summary), launches_text(summary)};
  if (summary.launches.most > 1 && is_any_compared(summary)) {
    items.push_back(precision_reached(summary, widths));
  }
  return {"trust", "Can it be trusted?", whether_trusted(summary, answer, weight, widths),
          with_items(items)};
}

/// Puts a question's title before what answers it.
std::string described(const std::string& title, const Document& answer, std::string_view id = "") {
  return fmt::format("<div{}><dt>{}</dt>\n<dd>{}</dd></div>\n",
                     id.empty() ? "" : fmt::format(" id=\"{}\"", id), title, to_html(answer));
}

}  // namespace

QuestionsHtml questions(const RunSummary& summary) {
  const Answer answer = answer_of(summary);
  const std::vector<Fault> faults = faults_of(summary, answer);
  QuestionsHtml html;
  for (const Asked& each :
       {path_question(summary, answer), fault_question(summary, faults),
        size_question(summary, answer), trust_question(summary, answer, heaviest(faults))}) {
    if (each.verdict.empty()) continue;
    const std::string_view grounds = each.more.empty() ? each.section : each.id;
    Document verdict;
    verdict.paragraph(each.verdict);
    html.verdicts +=
        described(grounds.empty() ? std::string(each.title)
                                  : fmt::format("<a href=\"#{}\">{}</a>", grounds, each.title),
                  verdict);
    if (!each.more.empty()) html.grounds += described(std::string(each.title), each.more, each.id);
  }
  html.verdicts = fmt::format("<dl class=\"verdicts\">\n{}</dl>\n", html.verdicts);
  html.grounds = fmt::format("<dl class=\"facts\">\n{}</dl>\n", html.grounds);
  return html;
}

}  // namespace linkgain
