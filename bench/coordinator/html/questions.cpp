#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "linkgain/analysis/program_traffic.hpp"
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

/// Something that takes from what a run says, and how much.
struct Fault {
  WarningWeight weight;
  std::string text;
};

/// Lists what the results themselves show, then what warnings say, the heaviest first.
std::vector<Fault> faults_of(const RunSummary& summary) {
  const Record& record = summary.record;
  std::vector<Fault> faults;
  const auto wrong_cases = std::ranges::count_if(summary.cases, &CaseSummary::has_wrong_data);
  if (wrong_cases > 0) {
    faults.push_back({WarningWeight::wrong,
                      fmt::format("WRONG DATA in {}.", counted(wrong_cases, "case", "cases"))});
  }
  if (const auto [judged, disagree] = evidence_of(summary); disagree > 0) {
    faults.push_back(
        {WarningWeight::wrong, fmt::format("NVLink's counters disagree with the path of {} of {}.",
                                           disagree, counted(judged, "result", "results"))});
  }
  if (record.status != RunStatus::complete) {
    faults.push_back(
        {WarningWeight::incomplete, fmt::format("Status of the run: {}.", ending_of(record))});
  }
  if (summary.health && summary.health->unhealthy_samples > 0) {
    faults.push_back(
        {WarningWeight::doubtful, fmt::format("{}.", throttling_text(*summary.health))});
  }
  for (const Warning& warning : record.warnings) {
    const WarningWeight weight = row_of(warning).weight;
    if (weight != WarningWeight::notice) faults.push_back({weight, warning.text + "."});
  }
  std::ranges::stable_sort(faults, {}, &Fault::weight);
  return faults;
}

/// Gives what weighs most; WarningWeight::notice where nothing takes anything.
WarningWeight heaviest(const std::vector<Fault>& faults) {
  return faults.empty() ? WarningWeight::notice : faults.front().weight;
}

std::string whether_wrong(const RunSummary& summary, WarningWeight weight) {
  switch (weight) {
    case WarningWeight::wrong:
      return "Yes: data are wrong, or the path is.";
    case WarningWeight::incomplete:
      return "Yes: something that was asked for is missing.";
    case WarningWeight::doubtful:
      return "Perhaps: figures may be off, or not mean what they seem to.";
    case WarningWeight::notice:
      break;
  }
  return summary.is_of_program()
             ? "No: no run is missing, and no GPU is known to have been throttled or used by "
               "others."
             : "No: the run is complete, no data are wrong, and no GPU is known to have been "
               "throttled.";
}

/// Leads to the warnings, and says what they are where nothing is wrong.
std::string warnings_html(const RunSummary& summary, WarningWeight weight) {
  const std::vector<Warning>& warnings = summary.record.warnings;
  if (warnings.empty()) return "<p>There is no warning.</p>\n";
  const std::string link = fmt::format("<a href=\"#warnings\">{}</a>",
                                       counted(std::ssize(warnings), "warning", "warnings"));
  if (weight != WarningWeight::notice) return fmt::format("<p>Read the {}.</p>\n", link);
  return fmt::format("<p>The {} {} no fault.</p>\n", link, warnings.size() == 1 ? "names" : "name");
}

Document what_is_wrong(const RunSummary& summary, const std::vector<Fault>& faults) {
  constexpr std::size_t kMostShown = 4;
  const WarningWeight weight = heaviest(faults);
  Document document = paragraph(whether_wrong(summary, weight));
  for (const Fault& fault : std::span(faults).first(std::min(faults.size(), kMostShown))) {
    document.item(fault.text);
  }
  document.figure(warnings_html(summary, weight));
  return document;
}

/// Lists the sizes of the row's curve at which its variants are compared.
std::vector<AnswerRow> sizes_of(const RunSummary& summary, const AnswerRow& row) {
  std::vector<AnswerRow> sizes;
  for (const Curve* curve : summary.curves()) {
    if (std::ranges::count(curve->cases, row.of) == 0) continue;
    for (const CaseSummary* each : curve->cases) {
      const AnswerRow own{each, row.other};
      if (own.comparison() != nullptr && own.comparison()->has_speed_up()) sizes.push_back(own);
    }
    break;
  }
  return sizes;
}

bool is_faster(const AnswerRow& row) { return row.comparison()->verdict == Verdict::faster; }

/// Says "1 MiB (4.23x)".
std::string size_text(const AnswerRow& row) {
  return fmt::format("{} ({})", readable_bytes(row.of->definition().size),
                     readable_ratio(*row.comparison()->ratio).estimate);
}

/// Says "From 16 KiB to 512 KiB, most at 64 KiB (1.68x): there send-recv is faster with p2p." of
/// the sizes around the largest change.
std::string at_some_sizes(const RunSummary& summary, const AnswerRow& most,
                          const std::string& what) {
  const auto cases = cases_around(summary, most);
  const std::string where =
      cases.size() == 1
          ? fmt::format("At {}", size_text(most))
          : fmt::format("From {} to {}, most at {}",
                        readable_bytes(cases.front()->definition().size),
                        readable_bytes(cases.back()->definition().size), size_text(most));
  return fmt::format("{}: there {} is faster with {}.", where, what, variant_title(*most.of, 0));
}

