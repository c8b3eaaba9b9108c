#include "comparison.hpp"

#include <algorithm>

#include "linkgain/analysis/run_validity.hpp"

namespace linkgain {
namespace {

Outcome judge(const Ratio& ratio) {
  if (!ratio.low.has_value() || !ratio.high.has_value()) {
    return Outcome::no_interval;
  }
  if (*ratio.low > 1.0) {
    return Outcome::less_time;
  }
  return *ratio.high < 1.0 ? Outcome::more_time : Outcome::no_difference;
}

Outcome find(const Record& record, const Comparison& comparison) {
  const VariantResult& first = *comparison.first;
  const VariantResult& other = *comparison.other;
  if (has_wrong_data(first) || has_wrong_data(other)) {
    return Outcome::wrong_data;
  }
  if (comparison.ratio == nullptr || !first.time.has_value() || !other.time.has_value()) {
    return Outcome::not_measured;
  }
  if (record.settings.backend == "nccl" && same_road(first, other) &&
      choose_roads(record, first, other)) {
    return Outcome::same_road;
  }
  return judge(*comparison.ratio);
}

}  // namespace

Words words_of(Contrast contrast) {
  switch (contrast) {
    case Contrast::nvlink:
      return {"NVLink", "P2P"};
    case Contrast::p2p:
      return {"P2P", "P2P"};
    case Contrast::shared_memory:
      return {"Shared memory", "shared memory"};
    case Contrast::variant:
      return {"Variant", ""};
  }
  return {"Variant", ""};
}

Contrast contrast_of(const Record& record, const CaseResult& result) {
  if (result.variants.size() != 2) {
    return Contrast::variant;
  }
  const VariantResult& first = result.variants[0];
  const VariantResult& other = result.variants[1];
  if (record.settings.backend == "mpi") {
    return first.variant == "shared-memory" ? Contrast::shared_memory : Contrast::variant;
  }
  if (first.path == Path::nvlink && other.path != Path::nvlink && other.path != Path::mixed) {
    return Contrast::nvlink;
  }
  return !is_p2p_off(record, first.variant) && is_p2p_off(record, other.variant)
             ? Contrast::p2p
             : Contrast::variant;
}

std::vector<Comparison> compare_variants(const Record& record, const CaseResult& result) {
  std::vector<Comparison> comparisons;
  for (std::size_t i = 1; i < result.variants.size(); ++i) {
    Comparison comparison{.first = &result.variants.front(), .other = &result.variants[i]};
    const auto ratio = std::find_if(
        result.ratios.begin(), result.ratios.end(),
        [&](const RatioResult& entry) { return entry.variant == comparison.other->variant; });
    if (ratio != result.ratios.end()) {
      comparison.ratio = &ratio->ratio;
    }
    comparison.outcome = find(record, comparison);
    comparisons.push_back(comparison);
  }
  return comparisons;
}

std::vector<Curve> curves_of(const Record& record) {
  std::vector<Curve> curves;
  for (const CaseResult& result : record.cases) {
    if (is_training(result.definition.operation)) continue;
    const std::string name = curve_name(result.definition);
    auto curve = std::find_if(curves.begin(), curves.end(),
                              [&](const Curve& known) { return known.name == name; });
    if (curve == curves.end()) {
      curve = curves.insert(curves.end(), Curve{name, {}});
    }
    curve->cases.push_back(&result);
  }
  for (Curve& curve : curves) {
    std::stable_sort(curve.cases.begin(), curve.cases.end(),
                     [](const CaseResult* a, const CaseResult* b) {
                       return a->definition.size < b->definition.size;
                     });
  }
  return curves;
}

}  // namespace linkgain
