#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "fleet_kinds.hpp"
#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/hostlist.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

double deviation_of(const PeerFigure& figure, int launches) {
  const int fewest = std::max(1, std::min(launches, figure.usual_launches));
  return std::max(figure.deviation, figure.of_launch / std::sqrt(static_cast<double>(fewest)));
}

double least_excess(const PeerFigure& figure, int launches, double tolerance) {
  return std::max(std::log1p(tolerance), kDeviations * deviation_of(figure, launches));
}

LaunchShift shift_from(const PeerFigure& figure, double log_time, int launches,
                       std::optional<LaunchDeviation> between_launches) {
  const LaunchesOfRuns peers{
      .runs = {.time = Seconds{std::exp(figure.centre)},
               .launches = figure.peers,
               .deviation = LaunchDeviation{deviation_of(figure, launches), std::nullopt}},
      .launches = figure.peers * figure.usual_launches,
      .deviation = figure.between_launches};
  const LaunchesOfRuns own{.runs = {.time = Seconds{std::exp(log_time)}, .launches = 1},
                           .launches = std::max(kFewestOfASide, launches),
                           .deviation = between_launches};
  return shift_between_runs(peers, own).value();
}

namespace {

/// A slowdown, as a share of the time, over the cases of a class.
struct Range {
  double least = 0.0;
  double most = 0.0;

  void add(double share, bool is_first) {
    least = is_first ? share : std::min(least, share);
    most = std::max(most, share);
  }
};

/// Slowdowns that cases of one class are judged by.
struct Reach {
  Range open;        ///< from which on one is inconclusive or slow
  Range slow;        ///< from which on one is slow, but for 2.5 % of the measurements
  int launches = 0;  ///< of most nodes, in the case of which these have the fewest
  bool empty() const { return launches == 0; }
};

/// Returns the excess of the log time that is called slow unless noise moved it beyond one end of
/// its 95 % interval.
double slow_excess(const PeerFigure& figure, int launches, double tolerance) {
  ShiftQuantiles quantiles;
  const LaunchShift none = shift_from(figure, figure.centre, launches, std::nullopt);
  const double half = interval_of(none, quantiles).high;
  return half + std::max(least_excess(figure, launches, tolerance), std::log1p(tolerance) + half);
}

Reach reach_of_class(const Kind& kind, const FleetNames& names, double tolerance, bool steady) {
  Reach reach;
  for (std::size_t i = 0; i < kind.figures.size(); ++i) {
    const PeerFigure& figure = kind.figures[i];
    if (!figure.is_standard()) continue;
    if ((parse_case_name(names.all()[i].case_name).size >= kSteadySize) != steady) continue;
    const int launches = figure.usual_launches;
    reach.open.add(std::expm1(least_excess(figure, launches, tolerance)), reach.empty());
    reach.slow.add(std::expm1(slow_excess(figure, launches, tolerance)), reach.empty());
    reach.launches = reach.empty() ? launches : std::min(reach.launches, launches);
  }
  return reach;
}

std::string percent(double share) {
  const double value = 100.0 * share;
  return value < 9.95 ? fmt::format("{:.2g} %", value) : fmt::format("{:.0f} %", value);
}

/// Returns "7.8 %", "7.8 % to 12 % (by case)".
std::string range_text(const Range& range) {
  const std::string least = percent(range.least);
  const std::string most = percent(range.most);
  return least == most ? least : fmt::format("{} to {} (by case)", least, most);
}

/// Says which nodes are called slow, and which may stay inconclusive, by class where they differ.
std::string both_classes(const Reach& steady, const Reach& small) {
  const bool is_one_class = steady.empty() || small.empty();
  const Reach& first = steady.empty() ? small : steady;
  const std::string slow = range_text(first.slow);
  const std::string open = range_text(first.open);
  const std::string small_slow = is_one_class ? slow : range_text(small.slow);
  const std::string small_open = is_one_class ? open : range_text(small.open);
  return fmt::format(
      "a node that takes at least {} longer than its peers{} is called slow; from {}{} on it may "
      "stay inconclusive",
      slow,
      slow == small_slow ? ""
                         : fmt::format(" from 1 MiB on, or {} longer below 1 MiB,", small_slow),
      open, open == small_open ? "" : fmt::format(" or {}", small_open));
}

/// Returns "8 launches each", "8 to 16 launches each"; of one says what nodes are judged by.
std::string launches_text(const Kind& kind) {
  std::set<int> launches;
  for (const PeerFigure& figure : kind.figures) {
    if (figure.is_standard()) launches.insert(figure.usual_launches);
  }
  const auto [fewest, most] = std::pair(*launches.begin(), *launches.rbegin());
  return most > fewest ? fmt::format("{} to {} launches each", fewest, most)
         : fewest > 1  ? fmt::format("{} launches each", fewest)
                       : "1 launch each, which has no interval: judged by the peers alone";
}

/// Names the nodes that have fewer launches than most, where less is found in them for that.
std::string fewer_launches_text(const Kind& kind, double tolerance) {
  std::vector<std::string> fewer;
  for (const FleetRecord* member : kind.members) {
    const bool is_limited = std::ranges::any_of(member->values, [&](const FleetValue& value) {
      const PeerFigure& figure = kind.figures.at(value.name);
      return value.seconds > 0.0F && figure.is_standard() &&
             least_excess(figure, launches_of(*member, value), tolerance) >
                 least_excess(figure, figure.usual_launches, tolerance);
    });
    if (is_limited) fewer.push_back(host_of(*member));
  }
  if (fewer.empty()) return {};
  return fmt::format(", fewer on {}: there only a larger slowdown is found",
                     compress_hostlist(std::move(fewer)));
}

/// Says how many launches would have the tolerance decide in large cases, where these had too few;
/// empty where it is the nodes that differ by more, or none would do.
std::string launches_advice(const Reach& steady, double tolerance) {
  constexpr double kUsual = 8.0;
  const double root = kDeviations * kAssumedDeviation / std::log1p(tolerance);
  const double needed = std::ceil(root * root);
  if (steady.empty() || needed <= steady.launches || needed > kMostSettling) return {};
  return fmt::format("; from 1 MiB on the tolerance of {} needs --launches {} on every node",
                     percent(tolerance), std::max(kUsual, needed));
}

}  // namespace

std::string reach_of(const Kind& kind, const FleetNames& names, double tolerance) {
  const Reach steady = reach_of_class(kind, names, tolerance, true);
  const Reach small = reach_of_class(kind, names, tolerance, false);
  if (kind.members.size() < kKindSize) return {};
  if (steady.empty() && small.empty()) {
    const bool split = std::ranges::any_of(
        kind.figures, [](const PeerFigure& figure) { return figure.slower_group.has_value(); });
    if (split) return {};
    return fmt::format("no case was measured on {} of them: whether one is slow is not known",
                       kKindSize);
  }
  return fmt::format("{} ({}{}{})", both_classes(steady, small), launches_text(kind),
                     fewer_launches_text(kind, tolerance), launches_advice(steady, tolerance));
}

}  // namespace linkgain
