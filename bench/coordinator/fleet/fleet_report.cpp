#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "fleet_kinds.hpp"
#include "linkgain/base/hostlist.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/fleet/fleet.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/prometheus.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kHeader =
    "host,state,machine,slowdown,worst_case,worst_variant,slow_cases,judged_cases,blame,findings,"
    "drain,record,disturbed_samples,level_changes,neighbours,disturbed_by\n";

std::string findings_of(const FleetNode& node) {
  return fmt::format("{}", fmt::join(node.findings, "; "));
}

/// Tells whether there is more than one kind of machine; of one the notes tell.
bool has_kinds(const FleetReport& report) {
  std::set<std::string> machines;
  for (const FleetNode& node : report.nodes) {
    if (!node.machine.empty()) {
      machines.insert(node.machine);
    }
  }
  return machines.size() > 1;
}

Tone tone_of(NodeState state) {
  if (state == NodeState::ok) return Tone::plain;
  const bool open = state == NodeState::stale || state == NodeState::inconclusive ||
                    state == NodeState::not_judged;
  return open ? Tone::doubtful : Tone::bad;
}

/// Tells whether one line may name the node among others of its state.
bool is_folded(const FleetNode& node) {
  return !node.has_errors && (node.state == NodeState::ok ||
                              (node.state == NodeState::inconclusive && node.is_only_split));
}

/// Returns the nodes with a row each: where not all have one, those that are not folded.
std::vector<const FleetNode*> shown_nodes(const FleetReport& report, ShownNodes shown) {
  std::vector<const FleetNode*> nodes;
  for (const FleetNode& node : report.nodes) {
    if (shown == ShownNodes::all || !is_folded(node)) nodes.push_back(&node);
  }
  return nodes;
}

/// Returns "61 nodes ok: node[001-016,018-062] (3 with notes: --verbose)" of the folded nodes of a
/// state; empty where there are none.
std::string folded_text(const FleetReport& report, NodeState state, ShownNodes shown) {
  std::vector<std::string> plain;
  std::vector<std::string> others;
  std::int64_t with_notes = 0;
  for (const FleetNode& node : report.nodes) {
    if (node.state != state || !is_folded(node)) continue;
    const std::string name = shown_name(node);
    (is_host_name(name) ? plain : others).push_back(name);
    with_notes += state == NodeState::ok && !node.findings.empty() ? 1 : 0;
  }
  const std::int64_t count = std::ssize(plain) + std::ssize(others);
  if (count == 0) return {};
  if (!plain.empty()) others.insert(others.begin(), compress_hostlist(plain));
  const std::string_view option = shown == ShownNodes::not_ok ? ": --verbose" : "";
  return fmt::format("{} {}: {}{}", counted(count, "node", "nodes"),
                     state == NodeState::ok ? "ok" : "inconclusive, in two groups",
                     fmt::join(others, ", "),
                     with_notes > 0 ? fmt::format(" ({} with notes{})", with_notes, option) : "");
}

/// Says "slow, unhealthy": all for which the node is to be drained, or what else it is.
std::string states_of(const FleetNode& node) {
  std::string states(name_of(node.state));
  for (const NodeState each : node.other_states) states += fmt::format(", {}", name_of(each));
  return states;
}

Table nodes_of(const FleetReport& report, const std::vector<const FleetNode*>& nodes) {
  const bool kinds = has_kinds(report);
  std::vector<Table::Column> columns{
      {"Node"}, {"State"}, {"Slower", kRight, false, 3}, {.title = "Where", .leave_out = 2}};
  if (kinds) columns.push_back({.title = "Machine", .leave_out = 1});
  columns.push_back({.title = "Why", .too_long = Table::TooLong::below});
  Table table(columns);
  for (const FleetNode* node : nodes) {
    Cells cells{shown_name(*node), toned(states_of(*node), tone_of(node->state)),
                node->slowdown ? fmt::format("{:.2f}x", *node->slowdown) : std::string{},
                node->blame};
    if (kinds) cells.push_back(node->machine);
    cells.push_back(findings_of(*node));
    table.add_row(std::move(cells));
  }
  return table;
}

/// Returns "31 ok, 1 slow", the worst first.
std::string counts_of(const FleetReport& report) {
  std::map<NodeState, int> counts;
  for (const FleetNode& node : report.nodes) {
    ++counts[node.state];
  }
  std::vector<std::string> parts;
  for (const auto& [state, count] : counts) {
    parts.push_back(fmt::format("{} {}", count, name_of(state)));
  }
  return fmt::format("{}: {}",
                     counted(static_cast<std::int64_t>(report.nodes.size()), "node", "nodes"),
                     fmt::join(parts, ", "));
}

