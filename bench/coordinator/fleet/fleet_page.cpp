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

constexpr std::size_t kMostCases = 24;
constexpr std::size_t kMostNodes = 200;
constexpr std::size_t kMostInFull = 12;  ///< nodes whose ratios stand in the picture
constexpr double kFullShade = 1.2;       ///< so that what lies within the noise stays pale

/// Returns the cases that some node was judged by, those with the largest ratio first.
std::vector<std::uint32_t> cases_of(const FleetReport& report) {
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

/// Shows how each node did in each case, the worst node and case first; empty where no node was
/// judged.
std::string nodes_and_cases(const FleetReport& report, const FleetNames& names) {
  std::vector<std::uint32_t> cases = cases_of(report);
  if (cases.empty()) return {};
  const std::size_t all = cases.size();
  cases.resize(std::min(all, kMostCases));
  std::vector<const FleetNode*> nodes;
  for (const FleetNode& node : report.nodes) {
    if (!node.ratios.empty() && nodes.size() < kMostNodes) nodes.push_back(&node);
  }
  HeatMap map{
      .caption = fmt::format(
          "Time over the median of the node's peers. A stronger shade is slower; "
          "the scale ends at {:.2f}x, from which on all have the strongest. {} of {}, the "
          "slowest first.",
          kFullShade, cases.size(), counted(static_cast<std::int64_t>(all), "case", "cases")),
      .corner = "Case",
      .full = kFullShade,
      .none = 1.0,
      .is_compact = nodes.size() > kMostInFull};
  for (const FleetNode* const node : nodes) {
    const std::string name = shown_name(*node);
    map.columns.push_back(
        node->state == NodeState::ok ? name : fmt::format("{} ({})", name, name_of(node->state)));
  }
  for (const std::uint32_t name : cases) {
    const FleetNames::Name& each = names.all().at(name);
    map.rows.push_back(
        fmt::format("{}, {}", case_label(parse_case_name(each.case_name)), each.variant));
    auto& cells = map.cells.emplace_back();
    for (const FleetNode* const node : nodes) cells.push_back(cell_of(*node, name));
  }
  const std::string picture = heat_map_table(map);
  if (!map.is_compact) return picture;
  map.is_compact = false;
  return picture + folded("All ratios", heat_map_table(map), OnPaper::absent);
}

}  // namespace

std::string fleet_page(const FleetReport& report, const FleetNames& names, ShownNodes shown) {
  HtmlPage page{.title = fmt::format(
                    "linkgain fleet: {}",
                    counted(static_cast<std::int64_t>(report.nodes.size()), "node", "nodes"))};
  page.add("result", "Result", to_html(fleet_result(report, nodes_and_cases(report, names))));
  const std::string all = to_html(fleet_nodes(report, ShownNodes::all), "Nodes");
  std::string nodes = to_html(fleet_nodes(report, ShownNodes::not_ok_on_page), "Nodes");
  if (nodes != all) nodes += folded("All nodes with their notes", all, OnPaper::absent);
  page.add("nodes", "Nodes, the worst first", shown == ShownNodes::all ? all : nodes);
  return html_text(page);
}

}  // namespace linkgain
