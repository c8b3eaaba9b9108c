#include "fleet_peers.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

constexpr double kNormalPerDeviation = 1.4826;
constexpr std::size_t kPaths = 6;

/// Times and paths of one case and variant over the members.
struct Column {
  std::vector<double> logs;
  std::array<int, kPaths> paths{};
  int launches = 0;  ///< the fewest of a member
};

std::vector<Column> columns_of(const Kind& kind, std::size_t names) {
  std::vector<Column> columns(names);
  for (const FleetRecord* member : kind.members) {
    for (const FleetValue& value : member->values) {
      if (!(value.seconds > 0.0F) || value.wrong_data) continue;
      Column& column = columns.at(value.name);
      column.logs.push_back(std::log(static_cast<double>(value.seconds)));
      ++column.paths.at(static_cast<std::size_t>(value.path));
      column.launches =
          column.launches == 0 ? member->launches : std::min(column.launches, member->launches);
    }
  }
  return columns;
}

/// What a machine's own launches are known to differ by: a quiet fleet must not make outliers of
/// it.
double least_spread(const FleetNames::Name& name, int launches) {
  const double single = assumed_deviation(parse_case_name(name.case_name).size);
  return single / std::sqrt(static_cast<double>(std::max(1, launches)));
}

Path path_of(const Column& column) {
  const auto most = std::max_element(column.paths.begin(), column.paths.end());
  return 3 * static_cast<std::size_t>(*most) >= 2 * column.logs.size()
             ? static_cast<Path>(most - column.paths.begin())
             : Path::unknown;
}

PeerFigure figure_of(Column& column, const FleetNames::Name& name) {
  PeerFigure figure;
  figure.nodes = static_cast<int>(column.logs.size());
  if (column.logs.size() < kKindSize) return figure;
  figure.launches = column.launches;
  figure.path = path_of(column);
  figure.centre = median(column.logs);
  for (double& log : column.logs) log = std::abs(log - figure.centre);
  figure.spread =
      std::max(kNormalPerDeviation * median(column.logs), least_spread(name, column.launches));
  return figure;
}

}  // namespace

void summarise(Kind& kind, const FleetNames& names) {
  for (const FleetRecord* member : kind.members) {
    ++kind.drivers[member->machine.software.driver.value_or("")];
    ++kind.nccls[member->machine.software.nccl_library.value_or("")];
  }
  if (kind.members.size() < kKindSize) return;
  std::vector<Column> columns = columns_of(kind, names.all().size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    kind.figures.push_back(figure_of(columns[i], names.all()[i]));
  }
}

std::string majority(const std::map<std::string, int>& counts) {
  int all = 0;
  for (const auto& [name, count] : counts) all += count;
  for (const auto& [name, count] : counts) {
    if (2 * count > all) return name;
  }
  return {};
}

double slow_bound(const PeerFigure& figure, double tolerance) {
  return std::max(std::log1p(tolerance), kDeviations * figure.spread);
}

}  // namespace linkgain
