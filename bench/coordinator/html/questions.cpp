#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/tables/number_format.hpp"
#include "run_pictures.hpp"

namespace linkgain {
namespace {

Document paragraph(const std::string& text) {
  Document document;
  document.paragraph(text);
  return document;
}

Document with_items(Document document, const std::vector<std::string>& items) {
  for (const std::string& item : items) document.item(item);
  return document;
}

Document which_path(const CaseSummary* shown) {
  return paragraph(shown == nullptr ? "Nothing was measured with two variants."
                                    : path_sentence(*shown));
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

/// Finds the first warning of the heaviest weight; null where all are notices.
const Warning* heaviest(const Record& record) {
  for (const WarningWeight weight :
       {WarningWeight::wrong, WarningWeight::incomplete, WarningWeight::doubtful}) {
    const auto found = std::ranges::find(
        record.warnings, weight, [](const Warning& warning) { return row_of(warning).weight; });
    if (found != record.warnings.end()) return &*found;
  }
  return nullptr;
}

/// Lists what is certain, besides warnings.
std::vector<std::string> facts_of(const RunSummary& summary) {
  const Record& record = summary.record;
  std::vector<std::string> wrong;
  const auto wrong_cases = std::ranges::count_if(summary.cases, &CaseSummary::has_wrong_data);
  if (wrong_cases > 0) {
    wrong.push_back(fmt::format("WRONG DATA in {}.", counted(wrong_cases, "case", "cases")));
  }
  if (const auto [judged, disagree] = evidence_of(summary); disagree > 0) {
    wrong.push_back(fmt::format("NVLink's counters disagree with the path of {} of {}.", disagree,
                                counted(judged, "result", "results")));
  }
  if (record.status != RunStatus::complete) {
    wrong.push_back(fmt::format("The run is not complete: {}.", name_of(record.status)));
  }
  if (summary.health && summary.health->unhealthy_samples > 0) {
    wrong.push_back(fmt::format("{}.", throttling_text(*summary.health)));
  }
  return wrong;
}

Document what_is_wrong(const RunSummary& summary) {
  const Record& record = summary.record;
  std::vector<std::string> items = facts_of(summary);
  const Warning* const warning = heaviest(record);
  const bool is_certain =
      !items.empty() || (warning != nullptr && row_of(*warning).weight == WarningWeight::wrong);
  if (warning != nullptr) items.push_back(warning->text + ".");
  Document document =
      with_items(paragraph(is_certain ? "Yes."
                           : !items.empty()
                               ? "Perhaps."
                               : "No: the run is complete, no data are wrong, and no GPU is known "
                                 "to have been throttled."),
                 items);
  document.figure(record.warnings.empty()
                      ? "<p>There is no warning.</p>\n"
                      : fmt::format("<p>Read the <a href=\"#warnings\">{}</a>.</p>\n",
                                    counted(std::ssize(record.warnings), "warning", "warnings")));
  return document;
}

/// Lists the sizes with a speed-up of the first curve of the operation.
std::vector<const CaseSummary*> sizes_of(const RunSummary& summary, OperationKind operation) {
  for (const Curve* curve : summary.curves()) {
    if (curve->definition().operation != operation) continue;
    std::vector<const CaseSummary*> sizes = curve->cases;
    std::erase_if(sizes, [](const CaseSummary* each) {
      return each->comparisons.empty() || !each->comparisons.front().has_speed_up();
    });
    return sizes;
  }
  return {};
}

/// Says "1 MiB (4.23x)".
std::string size_text(const CaseSummary& each) {
  return fmt::format("{} ({})", readable_bytes(each.definition().size),
                     readable_ratio(*each.comparisons.front().ratio).estimate);
}

/// Says it where several sizes were measured.
Document at_which_size(const RunSummary& summary, const CaseSummary& shown) {
  const auto sizes = sizes_of(summary, shown.definition().operation);
  if (sizes.size() < 2) return {};
  const std::string what = spoken_operation(shown.definition());
  const std::string largest = size_text(*sizes.back());
  std::size_t first = sizes.size();
  while (first > 0 && sizes[first - 1]->comparisons.front().verdict == Verdict::faster) --first;
  if (first == sizes.size()) {
    return paragraph(
        fmt::format("Not shown: at the largest size of {}, {}, {} is not clearly faster.", what,
                    largest, variant_title(shown, 0)));
  }
  if (first == 0) {
    return paragraph(fmt::format("At every measured size of {}, from {} to {}.", what,
                                 size_text(*sizes.front()), largest));
  }
  return paragraph(fmt::format("From {} on, up to {}: every such {} is faster with {}.",
                               size_text(*sizes[first]), largest, what, variant_title(shown, 0)));
}

/// Says how much of the output was checked.
std::string checked_text(const RunSummary& summary) {
  std::int64_t results = 0;
  std::int64_t checked = 0;
  std::int64_t wrong = 0;
  for (const CaseSummary& each : summary.cases) {
    for (const VariantSummary& variant : each.variants) {
      if (!variant.result->time) continue;
      ++results;
      checked += variant.result->verification.has_value() ? 1 : 0;
      wrong += variant.wrong_data ? 1 : 0;
    }
  }
  return fmt::format("Data: every element of {} of {} was checked; {} wrong.", checked,
                     counted(results, "result", "results"),
                     wrong == 0 ? "none" : fmt::to_string(wrong));
}

/// Says it in a sentence, before what it rests on.
std::string verdict(const RunSummary& summary) {
  const Record& record = summary.record;
  const bool is_wrong = std::ranges::any_of(summary.cases, &CaseSummary::has_wrong_data) ||
                        has_warning(record, ExitCode::wrong_path) ||
                        evidence_of(summary).disagree > 0;
  if (is_wrong) return "No: data are wrong, or the path is.";
  if (record.settings.backend == BackendKind::mpi) {
    return "Not as figures of GPUs: these are MPI transfers in CPU memory.";
  }
  if (summary.launches.most <= 1) return "Not yet: one launch of each variant decides nothing.";
  return "Yes, within the intervals.";
}

std::string launches_text(const RunSummary& summary) {
  const LaunchRange& launches = summary.launches;
  if (launches.most <= 1) {
    return "Repetition: one launch of each variant, so there is no confidence interval; "
           "--launches 6 gives one.";
  }
  const auto compared = std::ranges::count_if(summary.cases, &CaseSummary::is_compared);
  const auto converged = std::ranges::count_if(summary.cases, [](const CaseSummary& each) {
    return each.is_compared && each.result->converged;
  });
  return fmt::format("Repetition: {} of each variant; {} of {} reached the precision asked for.",
                     launches.text(), converged, counted(compared, "case", "cases"));
}

std::string evidence_text(const RunSummary& summary) {
  const auto [judged, disagree] = evidence_of(summary);
  if (judged == 0) return "Path: NVLink's counters were not read, or could not judge.";
  return fmt::format(
      "Path: the bytes that NVLink's counters saw were compared with {}; {}.",
      counted(judged, "result", "results"),
      disagree == 0 ? "all agree with the path" : fmt::format("{} disagree", disagree));
}

Document can_be_trusted(const RunSummary& summary) {
  std::vector<std::string> items{checked_text(summary), launches_text(summary)};
  if (summary.record.settings.backend == BackendKind::nccl) {
    items.push_back(evidence_text(summary));
  }
  return with_items(paragraph(verdict(summary)), items);
}

}  // namespace

std::string questions(const RunSummary& summary) {
  const Answer answered = answer_of(summary);
  std::string items;
  const auto add = [&](std::string_view question, const Document& answer) {
    if (answer.empty()) return;
    items += fmt::format("<div><dt>{}</dt>\n<dd>{}</dd></div>\n", question, to_html(answer));
  };
  add("Which path?", which_path(answered.main()));
  add("Is anything wrong?", what_is_wrong(summary));
  std::vector<AnswerRow> asked = answered.spoken;
  std::ranges::copy(answered.rows, std::back_inserter(asked));
  const auto has_sizes = std::ranges::find_if(
      asked, [&](const AnswerRow& each) { return !at_which_size(summary, *each.of).empty(); });
  if (has_sizes != asked.end()) {
    add("At which size does it pay?", at_which_size(summary, *has_sizes->of));
  }
  add("Can it be trusted?", can_be_trusted(summary));
  return fmt::format("<dl class=\"facts\">\n{}</dl>\n", items);
}

}  // namespace linkgain
