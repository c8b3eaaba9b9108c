#include "linkgain/report/headline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "comparison.hpp"
#include "limit_legend.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/table.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "outcome_sentences.hpp"
#include "pair_groups.hpp"
#include "pair_sentences.hpp"
#include "training_tables.hpp"
#include "wires.hpp"

namespace linkgain {
namespace {

std::string table_of(Contrast contrast, const CaseResult& result, LimitLegend& limits) {
  Table table({{std::string(words_of(contrast).title), Table::Alignment::left},
               {case_label(result.definition), Table::Alignment::right},
               {"busbw", Table::Alignment::right, true},
               {"Path", Table::Alignment::left}});
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
                     variant.busbw.has_value() ? readable_bandwidth(*variant.busbw) +
                                                     limits.share(result.definition, variant)
                                               : "",
                     std::string(readable_path(variant.path))});
    }
  }
  return table.markdown();
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
  std::string text = training_tables(record);
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
