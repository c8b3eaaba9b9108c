#include "linkgain/analysis/kernel_ratio.hpp"

#include <algorithm>

namespace linkgain {
namespace {

/// Gives null where there is none, or of wrong data.
const LaunchMean* right_mean(const CaseResult& result,
                             const std::vector<std::optional<LaunchMean>>& means,
                             std::string_view variant) {
  const auto found =
      std::find_if(result.variants.begin(), result.variants.end(),
                   [&](const VariantResult& each) { return each.variant == variant; });
  if (found == result.variants.end() || has_wrong_data(*found)) return nullptr;
  const auto& mean = means.at(static_cast<std::size_t>(found - result.variants.begin()));
  return mean ? &*mean : nullptr;
}

}  // namespace

std::optional<Estimate> library_ratio(const Record& record, const LaunchMeans& means,
                                      std::size_t place, std::string_view variant) {
  const CaseResult& result = record.cases.at(place);
  if (!result.definition.kernel) return std::nullopt;
  Case definition = result.definition;
  definition.kernel = false;
  const auto twin =
      std::find_if(record.cases.begin(), record.cases.end(),
                   [&](const CaseResult& each) { return each.definition == definition; });
  if (twin == record.cases.end()) return std::nullopt;
  const LaunchMean* own = right_mean(result, means.at(place), variant);
  const auto twin_place = static_cast<std::size_t>(twin - record.cases.begin());
  const LaunchMean* library = right_mean(*twin, means.at(twin_place), variant);
  if (own == nullptr || library == nullptr) return std::nullopt;
  return ratio_between(*own, *library);
}

}  // namespace linkgain
