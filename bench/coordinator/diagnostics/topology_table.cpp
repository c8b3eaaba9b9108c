#include "linkgain/diagnostics/topology_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "linkgain/hardware/link_label.hpp"
#include "linkgain/tables/text_table.hpp"
#include "topology_sections.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kNotAssigned = "N/A";

int device_count(const Topology& topology) {
  return static_cast<int>(topology.gpus.size() + topology.nics.size());
}

std::string matrix_cell(const Topology& topology, int from, int to) {
  if (from == to) return " X";
  const TopologyPair* pair = find_pair(topology, from, to);
  return pair != nullptr ? label_of(*pair) : "?";
}

std::string table_of(const Topology& topology) {
  std::vector<TextTable::Column> columns{{""}};
  const int devices = device_count(topology);
  for (int i = 0; i < devices; ++i) columns.push_back({device_label(topology, i)});
  columns.push_back({"CPU Affinity"});
  columns.push_back({"NUMA Affinity"});
  TextTable table(columns);
  for (int from = 0; from < devices; ++from) {
    std::vector<std::string> cells{device_label(topology, from)};
    for (int to = 0; to < devices; ++to) cells.push_back(matrix_cell(topology, from, to));
    if (static_cast<std::size_t>(from) < topology.gpus.size()) {
      const TopologyGpu& gpu = topology.gpus[static_cast<std::size_t>(from)];
      cells.push_back(gpu.cpus.value_or(std::string(kNotAssigned)));
      cells.push_back(gpu.numa_node.measured() ? std::to_string(gpu.numa_node.value())
                                               : std::string(kNotAssigned));
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

void add_unknowns(const Topology& topology, TextTable& legend) {
  std::set<std::string> uncounted;
  std::set<std::string> unknown;
  for (const TopologyPair& pair : topology.pairs) {
    const std::string label = label_of(pair);
    if (label == "NV?") uncounted.insert(pair.nvlinks.reason());
    if (label == "?") unknown.insert(pair.ancestor.reason());
  }
  std::set<std::string> unassigned;
  for (const TopologyGpu& gpu : topology.gpus) {
    if (!gpu.cpus.measured()) unassigned.insert(gpu.cpus.reason());
    if (!gpu.numa_node.measured()) unassigned.insert(gpu.numa_node.reason());
  }
  const auto add = [&](std::string_view label, std::string_view what,
                       const std::set<std::string>& reasons) {
    if (reasons.empty()) return;
    legend.add_row({std::string(label), fmt::format("{}: {}", what, fmt::join(reasons, "; "))});
  };
  add("NV?", "NVLinks, not counted", uncounted);
  add("?", "not known", unknown);
  add(kNotAssigned, "not known", unassigned);
}

std::string legend_of(const Topology& topology) {
  TextTable legend({{""}, {""}});
  legend.add_row({"X", "the device itself"});
  for (const LinkLabel& entry : kLinkLabels) {
    const auto occurs = [&](const TopologyPair& pair) { return is_called(entry, label_of(pair)); };
    if (std::any_of(topology.pairs.begin(), topology.pairs.end(), occurs)) {
      legend.add_row({std::string(entry.label), std::string(entry.meaning)});
    }
  }
  add_unknowns(topology, legend);
  return legend.text();
}

/// "2 x NVIDIA H200", models in order of appearance.
std::string models_of(const Topology& topology) {
  std::vector<std::pair<std::string, int>> counts;
  for (const TopologyGpu& gpu : topology.gpus) {
    const std::string name = !gpu.name.empty()       ? gpu.name
                             : gpu.no_answer.empty() ? "GPU of unknown model"
                                                     : "GPU that does not answer";
    const auto known = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& count) { return count.first == name; });
    if (known != counts.end()) {
      ++known->second;
    } else {
      counts.emplace_back(name, 1);
    }
  }
  std::string text;
  for (const auto& [name, count] : counts) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : " + ", count, name);
  }
  return text;
}

}  // namespace

std::string topology_matrix(const Topology& topology) {
  return table_of(topology) + "\n" + legend_of(topology);
}

std::string topology_report(const Topology& topology) {
  Notes notes;
  const std::string driver = topology.driver.measured()
                                 ? "driver " + topology.driver.value()
                                 : "driver version not known: " + topology.driver.reason();
  std::string text = fmt::format("{}: {}, {}\n\n{}", topology.host, models_of(topology), driver,
                                 topology_matrix(topology));
  for (const auto section : {gpus_section, nics_section, nvlink_section, p2p_section}) {
    const std::string part = section(topology, notes);
    if (!part.empty()) text += "\n" + part;
  }
  const std::string reasons = notes.text();
  return reasons.empty() ? text : text + "\n" + reasons;
}

}  // namespace linkgain
