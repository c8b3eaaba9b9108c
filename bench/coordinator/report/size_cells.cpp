#include "size_cells.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linkgain/record/limits.hpp"

namespace linkgain {
namespace {

/// In GB/s; bandwidths of the smallest messages say nothing, the CSV has their digits.
std::string bandwidth_cell(const Case& definition, const VariantResult& variant,
                           LimitLegend& limits) {
  if (!variant.busbw) {
    return {};
  }
  const std::string with_unit = readable_bandwidth(*variant.busbw);
  const bool tiny = *variant.busbw > 0.0 && *variant.busbw < 0.00995;
  return (tiny ? "<0.01" : with_unit.substr(0, with_unit.find(' '))) +
         limits.share(definition, variant);
}

/// Whether some ratio that is shown is less certain than was asked for.
bool shows_unconverged(const CaseResult& result, const std::vector<Comparison>& comparisons) {
  return !result.converged &&
         std::any_of(comparisons.begin(), comparisons.end(), [](const Comparison& comparison) {
           return comparison.outcome == Outcome::less_time ||
                  comparison.outcome == Outcome::more_time ||
                  comparison.outcome == Outcome::no_difference ||
                  comparison.outcome == Outcome::no_interval;
         });
}

/// "11.8–12.0x".
}  // namespace

std::string interval_cell(const RatioText& text) {
  return text.low ? fmt::format("{}–{}", text.low->substr(0, text.low->size() - 1), *text.high)
                  : "too few rounds";
}

std::vector<std::string> variant_names(const std::vector<const CaseResult*>& cases) {
  std::vector<std::string> names;
  for (const CaseResult* result : cases) {
    for (const VariantResult& variant : result->variants) {
      if (std::find(names.begin(), names.end(), variant.variant) == names.end()) {
        names.push_back(variant.variant);
      }
    }
  }
  return names;
}

std::vector<std::string> time_cells(const Case& definition, const VariantResult* variant,
                                    SizeLegend& legend) {
  if (variant == nullptr) {
    return {"", ""};
  }
  if (has_wrong_data(*variant)) {
    const std::string what = one_line(describe_wrong(definition, *variant->verification));
    return {"WRONG DATA " + legend.footnotes.number(what), ""};
  }
  if (variant->skipped.has_value()) {
    return {"skipped " + legend.footnotes.number(one_line(*variant->skipped)), ""};
  }
  return {variant->time.has_value() ? readable_time(*variant->time) : "",
          bandwidth_cell(definition, *variant, legend.limits)};
}

std::vector<std::string> ratio_cells(const Comparison& comparison, Footnotes& footnotes) {
  switch (comparison.outcome) {
    case Outcome::wrong_data:
    case Outcome::not_measured:
      return {"", "", ""};
    case Outcome::same_road:
      footnotes.mark(
          "same road",
          "the variants' bytes took the same road, so their times do not show what one road "
          "is worth against another");
      return {"same road", std::string(readable_path(comparison.first->path)), ""};
    case Outcome::no_interval:
    case Outcome::no_difference:
    case Outcome::less_time:
    case Outcome::more_time:
      break;
  }
  const RatioText text = readable_ratio(*comparison.ratio);
  return {text.estimate, interval_cell(text),
          readable_percent(less_time(comparison.ratio->estimate))};
}

std::string evidence_cell(const VariantResult* variant) {
  const bool counted = variant != nullptr && variant->evidence;
  const std::optional<double> share = counted ? variant->evidence->judged_share() : std::nullopt;
  if (!share) return {};
  const std::string percent = rounded_percent(*share, 1);
  return percent.substr(0, percent.find(' '));
}

bool any_evidence(const std::vector<const CaseResult*>& cases) {
  return std::any_of(cases.begin(), cases.end(), [](const CaseResult* result) {
    return std::any_of(result->variants.begin(), result->variants.end(),
                       [](const VariantResult& entry) { return !evidence_cell(&entry).empty(); });
  });
}

std::string case_marks(const Record& record, const CaseResult& result,
                       const std::vector<Comparison>& comparisons, Footnotes& footnotes) {
  return shows_unconverged(result, comparisons)
             ? footnotes.mark(
                   "*", fmt::format(
                            "not converged: the interval did not come within {} of the ratio, or "
                            "neighbouring rounds are correlated, so that it may be too narrow",
                            "±" + percent_of_digits(record.settings.precision)))
             : std::string{};
}

std::vector<std::string> variant_marks(const Case& definition, const VariantResult& variant,
                                       Footnotes& footnotes) {
  constexpr double kClearlyMore = 1.005;  // which is shown as 101 %
  std::vector<std::string> marks;
  if (shown_fraction(definition, variant).value_or(0.0) >= kClearlyMore) {
    marks.push_back(footnotes.mark(
        "m", "more than the limit, which was measured before: the path carried less then"));
  }
  if (variant.time.has_value() && !variant.execution.cold_data) {
    marks.push_back(
        footnotes.mark("w", "warm data: operations may find their buffers in the cache"));
  }
  if (variant.time.has_value() && variant.execution.form == kGroupedForm) {
    marks.push_back(footnotes.mark(
        "g", "grouped: sends and receives in one group, not one collective of the library"));
  }
  if (variant.health.unhealthy_samples > 0) {
    marks.push_back(footnotes.mark(
        "h",
        "held back: heat, a power brake or a hardware slowdown cut a GPU's clocks in some "
        "samples, so the times may be too long"));
  }
  if (variant.health.power_capped_samples > 0) {
    marks.push_back(footnotes.mark("p", "a GPU ran at its power limit in some samples"));
  }
  return marks;
}

std::string column_legend(const std::string& items, const SizeLegend& legend,
                          const std::string& evidence, const std::string& paths) {
  std::string text = items;
  const std::string limits = legend.limits.text();
  text += paths.empty() ? "" : fmt::format("- Path: {}\n", paths);
  text += limits.empty()
              ? ""
              : fmt::format("- busbw: in brackets its share of the path's limit: {}\n", limits);
  text += evidence.empty() ? ""
                           : fmt::format(
                                 "- NVLink %: bytes that NVLink carried, of those expected "
                                 "if it carries every message{}\n",
                                 evidence);
  text += legend.footnotes.markdown();
  return text.empty() ? text : "\n" + text;
}

}  // namespace linkgain
