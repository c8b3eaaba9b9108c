#include "linkgain/analysis/kernel_ratio.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

namespace linkgain {
namespace {

const VariantResult& timed_variant(const CaseResult& result, std::string_view name) {
  const VariantResult* found = find_variant(result, name);
  if (found == nullptr || !found->time) {
    throw std::invalid_argument("the case has no time of that variant");
  }
  return *found;
}

LaunchTimes times_of(const CaseResult& result, const VariantResult& variant) {
  return launch_times(result, static_cast<std::size_t>(&variant - result.variants.data()));
}

bool has_right_time(const CaseResult& result, std::string_view variant) {
  const VariantResult* found = find_variant(result, variant);
  return found != nullptr && found->time && !has_wrong_data(*found);
}

}  // namespace

Ratio ratio_of_cases(const CaseResult& own, const CaseResult& other, std::string_view variant) {
  const VariantResult& of_own = timed_variant(own, variant);
  const VariantResult& of_other = timed_variant(other, variant);
  const LaunchTimes others = times_of(other, of_other);
  std::vector<Ratio> launches;
  for (const auto& [launch, times] : times_of(own, of_own)) {
    const auto found = others.find(launch);
    if (found == others.end()) continue;
    const std::size_t count = std::min(times.size(), found->second.size());
    launches.push_back(
        estimate_ratio(std::span(times).first(count), std::span(found->second).first(count)));
  }
  if (!launches.empty()) return combine_launches(launches);
  Ratio ratio;
  ratio.estimate = of_other.time->value / of_own.time->value;
  return ratio;
}

std::optional<Ratio> library_ratio(const Record& record, const CaseResult& result,
                                   std::string_view variant) {
  if (!result.definition.kernel || !has_right_time(result, variant)) return std::nullopt;
  Case definition = result.definition;
  definition.kernel = false;
  const auto twin =
      std::find_if(record.cases.begin(), record.cases.end(),
                   [&](const CaseResult& each) { return each.definition == definition; });
  if (twin == record.cases.end() || !has_right_time(*twin, variant)) return std::nullopt;
  return ratio_of_cases(result, *twin, variant);
}

}  // namespace linkgain
