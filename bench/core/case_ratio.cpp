#include "linkgain/core/case_ratio.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <stdexcept>
#include <vector>

namespace linkgain {
namespace {

using TimesByLaunch = std::map<int, std::vector<double>>;

const CaseResult& case_at(const Record& record, int place) {
  return record.cases.at(static_cast<std::size_t>(place));
}

/// Its place among the case's variants, as samples name it.
int place_of(const CaseResult& result, std::string_view variant) {
  const auto found =
      std::find_if(result.variants.begin(), result.variants.end(),
                   [&](const VariantResult& each) { return each.variant == variant; });
  if (found == result.variants.end() || !found->time) {
    throw std::invalid_argument("the case has no time of that variant");
  }
  return static_cast<int>(found - result.variants.begin());
}

TimesByLaunch times_of(const Record& record, int place, int variant) {
  TimesByLaunch times;
  for (const Sample& sample : record.samples) {
    if (sample.case_index != place || sample.variant != variant) continue;
    times[sample.launch].push_back(sample.time().value);
  }
  return times;
}

double time_of(const CaseResult& result, int variant) {
  return result.variants[static_cast<std::size_t>(variant)].time->value;
}

bool has_right_time(const CaseResult& result, std::string_view variant) {
  return std::any_of(result.variants.begin(), result.variants.end(), [&](const VariantResult& own) {
    return own.variant == variant && own.time && !has_wrong_data(own);
  });
}

}  // namespace

Ratio ratio_of_cases(const Record& record, int own, int other, std::string_view variant) {
  const int of_own = place_of(case_at(record, own), variant);
  const int of_other = place_of(case_at(record, other), variant);
  const TimesByLaunch others = times_of(record, other, of_other);
  std::vector<Ratio> launches;
  for (const auto& [launch, times] : times_of(record, own, of_own)) {
    const auto found = others.find(launch);
    if (found == others.end()) continue;
    const std::size_t count = std::min(times.size(), found->second.size());
    launches.push_back(
        estimate_ratio(std::span(times).first(count), std::span(found->second).first(count)));
  }
  if (!launches.empty()) return combine_launches(launches);
  Ratio ratio;
  ratio.estimate =
      time_of(case_at(record, other), of_other) / time_of(case_at(record, own), of_own);
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
  return ratio_of_cases(record, static_cast<int>(&result - record.cases.data()),
                        static_cast<int>(twin - record.cases.begin()), variant);
}

}  // namespace linkgain
