#include "linkgain/summary/headroom_steps.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/statistics/launch_shift.hpp"

namespace linkgain {
namespace {

/// A case's launches of one variant, or what is computed from such.
struct Station {
  HeadroomStation station = HeadroomStation::nccl;
  CaseLaunches of;
  std::optional<LaunchDeviation> deviation{};
  std::optional<int> blocks{};

  LaunchMean mean() const { return mean_of(of.definition, of.launches, deviation); }
};

/// Leaves what variants may differ in beside their names and variables of NCCL's.
Variant without_nccl(Variant variant) {
  const auto is_of_nccl = [](std::string_view name) { return name.starts_with("NCCL_"); };
  std::erase_if(variant.environment, [&](const auto& each) { return is_of_nccl(each.first); });
  std::erase_if(variant.unset, is_of_nccl);
  variant.name.clear();
  return variant;
}

/// Leaves each station the launches that all of them have.
void keep_common_launches(const std::vector<Station*>& stations) {
  std::map<int, std::size_t> counts;
  for (const Station* station : stations) {
    for (const LaunchMedian& each : station->of.launches) ++counts[each.launch];
  }
  for (Station* station : stations) {
    std::erase_if(station->of.launches,
                  [&](const LaunchMedian& each) { return counts[each.launch] < stations.size(); });
  }
}

/// Computes the floor of a sum, by what both have launches of: see headroom_curves().
Station floor_of(const Case& sum, const Station& latency, const Station& stores) {
  const Case& smallest = latency.of.definition;
  const double bytes = bus_bandwidth_factor(sum.operation, sum.ranks) *
                       static_cast<double>(sum.size.value - smallest.size.value);
  const double share = bytes / static_cast<double>(stores.of.definition.size.value);
  Station floor{.station = HeadroomStation::floor, .of = {sum, latency.of.variant, {}}};
  for (std::size_t i = 0; i < latency.of.launches.size(); ++i) {
    const Seconds time{latency.of.launches[i].time.value +
                       share * stores.of.launches[i].time.value};
    floor.of.launches.push_back({latency.of.launches[i].launch, time});
  }
  floor.deviation = pooled_deviations({&floor.of, 1}).front();
  return floor;
}

/// Measures stations of one record, with its first variant unless another is named.
class Stations {
 public:
  explicit Stations(const Record& record) : record_(record), means_(launch_means(record)) {}

  /// Finds a case; absent where it has no launches of right data.
  std::optional<Station> find(HeadroomStation station, const Case& definition,
                              std::size_t variant = 0) const {
    const auto found = std::ranges::find(record_.cases, definition, &CaseResult::definition);
    const std::vector<Variant>& variants = record_.settings.variants;
    if (found == record_.cases.end() || variant >= variants.size()) return std::nullopt;
    const std::string& name = variants[variant].name;
    const VariantResult* result = find_variant(*found, name);
    if (result == nullptr) return std::nullopt;
    const auto place = static_cast<std::size_t>(result - found->variants.data());
    const auto& mean = means_[static_cast<std::size_t>(found - record_.cases.begin())][place];
    CaseLaunches of{definition, name, counted_launches(record_, *found, place), {result->path}};
    if (!mean || of.launches.empty()) return std::nullopt;
    return Station{station, std::move(of), mean->deviation,
                   result->evidence ? result->evidence->plan.blocks : std::nullopt};
  }

  /// Gives the fastest of the variants that only set variables of NCCL and keep the path, if it is
  /// shown to be faster than the station before.
  std::optional<Station> faster(HeadroomStation station, const Case& definition,
                                const Station& before) const {
    const std::vector<Variant>& variants = record_.settings.variants;
    std::vector<Station> tried;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (without_nccl(variants[i]) != without_nccl(variants.front())) continue;
      auto one = find(station, definition, i);
      const bool keeps_path =
          one && one->of.paths == before.of.paths && before.of.paths.front() != Path::unknown;
      const bool is_before =
          one && one->of.definition == before.of.definition && one->of.variant == before.of.variant;
      if (keeps_path && !is_before) tried.push_back(*std::move(one));
    }
    constexpr double kChance = 0.025;
    const double of_each = kChance / static_cast<double>(std::max<std::size_t>(1, tried.size()));
    std::erase_if(tried, [&](const Station& each) {
      const std::optional<LaunchShift> shift = shift_between(before.mean(), each.mean());
      return !shift || chance_below(*shift, 0.0) > of_each;
    });
    return least(std::move(tried), [](const Station& each) { return each.mean().time.value; });
  }

  /// Gives the copies of most bytes a second.
  std::optional<Station> fastest_stores(int ranks) const {
    std::vector<Station> all = find_all([ranks](const Case& c) {
      return c.operation == OperationKind::copy_push && c.kernel && c.ranks == ranks &&
             (!c.pair || c.pair->both);
    });
    return least(std::move(all), [](const Station& each) {
      return each.mean().time.value / static_cast<double>(each.of.definition.size.value);
    });
  }

  /// Gives the smallest sum by kernel that differs from this one of NCCL's in size and launch mode.
  std::optional<Station> smallest_sum(Case sum) const {
    sum.kernel = true;
    std::vector<Station> all = find_all([&sum](const Case& c) {
      sum.size = c.size;
      sum.launch = c.launch;
      return sum == c && c.size <= kLargestLatency;
    });
    return least(std::move(all), [](const Station& each) {
      return std::pair(each.of.definition.size, each.mean().time);
    });
  }

