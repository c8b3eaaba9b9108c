#include "linkgain/predict/measured_link.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
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

/// What the prediction reads of a case.
struct Reading {
  Reducer reducer = Reducer::nccl;
  int hidden = 0;  ///< of an all-reduce in context, and of a product
  bool is_product = false;
};

/// Reads all-reduces and products; absent of all other cases.
std::optional<Reading> reading_of(const Case& c) {
  if (c.operation == OperationKind::product_norm) {
    return Reading{.hidden = c.hidden, .is_product = true};
  }
  if (c.operation != OperationKind::all_reduce || c.in_place) return std::nullopt;
  if (c.buffers != Buffers::plain && c.buffers != Buffers::symmetric) return std::nullopt;
  return Reading{.reducer = c.kernel                          ? Reducer::kernel
                            : c.buffers == Buffers::symmetric ? Reducer::symmetric
                                                              : Reducer::nccl,
                 .hidden = c.hidden};
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

/// Finds the variant of a case that has the name, and what its launches say; absent without a time.
std::optional<LaunchMean> variant_mean(const Record& record, const LaunchMeans& means,
                                       std::size_t place, std::string_view variant) {
  const CaseResult& result = record.cases[place];
  for (std::size_t j = 0; j < result.variants.size(); ++j) {
    if (result.variants[j].variant == variant) return means[place][j];
  }
  return std::nullopt;
}

/// Returns the value counted most often; of several the one that `preferred` has first.
template <typename Value>
std::optional<Value> most_frequent(const std::map<Value, std::set<std::int64_t>>& counts,
                                   std::initializer_list<Value> preferred) {
  std::optional<Value> best;
  std::size_t most = 0;
  const auto consider = [&](const Value& value) {
    const auto found = counts.find(value);
    if (found == counts.end() || found->second.size() <= most) return;
    best = value;
    most = found->second.size();
  };
  for (const Value& value : preferred) consider(value);
  for (const auto& [value, sizes] : counts) consider(value);
  return best;
}

class LinkReader {
 public:
  LinkReader(const Record& record, std::optional<int> ranks)
      : record_(record), means_(launch_means(record)) {
    choose_ranks(ranks);
    choose_type();
  }

  MeasuredLink read() {
    name_machine();
    choose_variants();
    link_.products = products();
    add_trainings();
    return std::move(link_);
  }

 private:
  using Sizes = std::set<std::int64_t>;

  /// Calls `use(reading, place)` for the cases of an all-reduce or a product.
  template <typename Use>
  void for_each_reading(Use use) const {
    for (std::size_t i = 0; i < record_.cases.size(); ++i) {
      const std::optional<Reading> reading = reading_of(record_.cases[i].definition);
      if (reading) use(*reading, i);
    }
  }

  /// Adds what communicates and was measured on both sides. A link that was not there is as good as
  /// a step without communication at best.
  void add_trainings() {
    for (std::size_t i = 0; i < record_.cases.size(); ++i) {
      const Case& definition = record_.cases[i].definition;
      if (!may_stand_for_run(definition) || definition.ranks != link_.ranks) continue;
      const CaseResult* const alone = without_communication(record_, definition);
      std::optional<LaunchMean> link;
      if (!link_.link.limit) {
        link = variant_mean(record_, means_, i, link_.link.variant);
      } else if (alone != nullptr) {
        const auto place = static_cast<std::size_t>(alone - record_.cases.data());
        for (const auto& each : means_[place]) link = link ? link : each;
      }
      const auto other = variant_mean(record_, means_, i, link_.other.variant);
      if (link && other) link_.trainings.push_back({definition, *link, *other});
    }
  }

  void choose_ranks(std::optional<int> ranks) {
    std::map<int, Sizes> found;
    for_each_reading([&](const Reading& reading, std::size_t i) {
      const Case& c = record_.cases[i].definition;
      if (!reading.is_product && !record_.cases[i].samples.empty()) {
        found[c.ranks].insert(c.size.value);
      }
    });
    const std::optional<int> most = most_frequent(found, {2});
    if (!most) {
      throw UsageError("the record has no all-reduce, which a prediction rests on", kMeasureAdvice);
    }
    if (ranks && !found.contains(*ranks)) {
      std::vector<int> known;
      for (const auto& [each, sizes] : found) known.push_back(each);
      throw UsageError(fmt::format("--tp {}: the record has all-reduces over {} ranks", *ranks,
                                   fmt::join(known, ", ")));
    }
    link_.ranks = ranks.value_or(*most);
  }

  void choose_type() {
    std::map<DataType, Sizes> found;
    for_each_reading([&](const Reading& reading, std::size_t i) {
      const Case& c = record_.cases[i].definition;
      if (!reading.is_product && c.ranks == link_.ranks) found[c.type].insert(c.size.value);
    });
    using enum DataType;
    link_.type = *most_frequent(found, {bfloat16, float16, float32});
  }

  void name_machine() {
    const std::vector<RankInfo>& ranks = record_.machine.ranks;
    const bool has_gpu = !ranks.empty() && ranks.front().gpu;
    link_.gpus = has_gpu ? fmt::format("{} x {}", link_.ranks, ranks.front().gpu->name)
                         : fmt::format("{} ranks in CPU memory", link_.ranks);
    if (has_gpu) link_.memory_bytes = ranks.front().gpu->memory_bytes;
  }

  /// Reads the curves of a variant: by reducer and context the times of every size.
  LinkSide side_of(const std::string& variant) const {
    std::map<std::pair<Reducer, bool>, std::map<std::int64_t, std::pair<bool, LaunchMean>>> found;
    for_each_reading([&](const Reading& reading, std::size_t i) {
      const Case& c = record_.cases[i].definition;
      if (reading.is_product || c.ranks != link_.ranks || c.type != link_.type) return;
      const std::optional<LaunchMean> mean = variant_mean(record_, means_, i, variant);
      if (!mean) return;
      auto& sizes = found[{reading.reducer, reading.hidden > 0}];
      const bool is_graph = c.launch == LaunchMode::graph;
      const auto [place, is_new] = sizes.try_emplace(c.size.value, is_graph, *mean);
      if (!is_new && is_graph && !place->second.first) place->second = {is_graph, *mean};
    });
    LinkSide side{.variant = variant, .name = variant};
    for (const auto& [key, sizes] : found) {
      if (sizes.size() < 2) continue;
      std::vector<TimeCurve::Point> points;
      for (const auto& [size, mean] : sizes) {
        points.push_back({static_cast<double>(size), mean.second});
      }
      side.curves.emplace(key, TimeCurve(std::move(points)));
    }
    return side;
  }

  /// Tells what carried the largest all-reduce.
  Path path_of(const std::string& variant) const {
    Path path = Path::unknown;
    std::int64_t largest = 0;
    for_each_reading([&](const Reading& reading, std::size_t i) {
      const CaseResult& result = record_.cases[i];
      const VariantResult* const found = find_variant(result, variant);
      if (reading.reducer != Reducer::nccl || found == nullptr || !found->time) return;
      if (reading.is_product || result.definition.size.value < largest) return;
      largest = result.definition.size.value;
      path = linkgain::path_of(record_.machine, result.definition, *found);
    });
    return path;
  }

  void choose_variants() {
    const std::vector<Variant>& variants = record_.settings.variants;
    const std::string first = variants.empty() ? "p2p" : variants.front().name;
    const auto host = std::ranges::find(variants, "host", &Variant::name);
    std::string second = variants.size() > 1 ? variants[1].name : "";
    if (host != variants.end() && host != variants.begin()) second = host->name;
    link_.link = side_of(first);
    link_.other = second.empty() ? LinkSide{} : side_of(second);
    const Path path = path_of(first);
    const bool is_host = path == Path::host_memory && record_.settings.backend == BackendKind::nccl;
    const bool is_same = path != Path::unknown && path == path_of(second);
    if (link_.link.curves.empty() || is_host || is_same) {
      take_limit(is_same || link_.link.curves.empty() ? link_.other : link_.link);
    } else if (link_.other.curves.empty()) {
      throw UsageError(
          fmt::format("the record has no two sizes of the all-reduce without {}", first),
          kMeasureAdvice);
    }
    if (!link_.link.limit && (path == Path::nvlink || path == Path::pcie_p2p)) {
      link_.link.name = readable_path(path);
    }
  }

  /// Has the link's published limit stand in, where it was not there.
  void take_limit(LinkSide without) {
    if (without.curves.empty()) {
      throw UsageError("the record has no two sizes of the all-reduce", kMeasureAdvice);
    }
    const RunSummary summary(record_);
    const std::optional<LinkBounds> bounds = link_bounds(summary);
    if (!bounds || !bounds->link.gb_per_s) {
      throw UsageError(
          "all variants took the same path, and no published limit of a link is known for these "
          "GPUs",
          "give a record of GPUs that a link joins");
    }
    link_.link = {.variant = "link", .name = bounds->link.name, .limit = bounds->link.gb_per_s};
    link_.other = std::move(without);
  }

  std::map<int, TimeCurve> products() const {
    std::map<int, std::vector<TimeCurve::Point>> points;
    for_each_reading([&](const Reading& reading, std::size_t i) {
      const CaseResult& result = record_.cases[i];
      if (!reading.is_product || result.definition.ranks != link_.ranks) return;
      if (means_[i].empty() || !means_[i].front()) return;
      LaunchMean mean = *means_[i].front();
      mean.time.value /= static_cast<double>(product_inner(result.definition)) * reading.hidden;
      points[reading.hidden].push_back({static_cast<double>(result.definition.tokens()), mean});
    });
    std::map<int, TimeCurve> curves;
    for (auto& [hidden, each] : points) curves.emplace(hidden, TimeCurve(std::move(each)));
    return curves;
  }

  const Record& record_;
  LaunchMeans means_;
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

ChosenCurves MeasuredLink::choose(Reducer reducer) const {
  const auto has = [&](Reducer on_link, bool in_context) {
    const bool on_other = curve_of(other, Reducer::nccl, in_context) != nullptr;
    return on_other && (is_at_most() || curve_of(link, on_link, in_context) != nullptr);
  };
  for (const bool in_context : {true, false}) {
    if (has(reducer, in_context)) return {reducer, in_context};
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

MeasuredLink measured_link(const Record& record, std::optional<int> ranks) {
  if (record.settings.program) {
    throw UsageError("the record is of linkgain exec, and has no all-reduce", kMeasureAdvice);
  }
  return LinkReader(record, ranks).read();
}

}  // namespace linkgain
