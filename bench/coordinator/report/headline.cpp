#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "case_table.hpp"
#include "less_time_sentences.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/report/report.hpp"
#include "nvlink_traffic.hpp"
#include "training_tables.hpp"

namespace linkgain {
namespace {

Table table_of(const CaseSummary& each, LimitLegend& limits) {
  Table table(
      {{.title = std::string(words_of(each.contrast).title), .too_long = Table::TooLong::cut},
       {case_label(each.definition()), kRight},
       {"busbw", kRight, true, 2},
       {.title = "Path", .leave_out = 1}});
  for (const VariantSummary& variant : each.variants) {
    const VariantResult& result = *variant.result;
    const bool first = &variant == &each.variants.front();
    const std::string name = each.contrast == Contrast::variant ? result.variant
                             : first                            ? "Y"
                                                                : "N";
    if (variant.wrong_data) {
      table.add_row({name, wrong_data_mark()});
    } else if (!result.time) {
      table.add_row({name, result.skipped ? "skipped" : "not measured"});
    } else {
      table.add_row({name, readable_time(*result.time),
                     result.busbw ? readable_bandwidth(*result.busbw) + limits.share(variant) : "",
                     readable_path(result.path)});
    }
  }
  return table;
}

/// curve_label(), or "send_recv between pairs, both ways".
std::string curve_or_pairs_label(const Curve& curve) {
  Case definition = curve.definition();
  if (!curve.has_pairs()) {
    return curve_label(definition);
  }
  const bool both = definition.pair->both;
  definition.pair.reset();
  return fmt::format("{} between pairs{}", curve_label(definition), both ? ", both ways" : "");
}

std::string not_compared(const Curve& curve) {
  std::string reasons;
  for (const VariantResult& variant : curve.cases.back()->result->variants) {
    if (variant.skipped.has_value()) {
      reasons += fmt::format("{}{}: {}", reasons.empty() ? " (" : "; ", variant.variant,
                             why_skipped(variant));
    }
  }
  return fmt::format("{}: no {} was measured with the first variant and another one{}.",
                     curve_or_pairs_label(curve), curve.has_pairs() ? "pair" : "size",
                     reasons.empty() ? "" : reasons + ")");
}

/// Says "WRONG DATA at other sizes: 8 B.", or at other pairs where the curve has several; `shown`
/// is left out. Empty where there is none.
Text wrong_sentence(const Curve& curve, const CaseSummary* shown) {
  constexpr std::size_t kMostNamed = 8;
  const bool pairs = curve.has_pairs();
  std::vector<std::string> wrong;
  for (const CaseSummary* each : curve.cases) {
    if (each != shown && each->has_wrong_data) {
      wrong.push_back(pairs ? case_label(each->definition())
                            : readable_bytes(each->definition().size));
    }
  }
  if (wrong.empty()) {
    return {};
  }
  const std::size_t left_out = pairs && wrong.size() > kMostNamed ? wrong.size() - kMostNamed : 0;
  wrong.resize(wrong.size() - left_out);
  return wrong_data_mark() + fmt::format(" at other {}: {}{}.", pairs ? "pairs" : "sizes",
                                         fmt::join(wrong, ", "),
                                         left_out > 0 ? fmt::format(" and {} more", left_out) : "");
}

/// Where the curve has several pairs of the size of `weakest`, how many were compared, and which of
/// them takes least time with the first variant, or that they do not differ. `weakest` takes most
/// where they do (RunSummary::headline).
std::string pairs_sentence(const RunSummary& summary, const Curve& curve,
                           const CaseSummary& weakest) {
  std::vector<const CaseSummary*> compared;
  std::vector<double> times;
  for (const CaseSummary* each : curve.cases) {
    const bool alike = each->definition().size == weakest.definition().size && each->is_compared;
    if (alike && !each->has_wrong_data) {
      compared.push_back(each);
      times.push_back(each->result->variants.front().time->value);
    }
  }
  if (compared.size() < 2) {
    return {};
  }
  const CaseSummary& strongest = *compared.front();
  const VariantResult& variant = strongest.result->variants.front();
  if (!summary.differ(times)) {
    return fmt::format("The {} pairs compared do not differ by more than {} with {}.",
                       compared.size(), percent_of_digits(summary.distinct()), variant.variant);
  }
  const Comparison& comparison = strongest.comparisons.front();
  const std::string speed_up =
      comparison.has_speed_up()
          ? fmt::format(", speed-up {}", readable_ratio(*comparison.ratio).estimate)
          : "";
  return fmt::format("Of {} pairs compared it takes longest with {}; {} takes least: {} ({}{}).",
                     compared.size(), variant.variant, curve_label(strongest.definition()),
                     readable_time(*variant.time), readable_path(variant.path), speed_up);
}

void add_sentence(Document& document, Text sentence) {
  if (!sentence.empty()) document.paragraph(std::move(sentence));
}

Document curve_headline(const RunSummary& summary, const Curve& curve, LimitLegend& limits) {
  Document document;
  const CaseSummary* largest = curve.largest(&CaseSummary::is_compared);
  if (largest == nullptr) {
    document.paragraph(not_compared(curve));
    add_sentence(document, wrong_sentence(curve, nullptr));
    return document;
  }
  const CaseSummary& shown = *largest;
  document.table(table_of(shown, limits));
  for (const Comparison& comparison : shown.comparisons) {
    document.paragraph(outcome_sentence(shown, comparison) +
                       convergence_sentence(summary, shown, comparison));
  }
  add_sentence(document, pairs_sentence(summary, curve, shown));
  add_sentence(document, nvlink_traffic_sentence(shown));
  add_sentence(document, wrong_sentence(curve, &shown));
  return document;
}

/// Adds the curves behind the first: the largest size of each in a row of one table.
void add_further_curves(Document& document, const RunSummary& summary) {
  RowLabels rows{.title = {"Case"}, .place = "in this case"};
  std::vector<const CaseSummary*> cases;
  Document sentences;
  for (std::size_t i = 1; i < summary.headline.size(); ++i) {
    const Curve& curve = summary.headline[i];
    const CaseSummary* largest = curve.largest(&CaseSummary::is_compared);
    if (largest == nullptr) {
      sentences.paragraph(not_compared(curve));
    } else {
      cases.push_back(largest);
      rows.labels.push_back(case_label(largest->definition()));
    }
    if (const Text wrong = wrong_sentence(curve, largest); !wrong.empty()) {
      sentences.paragraph(Text(curve_or_pairs_label(curve) + ": ") + wrong);
    }
  }
  if (!cases.empty()) {
    document.add(case_table(summary, curve_of("", std::move(cases)), rows,
                            "The largest size of each other operation"));
  }
  document.add(sentences);
}

/// Adds what every reader must know of the run.
void add_notes(Document& document, const RunSummary& summary, const LimitLegend& limits) {
  const Record& record = summary.record;
  if (summary.left_out_of_headline > 0) {
    const std::string curves = counted(static_cast<std::int64_t>(summary.left_out_of_headline),
                                       "curve more is", "curves more are");
    document.paragraph(with_code(fmt::format(
        "{} in the tables by size and by pair{}.", curves,
        summary.is_condensed ? ", in groups; `linkgain report --format csv` has every case" : "")));
  }
  if (!limits.text().empty()) {
    document.paragraph("In brackets: busbw's share of the path's limit: " + limits.text() + ".");
  }
  if (record.settings.backend == BackendKind::mpi) {
    document.paragraph("These are MPI transfers in CPU memory (backend mpi), not GPU figures.");
  }
  if (record.status != RunStatus::complete) {
    document.paragraph(fmt::format("The run is not complete ({}): this is what it had measured.",
                                   name_of(record.status)));
  }
}

}  // namespace

std::vector<HeadlinePart> headline_parts(const RunSummary& summary) {
  std::vector<HeadlinePart> parts;
  if (Document trainings = training_tables(summary); !trainings.empty()) {
    parts.push_back({"Training", std::move(trainings)});
  }
  LimitLegend limits;
  for (const Curve& curve : summary.headline) {
    parts.push_back(
        {curve_or_pairs_label(curve) + ", largest size", curve_headline(summary, curve, limits)});
    if (summary.is_condensed) break;
  }
  Document rest;
  if (summary.is_condensed) add_further_curves(rest, summary);
  if (parts.empty() && rest.empty()) rest.paragraph("Nothing was measured.");
  add_notes(rest, summary, limits);
  parts.push_back({"Further curves", std::move(rest)});
  return parts;
}

Document headline(const RunSummary& summary) {
  Document document;
  for (const HeadlinePart& part : headline_parts(summary)) document.add(part.content);
  return document;
}

}  // namespace linkgain
