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
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "nvlink_traffic.hpp"
#include "training_tables.hpp"

namespace linkgain {
namespace {

std::string table_of(const CaseSummary& each, LimitLegend& limits) {
  Table table({{std::string(words_of(each.contrast).title)},
               {case_label(each.definition()), kRight},
               {"busbw", kRight, true},
               {"Path"}});
  for (const VariantSummary& variant : each.variants) {
    const VariantResult& result = *variant.result;
    const bool first = &variant == &each.variants.front();
    const std::string name = each.contrast == Contrast::variant ? result.variant
                             : first                            ? "Y"
                                                                : "N";
    if (variant.wrong_data) {
      table.add_row({name, "**WRONG DATA**", ""});
    } else if (!result.time) {
      table.add_row({name, result.skipped ? "skipped" : "not measured", ""});
    } else {
      table.add_row({name, readable_time(*result.time),
                     result.busbw ? readable_bandwidth(*result.busbw) + limits.share(variant) : "",
                     std::string(readable_path(result.path))});
    }
  }
  return table.markdown();
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
                             markdown_text(one_line(why_skipped(variant))));
    }
  }
  return fmt::format("{}: no {} was measured with the first variant and another one{}.\n",
                     curve_or_pairs_label(curve), curve.has_pairs() ? "pair" : "size",
                     reasons.empty() ? "" : reasons + ")");
}

/// "**WRONG DATA** at other sizes: 8 B.", or at other pairs where the curve has several; `shown` is
/// left out. Empty where there is none.
std::string wrong_sentence(const Curve& curve, const CaseSummary* shown) {
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
  return fmt::format("\n**WRONG DATA** at other {}: {}{}.\n", pairs ? "pairs" : "sizes",
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
    return fmt::format("\nThe {} pairs compared do not differ by more than {} with {}.\n",
                       compared.size(), percent_of_digits(summary.distinct()), variant.variant);
  }
  const Comparison& comparison = strongest.comparisons.front();
  const std::string speed_up =
      comparison.has_speed_up()
          ? fmt::format(", speed-up {}", readable_ratio(*comparison.ratio).estimate)
          : "";
  return fmt::format(
      "\nOf {} pairs compared it takes longest with {}; {} takes least: {} ({}{}).\n",
      compared.size(), variant.variant, curve_label(strongest.definition()),
      readable_time(*variant.time), readable_path(variant.path), speed_up);
}

std::string curve_headline(const RunSummary& summary, const Curve& curve, LimitLegend& limits) {
  const CaseSummary* largest = curve.largest(&CaseSummary::is_compared);
  if (largest == nullptr) {
    return not_compared(curve) + wrong_sentence(curve, nullptr);
  }
  const CaseSummary& shown = *largest;
  std::string text = table_of(shown, limits);
  for (const Comparison& comparison : shown.comparisons) {
    text += fmt::format("\n{}{}\n", outcome_sentence(shown, comparison),
                        convergence_sentence(summary, shown, comparison));
  }
  text += pairs_sentence(summary, curve, shown);
  return text + nvlink_traffic_sentence(shown) + wrong_sentence(curve, &shown);
}

/// Curves behind the first: the largest size of each in a row of one table.
std::string further_curves(const RunSummary& summary) {
  RowLabels rows{.title = {"Case"}, .place = "in this case"};
  std::vector<const CaseSummary*> cases;
  std::string sentences;
  for (std::size_t i = 1; i < summary.headline.size(); ++i) {
    const Curve& curve = summary.headline[i];
    const CaseSummary* largest = curve.largest(&CaseSummary::is_compared);
    if (largest == nullptr) {
      sentences += "\n" + not_compared(curve);
    } else {
      cases.push_back(largest);
      rows.labels.push_back(case_label(largest->definition()));
    }
    if (const std::string wrong = wrong_sentence(curve, largest); !wrong.empty()) {
      sentences += fmt::format("\n{}: {}", curve_or_pairs_label(curve), wrong.substr(1));
    }
  }
  if (cases.empty()) return sentences;
  return fmt::format("\nThe largest size of each other operation:\n\n{}{}",
                     case_table(summary, curve_of("", std::move(cases)), rows), sentences);
}

std::string notes(const Record& record) {
  std::string text;
  if (record.settings.backend == BackendKind::mpi) {
    text += "\nThese are MPI transfers in CPU memory (backend mpi), not GPU figures.\n";
  }
  if (record.status != RunStatus::complete) {
    text += fmt::format("\nThe run is not complete ({}): this is what it had measured.\n",
                        name_of(record.status));
  }
  return text;
}

}  // namespace

std::vector<HeadlinePart> headline_parts(const RunSummary& summary) {
  std::vector<HeadlinePart> parts;
  if (std::string text = training_tables(summary); !text.empty()) {
    parts.push_back({"Training", std::move(text)});
  }
  LimitLegend limits;
  for (const Curve& curve : summary.headline) {
    parts.push_back(
        {curve_or_pairs_label(curve) + ", largest size", curve_headline(summary, curve, limits)});
    if (summary.is_condensed) break;
  }
  std::string rest = summary.is_condensed ? further_curves(summary) : "";
  if (parts.empty() && rest.empty()) rest = "Nothing was measured.\n";
  if (summary.left_out_of_headline > 0) {
    rest += fmt::format(
        "\n{} in the tables by size and by pair{}.\n",
        counted(static_cast<std::int64_t>(summary.left_out_of_headline), "curve more is",
                "curves more are"),
        summary.is_condensed ? ", in groups; `linkgain report --format csv` has every case" : "");
  }
  if (!limits.text().empty()) {
    rest += fmt::format("\nIn brackets: busbw's share of the path's limit: {}.\n", limits.text());
  }
  parts.push_back({"Further curves", rest + notes(summary.record)});
  return parts;
}

std::string headline(const RunSummary& summary) {
  const std::vector<HeadlinePart> parts = headline_parts(summary);
  std::string text;
  for (const HeadlinePart& part : parts) {
    const bool is_last = &part == &parts.back();
    text += (text.empty() || is_last ? "" : "\n") + part.text;
  }
  return text;
}

}  // namespace linkgain