/// Shows a count; empty where nobody looked for others' work, and none was seen.
std::string known(const FleetNode& node, int count) {
  return node.neighbours || count > 0 ? fmt::format("{}", count) : std::string();
}

/// Returns Slurm's command, as a shell takes it.
std::string drain_command(const std::string& hosts) {
  return fmt::format("scontrol update nodename={} state=drain reason='linkgain fleet'",
                     shown_word(hosts));
}

/// Adds the command, of the names that Slurm takes for one host each; and those that it does not.
void add_drain_command(Document& document, const std::vector<std::string>& hosts) {
  std::vector<std::string> plain;
  std::vector<std::string> others;
  for (const std::string& host : hosts) {
    (is_host_name(host) ? plain : others).push_back(shown_word(host));
  }
  if (!plain.empty()) document.code(drain_command(compress_hostlist(plain)) + "\n");
  if (others.empty()) return;
  document.paragraph(fmt::format("No command for what Slurm does not take for one host: {}",
                                 fmt::join(others, ", ")));
}

/// Adds counts, notes, and what to drain.
void add_result(Document& document, const FleetReport& report, const std::string& picture) {
  if (report.nodes.empty()) {
    document.paragraph("No node.");
    return;
  }
  document.paragraph(counts_of(report));
  if (!picture.empty()) document.figure(picture);
  for (const std::string& note : report.notes) document.item(note);
  if (!has_judged(report)) {
    document.paragraph(fmt::format(
        "No node was judged: that takes {} nodes which are alike and have a case in common.",
        kKindSize));
  }
  if (!report.measure_again.empty()) {
    document.paragraph(fmt::format("Measure again, with nothing else running: {}",
                                   compress_hostlist(report.measure_again)));
  }
  if (report.drain.empty()) {
    if (has_judged(report)) document.paragraph("Nothing to drain.");
    return;
  }
  document.paragraph("Suggested to drain: " + compress_hostlist(report.drain));
  add_drain_command(document, report.drain);
}

}  // namespace

std::string shown_name(const FleetNode& node) {
  return node.mark.empty() ? node.host : fmt::format("{} ({})", node.host, node.mark);
}

Document fleet_nodes(const FleetReport& report, ShownNodes shown) {
  Document document;
  const std::vector<const FleetNode*> nodes = shown_nodes(report, shown);
  if (!nodes.empty()) document.table(nodes_of(report, nodes));
  if (shown == ShownNodes::all) return document;
  for (const NodeState state : {NodeState::inconclusive, NodeState::ok}) {
    if (const std::string text = folded_text(report, state, shown); !text.empty()) {
      document.paragraph(text);
    }
  }
  return document;
}

Document fleet_result(const FleetReport& report, const std::string& picture) {
  Document document;
  add_result(document, report, picture);
  return document;
}

Document fleet_report(const FleetReport& report, ShownNodes shown) {
  Document document = fleet_nodes(report, shown);
  document.add(fleet_result(report));
  return document;
}

std::string fleet_csv(const FleetReport& report) {
  std::string text(kHeader);
  for (const FleetNode& node : report.nodes) {
    const std::vector<std::string> fields{csv_field(std::string_view(node.host)),
                                          std::string(name_of(node.state)),
                                          csv_field(std::string_view(node.machine)),
                                          csv_field(node.slowdown),
                                          csv_field(std::string_view(node.worst_case)),
                                          csv_field(std::string_view(node.worst_variant)),
                                          fmt::format("{}", node.slow_cases),
                                          fmt::format("{}", node.judged_cases),
                                          csv_field(std::string_view(node.blame)),
                                          csv_field(std::string_view(findings_of(node))),
                                          is_to_drain(node.state) ? "true" : "false",
                                          csv_field(std::string_view(node.record.string())),
                                          known(node, node.disturbed_samples),
                                          fmt::format("{}", node.level_changes),
                                          known(node, node.neighbours.value_or(0)),
                                          node.disturbed_by};
    text += fmt::format("{}\n", fmt::join(fields, ","));
  }
  return text;
}

