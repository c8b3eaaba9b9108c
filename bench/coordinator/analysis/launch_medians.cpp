#include "linkgain/analysis/launch_medians.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

/// Times of one variant of one case by launch.
using TimesByLaunch = std::map<int, std::vector<double>>;

/// Those of every case and variant of a record, by their places in it. A time of zero is none.
std::vector<std::vector<TimesByLaunch>> times_of(const NamedRecord& source) {
  const Record& record = source.record;
  std::vector<std::vector<TimesByLaunch>> times(record.cases.size());
  for (std::size_t i = 0; i < times.size(); ++i) times[i].resize(record.cases[i].variants.size());
  for (const Sample& sample : record.samples) {
    const auto place = static_cast<std::size_t>(sample.case_index);
    const auto variant = static_cast<std::size_t>(sample.variant);
    if (place >= times.size() || variant >= times[place].size()) {
      throw UsageError(
          fmt::format("{}: a sample is of case {} and variant {}, which the record "
                      "does not have",
                      source.name, sample.case_index, sample.variant));
    }
    const double time = sample.time().value;
    if (time > 0.0 && std::isfinite(time)) times[place][variant][sample.launch].push_back(time);
  }
  return times;
}

int launches_in(const Record& record) {
  int launches = 0;
  for (const Sample& sample : record.samples) launches = std::max(launches, sample.launch + 1);
  return launches;
}

/// Finds the entry of a case and variant, or adds it.
class Entries {
 public:
  CaseLaunches& entry(const Case& definition, const std::string& variant) {
    const auto [place, added] =
        places_.try_emplace({case_name(definition), variant}, entries_.size());
    if (added) entries_.push_back({definition, variant, {}});
    return entries_[place->second];
  }
  std::vector<CaseLaunches> take() { return std::move(entries_); }

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
  std::vector<CaseLaunches> entries_;
};

std::string why_missing(const VariantResult& result, const TimesByLaunch& times) {
  if (result.skipped) return "skipped: " + *result.skipped;
  if (times.empty()) return "no samples";
  return fmt::format("fewer than {} samples in every launch", kFewestSamples);
}

void add_result(CaseLaunches& entry, const VariantResult& result, const TimesByLaunch& times,
                int first_launch) {
  for (const auto& [launch, values] : times) {
    if (values.size() < static_cast<std::size_t>(kFewestSamples)) continue;
    entry.launches.push_back({first_launch + launch, Seconds{median(values)}});
  }
  if (entry.launches.empty()) {
    entry.missing = why_missing(result, times);
  } else {
    entry.missing.clear();
  }
  if (!times.empty() && result.path == Path::unknown) entry.path_unknown = true;
  const bool is_new =
      std::find(entry.paths.begin(), entry.paths.end(), result.path) == entry.paths.end();
  if (!times.empty() && result.path != Path::unknown && is_new) entry.paths.push_back(result.path);
  if (has_wrong_data(result) && entry.wrong_data.empty()) {
    entry.wrong_data = describe_wrong(entry.definition, *result.verification);
  }
  entry.unhealthy_samples += result.health.unhealthy_samples;
}

}  // namespace

std::vector<CaseLaunches> launch_medians(std::span<const NamedRecord> records) {
  Entries entries;
  int first_launch = 0;
  for (const NamedRecord& source : records) {
    const std::vector<std::vector<TimesByLaunch>> times = times_of(source);
    for (std::size_t i = 0; i < source.record.cases.size(); ++i) {
      const CaseResult& result = source.record.cases[i];
      for (std::size_t j = 0; j < result.variants.size(); ++j) {
        CaseLaunches& entry = entries.entry(result.definition, result.variants[j].variant);
        add_result(entry, result.variants[j], times[i][j], first_launch);
      }
    }
    first_launch += launches_in(source.record);
  }
  return entries.take();
}

double mean_log(std::span<const LaunchMedian> launches) {
  double sum = 0.0;
  for (const LaunchMedian& launch : launches) sum += std::log(launch.time.value);
  return sum / static_cast<double>(launches.size());
}

Seconds geometric_mean(std::span<const LaunchMedian> launches) {
  return launches.size() == 1 ? launches.front().time : Seconds{std::exp(mean_log(launches))};
}

}  // namespace linkgain
