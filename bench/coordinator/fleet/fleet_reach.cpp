#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "fleet_peers.hpp"
#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

/// Slowdowns, as shares of the time, from which cases of one class count as slow.
struct Reach {
  double least = 0.0;
  double most = 0.0;
  int launches = 0;  ///< the fewest
  bool empty() const { return launches == 0; }
};

Reach reach_of_class(const Kind& kind, const FleetNames& names, double tolerance, bool steady) {
  Reach reach;
  for (std::size_t i = 0; i < kind.figures.size(); ++i) {
    const PeerFigure& figure = kind.figures[i];
    if (static_cast<std::size_t>(figure.nodes) < kKindSize) continue;
    if ((parse_case_name(names.all()[i].case_name).size >= kSteadySize) != steady) continue;
    const double share = std::expm1(slow_bound(figure, tolerance));
    const int launches = std::max(1, figure.launches);
    reach.least = reach.empty() ? share : std::min(reach.least, share);
    reach.most = std::max(reach.most, share);
    reach.launches = reach.empty() ? launches : std::min(reach.launches, launches);
  }
  return reach;
}

std::string percent(double share) {
  const double value = 100.0 * share;
  return value < 9.95 ? fmt::format("{:.2g} %", value) : fmt::format("{:.0f} %", value);
}

/// "7.8 %", "7.8 % to 12 % (by case)"
std::string text_of(const Reach& reach) {
  const std::string least = percent(reach.least);
  const std::string most = percent(reach.most);
  return least == most ? least : fmt::format("{} to {} (by case)", least, most);
}

std::string both_classes(const Reach& steady, const Reach& small) {
  if (small.empty()) return text_of(steady) + " slower than its peers or more";
  if (steady.empty()) return text_of(small) + " slower than its peers or more";
  if (text_of(steady) == text_of(small)) return text_of(steady) + " slower than its peers or more";
  return fmt::format("{} slower than its peers or more from 1 MiB on, {} below", text_of(steady),
                     text_of(small));
}

}  // namespace

std::string reach_of(const Kind& kind, const FleetNames& names, double tolerance) {
  const Reach steady = reach_of_class(kind, names, tolerance, true);
  const Reach small = reach_of_class(kind, names, tolerance, false);
  if (kind.members.size() < kKindSize) return {};
  if (steady.empty() && small.empty()) {
    return fmt::format("no case was measured on {} of them: whether one is slow is not known",
                       kKindSize);
  }
  const int launches = steady.empty()  ? small.launches
                       : small.empty() ? steady.launches
                                       : std::min(steady.launches, small.launches);
  constexpr double kRounding = 1e-9;
  const bool coarse = std::max(steady.most, small.most) > tolerance + kRounding;
  return fmt::format("finds a node that is {} ({} each{})", both_classes(steady, small),
                     counted(launches, "launch", "launches"),
                     coarse
                         ? fmt::format("; the tolerance of {} takes more of them, run --launches 8",
                                       percent(tolerance))
                         : "");
}

}  // namespace linkgain
