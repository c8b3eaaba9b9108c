#include "linkgain/predict/measured_link.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <set>
#include <stdexcept>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/summary/link_bounds.hpp"
#include "linkgain/summary/run_summary.hpp"

namespace linkgain {
namespace {

constexpr const char* kMeasureAdvice = "measure with linkgain run --profile inference";

/// Tells whether it is an all-reduce in memory as frameworks and engines have it.
bool is_sum(const Case& c) {
  return c.operation == OperationKind::all_reduce && !c.in_place &&
         (c.buffers == Buffers::plain || c.buffers == Buffers::symmetric);
}

Reducer reducer_of(const Case& c) {
  return c.kernel                          ? Reducer::kernel
         : c.buffers == Buffers::symmetric ? Reducer::symmetric
                                           : Reducer::nccl;
}

/// Gives the time that a growth by `pace` from `from` to `to` makes at `size`.
double grown(const CurvePoint& point, double pace, const CurveStep& step, double size) {
  const auto log_of = [](Bytes bytes) { return std::log(static_cast<double>(bytes.value)); };
  const double share =
      (std::log(size) - log_of(point.size)) / (log_of(step.to.size) - log_of(step.from.size));
  return point.time.value * std::pow(pace, share);
}

CurvePoint curve_point(const TimeCurve::Point& point) {
  const double time = point.mean.time.value;
  const double error = point.mean.deviation
                           ? time * point.mean.deviation->deviation / std::sqrt(point.mean.launches)
                           : 0.0;
  return {Bytes{std::llround(point.at)}, point.mean.time, {time - error, time + error}, {}};
}

/// Returns the value that most sizes have; of several the one that `preferred` has first.
template <typename Value>
Value most_frequent(const std::map<Value, std::set<std::int64_t>>& sizes,
                    const std::vector<Value>& preferred) {
  const auto more = [&](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
  const auto most = std::ranges::max_element(sizes, more);
  for (const Value& value : preferred) {
    const auto found = sizes.find(value);
    if (found != sizes.end() && !more(*found, *most)) return value;
  }
  return most->first;
}

class LinkReader {
 public:
  LinkReader(const Record& record, std::optional<int> ranks, const std::string& today)
      : record_(record), today_(today), means_(launch_means(record)) {
    for (std::size_t i = 0; i < record.cases.size(); ++i) {
      if (is_sum(record.cases[i].definition) && !record.cases[i].samples.empty())
        sums_.push_back(i);
    }
    if (sums_.empty()) {
      throw UsageError("the record has no all-reduce, which a prediction rests on", kMeasureAdvice);
    }
    choose_ranks(ranks);
    choose_type();
  }

  MeasuredLink read() {
    name_machine();
    choose_variants();
    add_products();
    add_trainings();
    return std::move(link_);
  }

 private:
  const Case& definition(std::size_t place) const { return record_.cases[place].definition; }

  void choose_ranks(std::optional<int> ranks) {
    std::map<int, std::set<std::int64_t>> sizes;
    for (const std::size_t i : sums_) sizes[definition(i).ranks].insert(definition(i).size.value);
    if (ranks && !sizes.contains(*ranks)) {
      throw UsageError(fmt::format("--tp {}: the record has all-reduces over {} ranks", *ranks,
                                   fmt::join(std::views::keys(sizes), ", ")));
    }
    link_.ranks = ranks ? *ranks : most_frequent(sizes, {2});
    std::erase_if(sums_, [&](std::size_t i) { return definition(i).ranks != link_.ranks; });
  }

  /// Keeps one type of those back to back, beside those in context, which are all bfloat16.
  void choose_type() {
    using enum DataType;
    std::map<DataType, std::set<std::int64_t>> sizes;
    for (const std::size_t i : sums_) {
      const Case& c = definition(i);
      if (c.hidden == 0) sizes[c.type].insert(c.size.value);
    }
    if (sizes.empty()) return;
    link_.back_to_back_type = most_frequent(sizes, {bfloat16, float16, float32});
    std::erase_if(sums_, [&](std::size_t i) {
      return definition(i).hidden == 0 && definition(i).type != link_.back_to_back_type;
    });
  }

  void name_machine() {
    const std::vector<RankInfo>& ranks = record_.machine.ranks;
    const bool has_gpu = !ranks.empty() && ranks.front().gpu;
    link_.gpus = has_gpu ? fmt::format("{} x {}", link_.ranks, ranks.front().gpu->name)
                         : fmt::format("{} ranks in CPU memory", link_.ranks);
    if (has_gpu) link_.memory_bytes = ranks.front().gpu->memory_bytes;
  }

  /// Finds what the launches of a case and variant say; absent without a time above 0, which what
  /// an all-reduce adds in context need not have.
  std::optional<LaunchMean> mean_of(std::size_t place, std::string_view variant) const {
    const std::vector<VariantResult>& variants = record_.cases[place].variants;
    const auto found = std::ranges::find(variants, variant, &VariantResult::variant);
    if (found == variants.end()) return std::nullopt;
    const auto& mean = means_[place][static_cast<std::size_t>(found - variants.begin())];
    return mean && mean->time > Seconds{0.0} ? mean : std::nullopt;
  }

  /// Finds the same of the first variant that has a time: those of a local operation do the same.
  std::optional<LaunchMean> first_mean(std::size_t place) const {
    for (const VariantResult& each : record_.cases[place].variants) {
      if (const std::optional<LaunchMean> mean = mean_of(place, each.variant)) return mean;
    }
    return std::nullopt;
  }

  /// Reads the curves of a variant: by reducer and context the times of every size, as graphs where
  /// there are both launch modes.
  LinkSide side_of(const std::string& variant) const {
    std::map<std::pair<Reducer, bool>, std::map<std::int64_t, LaunchMean>> found;
    for (const LaunchMode mode : {LaunchMode::graph, LaunchMode::stream}) {
      for (const std::size_t i : sums_) {
        const Case& c = definition(i);
        const std::optional<LaunchMean> mean = mean_of(i, variant);
        if (!mean || c.launch != mode) continue;
        found[{reducer_of(c), c.hidden > 0}].try_emplace(c.size.value, *mean);
      }
    }
    LinkSide side{.variant = variant, .name = variant, .path = path_of(variant)};
    for (const auto& [key, sizes] : found) {
      if (sizes.size() < 2) continue;
      std::vector<TimeCurve::Point> points;
      for (const auto& [size, mean] : sizes) points.push_back({static_cast<double>(size), mean});
      side.curves.emplace(key, TimeCurve(std::move(points)));
    }
    return side;
  }

  /// Tells what carried the largest all-reduce.
  Path path_of(const std::string& variant) const {
    Path path = Path::unknown;
    std::int64_t largest = 0;
    for (const std::size_t i : sums_) {
      const VariantResult* const found = find_variant(record_.cases[i], variant);
      if (found == nullptr || !found->time || reducer_of(definition(i)) != Reducer::nccl) continue;
      if (definition(i).size.value < largest) continue;
      largest = definition(i).size.value;
      path = linkgain::path_of(record_.machine, definition(i), *found);
    }
    return path;
  }

  /// Returns the variant without the link: host, one that took another path than the first, or the
  /// second; empty where there is one variant.
  std::string other_variant(Path first) const {
    const std::vector<Variant>& variants = record_.settings.variants;
    std::string second;
    for (std::size_t i = 1; i < variants.size(); ++i) {
      const std::string& name = variants[i].name;
      const bool differs = path_of(name) != first && path_of(second) == first;
      if (name == "host") return name;
      if (second.empty() || differs) second = name;
    }
    return second;
  }

  void choose_variants() {
    const std::vector<Variant>& variants = record_.settings.variants;
    const std::string first = variants.empty() ? "p2p" : variants.front().name;
    const Path path = path_of(first);
    const std::string second = other_variant(path);
    link_.link = side_of(first);
    if (!second.empty()) link_.other = side_of(second);
    const bool is_same = path != Path::unknown && path == path_of(second);
    const bool has_link = path == Path::nvlink || path == Path::pcie_p2p;
    if (has_link) link_.link.name = readable_path(path);
    const bool is_host = path == Path::host_memory && record_.settings.backend == BackendKind::nccl;
    const bool is_missing = link_.link.curves.empty() || is_host || (is_same && !has_link);
    const RunSummary summary(record_);
    const std::optional<LinkBounds> bounds = link_bounds(summary);
    const bool has_limit = bounds && bounds->link.gb_per_s;
    if (is_missing || (path == Path::pcie_p2p && has_limit)) {
      if (!has_limit) {
        throw UsageError("no link was measured, and none that these GPUs can have is known",
                         "give a record of GPUs that a link joins");
      }
      const bool is_second = link_.link.curves.empty() || (is_same && !has_link);
      LinkSide without = is_second ? link_.other : link_.link;
      if (!today_.empty()) without = named_side();
      take_limit(bounds->link, std::move(without));
    } else if (link_.other.curves.empty() || is_same) {
      throw UsageError(
          fmt::format("the record has no two sizes of the all-reduce without {}", link_.link.name),
          "measure with P2P and without: linkgain run --profile inference");
    }
  }

  /// Reads the variant that the user names; nobody has seen a speed over a link that is not there.
  LinkSide named_side() const {
    std::vector<std::string> known;
    for (const Variant& each : record_.settings.variants) {
      LinkSide side = side_of(each.name);
      if (side.curves.empty()) continue;
      if (each.name == today_) return side;
      known.push_back(each.name);
    }
    throw UsageError(fmt::format("--on {}: the record tells of {}; no link was measured", today_,
                                 fmt::join(known, " and ")));
  }

  /// Has the link's published limit stand in, where it was not there.
  void take_limit(const UnusedLink& limit, LinkSide without) {
    if (without.curves.empty()) {
      throw UsageError("the record has no two sizes of the all-reduce", kMeasureAdvice);
    }
    link_.link = {.variant = "link", .name = limit.name, .limit = limit.gb_per_s};
    link_.other = std::move(without);
  }

  void add_products() {
    std::map<int, std::vector<TimeCurve::Point>> points;
    for (std::size_t i = 0; i < record_.cases.size(); ++i) {
      const Case& c = definition(i);
      std::optional<LaunchMean> mean = first_mean(i);
      if (c.operation != OperationKind::product_norm || c.ranks != link_.ranks || !mean) continue;
      mean->time.value /= static_cast<double>(product_inner(c)) * c.hidden;
      points[c.hidden].push_back({static_cast<double>(c.tokens()), *mean});
    }
    for (auto& [hidden, each] : points) link_.products.emplace(hidden, TimeCurve(std::move(each)));
  }

  /// Adds what communicates and was measured on both sides. A link that was not there is as good as
  /// a step without communication at best.
  void add_trainings() {
    for (std::size_t i = 0; i < record_.cases.size(); ++i) {
      if (!may_stand_for_run(definition(i)) || definition(i).ranks != link_.ranks) continue;
      std::optional<LaunchMean> link = mean_of(i, link_.link.variant);
      std::optional<LaunchMean> alone;
      if (const CaseResult* const found = without_communication(record_, definition(i))) {
        alone = first_mean(static_cast<std::size_t>(found - record_.cases.data()));
      }
      if (link_.link.limit && alone) link = alone;
      const std::optional<LaunchMean> other = mean_of(i, link_.other.variant);
      if (link && other) link_.trainings.push_back({definition(i), *link, *other, alone});
    }
  }

  const Record& record_;
  const std::string& today_;  ///< empty: not named
  LaunchMeans means_;
  std::vector<std::size_t> sums_;  ///< places of the all-reduces that are read
  MeasuredLink link_;
};

/// Finds the curve that was chosen; null where the side has none.
const TimeCurve* curve_of(const LinkSide& side, Reducer reducer, bool in_context) {
  const auto found = side.curves.find({reducer, in_context});
  return found == side.curves.end() ? nullptr : &found->second;
}

}  // namespace

TimeCurve::TimeCurve(std::vector<Point> points) : points_(std::move(points)) {
  std::ranges::sort(points_, {}, &Point::at);
  std::vector<CurvePoint> measured;
  for (const Point& point : points_) measured.push_back(curve_point(point));
  steps_ = find_steps(std::move(measured));
}

LaunchMean TimeCurve::at(double size) const {
  if (size < smallest()) throw std::out_of_range("below the smallest size measured");
  if (size >= largest()) {
    LaunchMean mean = points_.back().mean;
    mean.time.value *= size / largest();
    return mean;
  }
  const auto after = std::ranges::upper_bound(points_, size, {}, &Point::at);
  return size == (after - 1)->at ? (after - 1)->mean : between(*(after - 1), *after, size);
}

LaunchMean TimeCurve::between(const Point& before, const Point& after, double size) const {
  const double share = (size - before.at) / (after.at - before.at);
  const double first = before.mean.time.value;
  const double last = after.mean.time.value;
  double low = first + share * (last - first);
  double high =
      first * std::pow(last / first, std::log(size / before.at) / std::log(after.at / before.at));
  double time = high;
  for (const CurveStep& step : steps_) {
    if (step.from.size.value != std::llround(before.at)) continue;
    low = grown(step.from, step.pace_before, step, size);
    high = grown(step.to, step.pace_after, step, size);
    time = std::sqrt(low * high);
  }
  LaunchMean mean;
  mean.time = Seconds{time};
  mean.launches = std::min(before.mean.launches, after.mean.launches);
  mean.deviation = combine_deviations(before.mean.deviation, after.mean.deviation);
  // A resolution is the whole width of what is not known.
  mean.resolution = 2.0 * std::max(std::abs(std::log(low / time)), std::abs(std::log(high / time)));
  return mean;
}

LaunchMean exact_time(Seconds time) {
  return {.time = time,
          .launches = kFewestAlone,
          .deviation = LaunchDeviation{.deviation = 0.0, .degrees_of_freedom = std::nullopt}};
}

Estimate propagated(std::span<const LaunchMean> times,
                    const std::function<double(std::span<const double>)>& figure) {
  constexpr double kStep = 1e-4;
  std::vector<double> values;
  for (const LaunchMean& mean : times) values.push_back(mean.time.value);
  Estimate estimate{.value = figure(values)};
  LaunchShift shift{.log = std::log(estimate.value)};
  bool is_known = true;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const LaunchMean& mean = times[i];
    std::vector<double> moved = values;
    moved[i] = values[i] * std::exp(kStep);
    const double up = figure(moved);
    moved[i] = values[i] * std::exp(-kStep);
    const double slope = std::log(up / figure(moved)) / (2.0 * kStep);
    if (slope == 0.0) continue;
    shift.rounding += std::abs(slope) * rounding_between(mean.resolution, 0.0);
    is_known = is_known && mean.deviation && mean.launches >= kFewestOfASide;
    if (!is_known || !(mean.deviation->deviation > 0.0)) continue;
    estimate.replicates =
        estimate.replicates == 0 ? mean.launches : std::min(estimate.replicates, mean.launches);
    shift.parts.push_back({.deviation = *mean.deviation, .after = slope * slope / mean.launches});
  }
  if (!is_known || (shift.parts.empty() && shift.rounding == 0.0)) return estimate;
  ShiftQuantiles quantiles;
  const Interval interval = interval_of(shift, quantiles);
  estimate.interval = Interval{std::exp(interval.low), std::exp(interval.high)};
  return estimate;
}

ChosenCurves MeasuredLink::choose(Reducer reducer, bool in_context_first, double smallest) const {
  const auto reaches = [&](const LinkSide& side, Reducer on_side, bool in_context, double bytes) {
    const TimeCurve* const curve = curve_of(side, on_side, in_context);
    return curve != nullptr && (bytes == 0.0 || curve->smallest() <= bytes);
  };
  const auto has = [&](Reducer on_link, bool in_context, double bytes = 0.0) {
    return reaches(other, Reducer::nccl, in_context, bytes) &&
           (is_at_most() || reaches(link, on_link, in_context, bytes));
  };
  for (const double bytes : {smallest, 0.0}) {
    for (const bool in_context : {in_context_first, !in_context_first}) {
      if (has(reducer, in_context, bytes)) return {reducer, in_context};
    }
  }
  std::vector<std::string_view> known;
  for (const Reducer each : kValues<Reducer>) {
    if (has(each, true) || has(each, false)) known.push_back(name_of(each));
  }
  throw UsageError(
      fmt::format("the record has no two sizes of the all-reduce by {}: {}", name_of(reducer),
                  known.empty() ? "by nothing that can be predicted from"
                                : "it has them by " + listed(known, "and")),
      kMeasureAdvice);
}

LaunchMean MeasuredLink::all_reduce(const LinkSide& side, const ChosenCurves& curves,
                                    double bytes) const {
  if (side.limit) {
    const double sent = bytes * bus_bandwidth_factor(OperationKind::all_reduce, ranks);
    return exact_time(Seconds{sent / (*side.limit * 1e9)});
  }
  const Reducer reducer = &side == &other ? Reducer::nccl : curves.reducer;
  const TimeCurve& curve = side.curves.at({reducer, curves.in_context});
  if (bytes >= curve.smallest()) return curve.at(bytes);
  throw UsageError(fmt::format("an all-reduce of {} is smaller than the record's smallest, {}",
                               readable_bytes(Bytes{std::llround(bytes)}),
                               readable_bytes(Bytes{std::llround(curve.smallest())})),
                   kMeasureAdvice);
}

double MeasuredLink::largest(const ChosenCurves& curves) const {
  double size = other.curves.at({Reducer::nccl, curves.in_context}).largest();
  if (is_at_most()) return size;
  return std::min(size, link.curves.at({curves.reducer, curves.in_context}).largest());
}

MeasuredLink measured_link(const Record& record, std::optional<int> ranks,
                           const std::string& today) {
  if (record.settings.program) {
    throw UsageError("the record is of linkgain exec, and has no all-reduce", kMeasureAdvice);
  }
  return LinkReader(record, ranks, today).read();
}

}  // namespace linkgain