namespace {

/// A gauge with its help, and its value for a node where it has one.
struct NodeMetric {
  const char* name;
  const char* help;
  std::optional<double> (*value)(const FleetNode& node);
};

constexpr std::array kNodeMetrics{
    NodeMetric{"linkgain_fleet_node_drain", "1 where fleet suggests to drain the node.",
               [](const FleetNode& node) -> std::optional<double> {
                 return is_to_drain(node.state) ? 1.0 : 0.0;
               }},
    NodeMetric{"linkgain_fleet_node_slowdown_ratio",
               "Time over its peers' median of its worst case that is or may be slow.",
               [](const FleetNode& node) { return node.slowdown; }},
    NodeMetric{"linkgain_fleet_node_slow_cases", "Cases slower than its peers'.",
               [](const FleetNode& node) -> std::optional<double> { return node.slow_cases; }},
    NodeMetric{"linkgain_fleet_node_judged_cases", "Cases compared with its peers'.",
               [](const FleetNode& node) -> std::optional<double> { return node.judged_cases; }},
    NodeMetric{"linkgain_fleet_node_disturbed_samples",
               "Samples taken while others worked on its GPUs.",
               [](const FleetNode& node) -> std::optional<double> {
                 if (!node.neighbours) return std::nullopt;
                 return node.disturbed_samples;
               }},
    NodeMetric{"linkgain_fleet_node_disturbed", "1 where other work disturbed its run.",
               [](const FleetNode& node) -> std::optional<double> {
                 if (node.started.empty()) return std::nullopt;
                 return node.disturbed_by.empty() ? 0.0 : 1.0;
               }},
    NodeMetric{"linkgain_fleet_node_started_timestamp_seconds", "When its run began.",
               [](const FleetNode& node) { return timestamp_of(node.started); }},
};

/// Returns one of each name, the worst: series must differ.
std::vector<const FleetNode*> nodes_by_name(const FleetReport& report) {
  std::set<std::string> named;
  std::vector<const FleetNode*> nodes;
  for (const FleetNode& node : report.nodes) {
    if (named.insert(shown_name(node)).second) nodes.push_back(&node);
  }
  return nodes;
}

}  // namespace

std::string fleet_prometheus(const FleetReport& report) {
  PrometheusText text;
  text.gauge("linkgain_fleet_exit_status",
             "0 nothing found, 1 a node is to be drained, missing or unreadable, 2 all are "
             "unreadable, 7 one is stale, inconclusive or was not judged.");
  text.value(static_cast<int>(exit_code_of(report)));
  text.gauge("linkgain_fleet_nodes", "Nodes by state.");
  for (const NodeState state : kValues<NodeState>) {
    text.value(static_cast<double>(std::ranges::count(report.nodes, state, &FleetNode::state)),
               {{"state", name_of(state)}});
  }
  const std::vector<const FleetNode*> nodes = nodes_by_name(report);
  text.gauge("linkgain_fleet_node_info", "State of each node and where it is slow.");
  for (const FleetNode* node : nodes) {
    text.value(1.0, {{"node", shown_name(*node)},
                     {"state", name_of(node->state)},
                     {"machine", node->machine},
                     {"blame", node->blame}});
  }
  for (const NodeMetric& metric : kNodeMetrics) {
    text.gauge(metric.name, metric.help);
    for (const FleetNode* node : nodes) {
      text.value(metric.value(*node), {{"node", shown_name(*node)}});
    }
  }
  return text.text();
}

namespace {

using json::nullable;
using json::Out;

Out write_node(const FleetNode& node) {
  return {{"host", node.host},
          {"state", name_of(node.state)},
          {"other_states",
           json::array_of(node.other_states, [](NodeState state) { return name_of(state); })},
          {"machine", node.machine},
          {"slowdown", nullable(node.slowdown)},
          {"worst_case", node.worst_case},
          {"worst_variant", node.worst_variant},
          {"slow_cases", node.slow_cases},
          {"judged_cases", node.judged_cases},
          {"blame", node.blame},
          {"findings", node.findings},
          {"record", node.record.string()},
          {"disturbed_samples", node.disturbed_samples},
          {"level_changes", node.level_changes},
          {"neighbours", nullable(node.neighbours)},
          {"disturbed_by", node.disturbed_by}};
}

}  // namespace

std::string to_json(const FleetReport& report) {
  return json::document_text({{"schema", "linkgain.fleet/1"},
                              {"nodes", json::array_of(report.nodes, write_node)},
                              {"drain", report.drain},
                              {"measure_again", report.measure_again},
                              {"notes", report.notes}});
}

}  // namespace linkgain
