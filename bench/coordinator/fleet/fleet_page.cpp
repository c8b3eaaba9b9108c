#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/fleet/fleet.hpp"
#include "linkgain/html/heat_map.hpp"
#include "linkgain/html/page.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kMostColumns = 40;
constexpr std::size_t kMostNodes = 200;
constexpr double kFullShade = 1.2;  ///< so that what lies within the noise stays pale

/// Returns the cases that some node was judged by, those with the largest ratio first.
std::vector<std::uint32_t> columns_of(const FleetReport& report) {
  std::map<std::uint32_t, double> largest;
  for (const FleetNode& node : report.nodes) {
    for (const PeerRatio& each : node.ratios) {
      double& most = largest[each.name];
      most = std::max(most, each.ratio);
    }
  }
  std::vector<std::uint32_t> columns;
  for (const auto& [name, most] : largest) columns.push_back(name);
  std::ranges::stable_sort(columns, std::ranges::greater{},
                           [&](std::uint32_t name) { return largest[name]; });
  return columns;
}

HeatMap::Cell cell_of(const FleetNode& node, std::uint32_t name) {
  const auto found = std::ranges::find(node.ratios, name, &PeerRatio::name);
  if (found == node.ratios.end()) return {};
  return {fmt::format("{:.2f}x", found->ratio), found->ratio};
}

/// Shows how each node did in each case; empty where no node was judged.
std::string nodes_and_cases(const FleetReport& report, const FleetNames& names) {
  std::vector<std::uint32_t> columns = columns_of(report);
  if (columns.empty()) return {};
  const std::size_t all = columns.size();
  columns.resize(std::min(all, kMostColumns));
  HeatMap map{.caption = fmt::format(
                  "Time over the median of the node's peers. A stronger shade is slower. "
                  "{} of {}, the slowest first.",
                  columns.size(), counted(static_cast<std::int64_t>(all), "case", "cases")),
              .corner = "Node",
              .full = kFullShade,
              .none = 1.0};
  for (const std::uint32_t name : columns) {
    const FleetNames::Name& each = names.all().at(name);
    map.columns.push_back(
        fmt::format("{}, {}", case_label(parse_case_name(each.case_name)), each.variant));
  }
  for (const FleetNode& node : report.nodes) {
    if (node.ratios.empty() || map.rows.size() == kMostNodes) continue;
    map.rows.push_back(fmt::format("{} ({})", node.host, name_of(node.state)));
    auto& cells = map.cells.emplace_back();
    for (const std::uint32_t name : columns) cells.push_back(cell_of(node, name));
  }
  return heat_map_table(map);
}

}  // namespace

std::string fleet_page(const FleetReport& report, const FleetNames& names, ShownNodes shown) {
  HtmlPage page{.title = fmt::format(
                    "linkgain fleet: {}",
                    counted(static_cast<std::int64_t>(report.nodes.size()), "node", "nodes"))};
  page.add("result", "Result", to_html(fleet_result(report)));
  page.add("nodes", "Nodes, the worst first", to_html(fleet_nodes(report, shown), "Nodes"));
  page.add("cases", "Nodes and cases", nodes_and_cases(report, names));
  return html_text(page);
}

}  // namespace linkgain