/// Says it where several sizes were measured.
Document at_which_size(const RunSummary& summary, const AnswerRow& shown) {
  const std::vector<AnswerRow> sizes = sizes_of(summary, shown);
  if (sizes.size() < 2) return {};
  const std::string what = spoken_operation(shown.of->definition());
  const std::string largest = size_text(sizes.back());
  std::size_t first = sizes.size();
  while (first > 0 && is_faster(sizes[first - 1])) --first;
  if (first == sizes.size()) {
    const auto most = std::ranges::max_element(sizes, {}, [](const AnswerRow& each) {
      return is_faster(each) ? each.comparison()->ratio->value : 0.0;
    });
    if (is_faster(*most)) return paragraph(at_some_sizes(summary, *most, what));
    return paragraph(
        fmt::format("Not shown: at the largest size of {}, {}, {} is not clearly faster.", what,
                    largest, variant_title(*shown.of, 0)));
  }
  if (first == 0) {
    return paragraph(fmt::format("At every measured size of {}, from {} to {}.", what,
                                 size_text(sizes.front()), largest));
  }
  return paragraph(fmt::format("From {} on, up to {}: every such {} is faster with {}.",
                               size_text(sizes[first]), largest, what,
                               variant_title(*shown.of, 0)));
}

/// Says how much of the output was checked.
std::string checked_text(const RunSummary& summary) {
  if (summary.is_of_program()) return "Data: linkgain does not check what the command computes.";
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

/// Names what is repeated: a run's "launch", a program's "run".
std::string_view replicate(const RunSummary& summary) {
  return summary.is_of_program() ? "run" : "launch";
}

/// Says it in a sentence, before what it rests on.
std::string verdict(const RunSummary& summary, WarningWeight weight) {
  if (weight == WarningWeight::wrong) return "No: data are wrong, or the path is.";
  if (summary.record.settings.backend == BackendKind::mpi) {
    return "Not as figures of GPUs: these are MPI transfers in CPU memory.";
  }
  if (summary.launches.most <= 1) {
    return fmt::format("Not yet: one {} of each variant decides nothing.", replicate(summary));
  }
  switch (weight) {
    case WarningWeight::wrong:
    case WarningWeight::incomplete:
      return "What was measured, within the intervals; see above for what is missing.";
    case WarningWeight::doubtful:
      return "With care: the intervals do not cover what may be wrong.";
    case WarningWeight::notice:
      break;
  }
  return "Yes, within the intervals.";
}

std::string launches_text(const RunSummary& summary) {
  const bool is_of_program = summary.is_of_program();
  const LaunchRange& launches = summary.launches;
  if (launches.most <= 1) {
    return fmt::format(
        "Repetition: one {} of each variant, so there is no confidence interval; "
        "{} 6 gives one.",
        replicate(summary), is_of_program ? "--rounds" : "--launches");
  }
  const auto compared = std::ranges::count_if(summary.cases, &CaseSummary::is_compared);
  const auto converged = std::ranges::count_if(summary.cases, [](const CaseSummary& each) {
    return each.is_compared && each.result->converged;
  });
  return fmt::format(
      "Repetition: {} of each variant; {} of {} reached the precision asked for.",
      is_of_program ? launches.text("run", "runs") : launches.text(), converged,
      is_of_program ? counted(compared, "metric", "metrics") : counted(compared, "case", "cases"));
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
  return fmt::format("Path: NVLink's counters were read in {} of {}.", read,
                     counted(static_cast<std::int64_t>(runs), "run", "runs"));
}

std::string evidence_text(const RunSummary& summary) {
  if (summary.is_of_program()) return counted_traffic_text(summary);
  const auto [judged, disagree] = evidence_of(summary);
  if (judged == 0) return "Path: NVLink's counters were not read, or could not judge.";
  return fmt::format(
      "Path: the bytes that NVLink's counters saw were compared with {}; {}.",
      counted(judged, "result", "results"),
      disagree == 0 ? "all agree with the path" : fmt::format("{} disagree", disagree));
}

Document can_be_trusted(const RunSummary& summary, WarningWeight weight) {
  std::vector<std::string> items{checked_text(summary), launches_text(summary)};
  if (summary.record.settings.backend != BackendKind::mpi) {
    items.push_back(evidence_text(summary));
  }
  return with_items(paragraph(verdict(summary, weight)), items);
}

}  // namespace

std::string questions(const RunSummary& summary) {
  const Answer answered = answer_of(summary);
  const std::vector<Fault> faults = faults_of(summary);
  std::string items;
  const auto add = [&](std::string_view question, const Document& answer) {
    if (answer.empty()) return;
    items += fmt::format("<div><dt>{}</dt>\n<dd>{}</dd></div>\n", question, to_html(answer));
  };
  add("Which path?", which_path(answered.main()));
  add("Is anything wrong?", what_is_wrong(summary, faults));
  std::vector<AnswerRow> asked = answered.spoken;
  std::ranges::copy(answered.rows, std::back_inserter(asked));
  Document sizes;
  for (auto each = asked.begin(); each != asked.end() && sizes.empty(); ++each) {
    sizes = at_which_size(summary, *each);
  }
  add("At which size does it pay?", sizes);
  add("Can it be trusted?", can_be_trusted(summary, heaviest(faults)));
  return fmt::format("<dl class=\"facts\">\n{}</dl>\n", items);
}

}  // namespace linkgain
