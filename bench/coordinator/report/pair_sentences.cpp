#include "pair_sentences.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "pair_groups.hpp"

namespace linkgain {
namespace {

bool gave_wrong_data(const CaseResult& result) {
  return std::any_of(result.variants.begin(), result.variants.end(), has_wrong_data);
}

/// ", speed-up 5.76x", against the second variant; empty where there is none.
std::string speed_up(const Record& record, const CaseResult& result) {
  const std::vector<Comparison> comparisons = compare_variants(record, result);
  switch (comparisons.empty() ? Outcome::not_measured : comparisons.front().outcome) {
    case Outcome::wrong_data:
    case Outcome::not_measured:
    case Outcome::same_road:
      return {};
    case Outcome::no_interval:
    case Outcome::no_difference:
    case Outcome::less_time:
    case Outcome::more_time:
      break;
  }
  return fmt::format(", speed-up {}", readable_ratio(*comparisons.front().ratio).estimate);
}

}  // namespace

bool has_pairs(const Curve& curve) {
  return std::any_of(curve.cases.begin(), curve.cases.end(), [&](const CaseResult* result) {
    return result->definition.pair != curve.cases.front()->definition.pair;
  });
}

std::string curve_or_pairs_label(const Curve& curve) {
  Case definition = curve.cases.front()->definition;
  if (!has_pairs(curve)) {
    return curve_label(definition);
  }
  const bool both = definition.pair->both;
  definition.pair.reset();
  return fmt::format("{} between pairs{}", curve_label(definition), both ? ", both ways" : "");
}

bool comparable(const CaseResult& result) {
  return result.variants.size() > 1 && result.variants.front().time.has_value() &&
         std::any_of(result.variants.begin() + 1, result.variants.end(),
                     [](const VariantResult& variant) { return variant.time.has_value(); });
}

std::string wrong_sentence(const Curve& curve, const CaseResult* shown) {
  constexpr std::size_t kMostNamed = 8;
  const bool pairs = has_pairs(curve);
  std::vector<std::string> wrong;
  for (const CaseResult* result : curve.cases) {
    if (result != shown && gave_wrong_data(*result)) {
      wrong.push_back(pairs ? case_label(result->definition)
                            : readable_bytes(result->definition.size));
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

std::string pairs_sentence(const Record& record, const Curve& curve, const CaseResult& weakest) {
  std::vector<const CaseResult*> compared;
  std::vector<double> times;
  for (const CaseResult* result : curve.cases) {
    const bool alike = result->definition.size == weakest.definition.size && comparable(*result);
    if (alike && !gave_wrong_data(*result)) {
      compared.push_back(result);
      times.push_back(result->variants.front().time->value);
    }
  }
  if (compared.size() < 2) {
    return {};
  }
  const CaseResult& strongest = *compared.front();
  const VariantResult& variant = strongest.variants.front();
  const double precision = record.settings.precision;
  if (!differ(times, precision)) {
    return fmt::format("\nThe {} pairs compared do not differ by more than {} with {}.\n",
                       compared.size(), percent_of_digits(precision), variant.variant);
  }
  return fmt::format(
      "\nOf {} pairs compared it takes longest with {}; {} takes least: {} ({}{}).\n",
      compared.size(), variant.variant, curve_label(strongest.definition),
      readable_time(*variant.time), readable_path(variant.path), speed_up(record, strongest));
}

}  // namespace linkgain
