#include "linkgain/report/headline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "comparison.hpp"
#include "limit_legend.hpp"
#include "linkgain/core/units.hpp"
#include "markdown_table.hpp"
#include "pair_groups.hpp"
#include "pair_sentences.hpp"
#include "wires.hpp"
#include "wording.hpp"

namespace linkgain {
namespace {

std::string table_of(Contrast contrast, const CaseResult& result, LimitLegend& limits) {
  MarkdownTable table({{std::string(words_of(contrast).title), MarkdownTable::Alignment::left},
                       {case_label(result.definition), MarkdownTable::Alignment::right},
                       {"busbw", MarkdownTable::Alignment::right, true},
                       {"Path", MarkdownTable::Alignment::left}});
  bool first = true;
  for (const VariantResult& variant : result.variants) {
    const std::string name = contrast == Contrast::variant ? variant.variant : first ? "Y" : "N";
    first = false;
    if (has_wrong_data(variant)) {
      table.add_row({name, "**WRONG DATA**", ""});
    } else if (!variant.time.has_value()) {
      table.add_row({name, variant.skipped.has_value() ? "skipped" : "not measured", ""});
    } else {
      table.add_row({name, readable_time(*variant.time),
                     variant.busbw.has_value()
                         ? readable_bandwidth(*variant.busbw) + limits.share(variant)
                         : "",
                     std::string(readable_path(variant.path))});
    }
  }
  return table.text();
}

/// "With P2P the same all-reduce", and against what where that does not go without saying.
struct Sentence {
  std::string subject;
  std::string than;
};

Sentence sentence_of(Contrast contrast, const CaseResult& result, const Comparison& comparison) {
  const bool named = contrast == Contrast::variant;
  const std::string_view with =
      named ? std::string_view(comparison.first->variant) : words_of(contrast).subject;
  return {fmt::format("With {} the same {}", with, spoken_operation(result.definition)),
          named ? fmt::format(" than with {}", comparison.other->variant) : std::string{}};
}

std::string interval_of(const RatioText& text) {
  return fmt::format("{}, 95 % CI {} to {}", text.estimate, *text.low, *text.high);
}

std::string wrong_data_sentence(const Comparison& comparison) {
  std::string sentence;
  for (const VariantResult* variant : {comparison.first, comparison.other}) {
    if (!has_wrong_data(*variant)) {
      continue;
    }
    sentence += fmt::format("**WRONG DATA** with {}: {}. ", variant->variant,
                            wrong_elements(*variant->verification));
  }
  return sentence + "No speed-up is given.";
}

std::string not_measured_sentence(const Comparison& comparison) {
  std::string sentence = fmt::format("No round measured both {} and {}, so no speed-up is given.",
                                     comparison.first->variant, comparison.other->variant);
  if (comparison.other->skipped.has_value()) {
    sentence += fmt::format(" {} was skipped: {}.", comparison.other->variant,
                            one_line(*comparison.other->skipped));
  }
  return sentence;
}

std::string same_road_sentence(Contrast contrast, const Comparison& comparison) {
  const std::string_view road = readable_path(comparison.first->path);
  if (contrast == Contrast::p2p) {
    return fmt::format(
        "Both took the same road, {}, with P2P allowed and with P2P off: these times do not "
        "show what P2P is worth, so no speed-up is given.",
        road);
  }
  return fmt::format(
      "{} and {} took the same road, {}: these times do not show what another road is worth, "
      "so no speed-up is given.",
      comparison.first->variant, comparison.other->variant, road);
}

std::string no_interval_sentence(const Sentence& words, const Ratio& ratio) {
  const std::string estimate = readable_ratio(ratio).estimate;
  const std::string took =
      ratio.estimate > 1.0 ? fmt::format("took {} less time{}",
                                         readable_percent(less_time(ratio.estimate)), words.than)
                           : fmt::format("did not take less time{}", words.than);
  return fmt::format("{} {} ({}) in {}, too few for a confidence interval.", words.subject, took,
                     estimate, counted(ratio.rounds, "round", "rounds"));
}

std::string no_difference_sentence(Contrast contrast, const CaseResult& result,
                                   const Comparison& comparison) {
  const std::string sides =
      contrast == Contrast::variant
          ? fmt::format("with {} and with {}", comparison.first->variant, comparison.other->variant)
          : fmt::format("with {} and without", words_of(contrast).subject);
  return fmt::format("No difference was found between the same {} {} ({}).",
                     spoken_operation(result.definition), sides,
                     interval_of(readable_ratio(*comparison.ratio)));
}

std::string outcome_sentence(Contrast contrast, const CaseResult& result,
                             const Comparison& comparison) {
  const Sentence words = sentence_of(contrast, result, comparison);
  switch (comparison.outcome) {
    case Outcome::wrong_data:
      return wrong_data_sentence(comparison);
    case Outcome::not_measured:
      return not_measured_sentence(comparison);
    case Outcome::same_road:
      return same_road_sentence(contrast, comparison);
    case Outcome::no_interval:
      return no_interval_sentence(words, *comparison.ratio);
    case Outcome::no_difference:
      return no_difference_sentence(contrast, result, comparison);
    case Outcome::less_time:
      return fmt::format("{} takes {} less time{} ({}).", words.subject,
                         readable_percent(less_time(comparison.ratio->estimate)), words.than,
                         interval_of(readable_ratio(*comparison.ratio)));
    case Outcome::more_time:
      return fmt::format("{} does not take less time{}, it takes longer ({}).", words.subject,
                         words.than, interval_of(readable_ratio(*comparison.ratio)));
  }
  return {};
}

/// Empty where the comparison's interval is as narrow as was asked for, or where none is shown.
std::string convergence_sentence(const Record& record, const CaseResult& result,
                                 const Comparison& comparison) {
  const bool shown = comparison.outcome == Outcome::less_time ||
                     comparison.outcome == Outcome::more_time ||
                     comparison.outcome == Outcome::no_difference;
  if (!shown || result.converged) {
    return {};
  }
  const double half_width = comparison.ratio->relative_half_width().value_or(0.0);
  if (half_width <= record.settings.precision) {
    return comparison.ratio->correlated ? " Not converged: neighbouring rounds are correlated, the "
                                          "interval may be too narrow."
                                        : "";
  }
  const std::string why = result.stopped.empty() ? "" : fmt::format(" ({})", result.stopped);
  return fmt::format(" Not converged{}: the interval is ±{} of the ratio, {} was asked for.", why,
                     readable_percent(half_width), readable_precision(record.settings.precision));
}

std::string not_compared(const Curve& curve) {
  const CaseResult& largest = *curve.cases.back();
  std::string reasons;
  for (const VariantResult& variant : largest.variants) {
    if (variant.skipped.has_value()) {
      reasons += fmt::format("{}{}: {}", reasons.empty() ? " (" : "; ", variant.variant,
                             one_line(*variant.skipped));
    }
  }
  return fmt::format("{}: no {} was measured with the first variant and another one{}.\n",
                     curve_or_pairs_label(curve), has_pairs(curve) ? "pair" : "size",
                     reasons.empty() ? "" : reasons + ")");
}

std::string curve_headline(const Record& record, const Curve& curve, LimitLegend& limits) {
  const auto largest = std::find_if(curve.cases.rbegin(), curve.cases.rend(),
                                    [](const CaseResult* result) { return comparable(*result); });
  if (largest == curve.cases.rend()) {
    return not_compared(curve) + wrong_sentence(curve, nullptr);
  }
  const CaseResult& result = **largest;
  const Contrast contrast = contrast_of(record, result);
  std::string text = table_of(contrast, result, limits);
  for (const Comparison& comparison : compare_variants(record, result)) {
    text += fmt::format("\n{}{}\n", outcome_sentence(contrast, result, comparison),
                        convergence_sentence(record, result, comparison));
  }
  text += pairs_sentence(record, curve, result);
  return text + wires_sentence(contrast, result) + wrong_sentence(curve, &result);
}

std::string notes(const Record& record) {
  std::string text;
  if (record.settings.backend == "mpi") {
    text += "\nThese are MPI transfers in CPU memory (backend mpi), not GPU figures.\n";
  }
  if (record.status != "complete") {
    text += fmt::format("\nThe run is not complete ({}): this is what it had measured.\n",
                        record.status);
  }
  return text;
}

/// Of more curves than anybody reads the first of each operation; wrong data is never left out.
std::vector<Curve> shown_of(const std::vector<Curve>& curves) {
  constexpr std::size_t kMostShown = 12;
  if (curves.size() <= kMostShown) {
    return curves;
  }
  std::set<OperationKind> seen;
  std::vector<Curve> shown;
  for (const Curve& curve : curves) {
    const bool first = seen.insert(curve.cases.front()->definition.operation).second;
    if (first || !wrong_sentence(curve, nullptr).empty()) {
      shown.push_back(curve);
    }
  }
  return shown;
}

}  // namespace

std::string headline(const Record& record) {
  std::string text;
  LimitLegend limits;
  const std::vector<Curve> all = curves_for_headline(record);
  const std::vector<Curve> shown = shown_of(all);
  for (const Curve& curve : shown) {
    text += text.empty() ? "" : "\n";
    text += curve_headline(record, curve, limits);
  }
  if (text.empty()) {
    text = "Nothing was measured.\n";
  }
  if (shown.size() < all.size()) {
    const auto left_out = static_cast<std::int64_t>(all.size() - shown.size());
    text += fmt::format("\n{} in the tables by size and by pair.\n",
                        counted(left_out, "curve more is", "curves more are"));
  }
  if (!limits.text().empty()) {
    text += fmt::format("\nIn brackets: busbw's share of the path's limit: {}.\n", limits.text());
  }
  return text + notes(record);
}

}  // namespace linkgain