 private:
  template <typename Is>
  std::vector<Station> find_all(const Is& is) const {
    std::vector<Station> all;
    for (const CaseResult& result : record_.cases) {
      if (!is(result.definition)) continue;
      if (auto one = find(HeadroomStation::floor, result.definition))
        all.push_back(*std::move(one));
    }
    return all;
  }

  template <typename Value>
  static std::optional<Station> least(std::vector<Station> all, const Value& value) {
    if (all.empty()) return std::nullopt;
    return *std::ranges::min_element(all, {}, value);
  }

  const Record& record_;
  LaunchMeans means_;
};

/// Puts the stations of one size beside each other; absent where there is only one.
std::optional<HeadroomRow> row_of(std::vector<Station> stations, std::optional<Station> latency,
                                  std::optional<Station> stores) {
  std::vector<Station*> all;
  for (Station& each : stations) all.push_back(&each);
  const Bytes size = stations.front().of.definition.size;
  const bool has_floor = latency && stores && latency->of.definition.size <= size;
  if (has_floor) all.insert(all.end(), {&*latency, &*stores});
  keep_common_launches(all);
  if (all.size() < 2 || stations.front().of.launches.empty()) return std::nullopt;
  const Station& last = stations.back();
  const bool is_own_floor = has_floor && last.of.definition == latency->of.definition;
  if (has_floor) {
    stations.push_back(is_own_floor ? last : floor_of(last.of.definition, *latency, *stores));
    stations.back().station = HeadroomStation::floor;
  }
  HeadroomRow row{.name = case_name(stations.front().of.definition), .steps = {}};
  for (std::size_t i = 0; i < stations.size(); ++i) {
    const Station& own = stations[i];
    const LaunchMean mean = own.mean();
    HeadroomStep& step = row.steps.emplace_back();
    step.station = own.station;
    if (own.of.variant != stations.front().of.variant) step.variant = own.of.variant;
    step.time = mean.time;
    if (own.station != HeadroomStation::floor) step.blocks = own.blocks;
    if (i == 0) continue;
    step.factor = ratio_between(mean, stations[i - 1].mean());
    step.whole = ratio_between(mean, stations.front().mean());
  }
  if (is_own_floor) row.steps.back().factor->interval.reset();  // it is 1 by definition
  return row;
}

}  // namespace

std::vector<HeadroomCurve> headroom_curves(const RunSummary& summary) {
  std::vector<HeadroomCurve> curves;
  const Stations measured(summary.record);
  for (const Curve* sums : summary.curves()) {
    const Case& first = sums->cases.front()->definition();
    const bool is_nccl = !first.kernel && first.buffers == Buffers::plain;
    if (first.operation != OperationKind::all_reduce || !is_nccl) continue;
    const std::optional<Station> latency = measured.smallest_sum(first);
    const std::optional<Station> stores = measured.fastest_stores(first.ranks);
    HeadroomCurve curve{.definition = sums->definition(), .rows = {}};
    if (latency) curve.latency = latency->of.definition;
    if (stores) {
      curve.stores = stores->of.definition;
      curve.stores_gb_per_s = bus_bandwidth(*curve.stores, stores->mean().time);
    }
    for (const CaseSummary* sum : sums->cases) {
      const std::optional<Station> nccl = measured.find(HeadroomStation::nccl, sum->definition());
      if (!nccl) continue;
      Case symmetric = sum->definition();
      symmetric.buffers = Buffers::symmetric;
      Case kernel = sum->definition();
      kernel.kernel = true;
      std::vector<Station> stations{*nccl};
      const auto add = [&](std::optional<Station> station) {
        if (station) stations.push_back(*std::move(station));
      };
      add(measured.faster(HeadroomStation::setting, sum->definition(), *nccl));
      add(measured.faster(HeadroomStation::symmetric, symmetric, stations.back()));
      add(measured.find(HeadroomStation::kernel, kernel));
      if (auto row = row_of(std::move(stations), latency, stores)) curve.rows.push_back(*row);
    }
    const bool says_more = std::ranges::any_of(
        curve.rows, [](const HeadroomRow& row) { return row.steps.size() > 2; });
    if (says_more) curves.push_back(std::move(curve));
  }
  return curves;
}

const HeadroomStep* find_step(const HeadroomRow& row, HeadroomStation station) {
  const auto found = std::ranges::find(row.steps, station, &HeadroomStep::station);
  return found == row.steps.end() ? nullptr : &*found;
}

const HeadroomStep& best_of_nccl(const HeadroomRow& row) {
  const auto is_of_nccl = [](const HeadroomStep& step) {
    return step.station < HeadroomStation::kernel;
  };
  return *(std::ranges::find_if_not(row.steps, is_of_nccl) - 1);
}

std::optional<HeadroomRow> headroom_row(std::span<const HeadroomCurve> curves, Case kernel) {
  kernel.kernel = false;
  const std::string name = case_name(kernel);
  for (const HeadroomCurve& curve : curves) {
    const auto found = std::ranges::find(curve.rows, name, &HeadroomRow::name);
    if (found != curve.rows.end()) return *found;
  }
  return std::nullopt;
}

}  // namespace linkgain
