#include "linkgain/diagnostics/topology_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "linkgain/diagnostics/link_verdict.hpp"
#include "linkgain/hardware/pci.hpp"

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

Table matrix_of(const Topology& topology) {
  std::vector<Table::Column> columns{{""}};
  const int devices = device_count(topology);
  for (int i = 0; i < devices; ++i) columns.push_back({device_label(topology, i)});
  columns.push_back({"CPU Affinity", Table::Alignment::left, false, 2});
  columns.push_back({"NUMA Affinity", Table::Alignment::left, false, 1});
  Table table(columns);
  for (int from = 0; from < devices; ++from) {
    Cells cells{device_label(topology, from)};
    for (int to = 0; to < devices; ++to) cells.push_back(matrix_cell(topology, from, to));
    if (static_cast<std::size_t>(from) < topology.gpus.size()) {
      const TopologyGpu& gpu = topology.gpus[static_cast<std::size_t>(from)];
      cells.push_back(gpu.cpus.value_or(std::string(kNotAssigned)));
      cells.push_back(gpu.numa_node.measured() ? std::to_string(gpu.numa_node.value())
                                               : std::string(kNotAssigned));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

void add_unknowns(const Topology& topology, Table& legend) {
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
    legend.add_row({label, fmt::format("{}: {}", what, fmt::join(reasons, "; "))});
  };
  add("NV?", "NVLinks, not counted", uncounted);
  add("?", "not known", unknown);
  add(kNotAssigned, "not known", unassigned);
}

Table legend_of(const Topology& topology) {
  Table legend({{"Label"}, {"Meaning", {}, false, 0, Table::TooLong::below}});
  legend.add_row({"X", "the device itself"});
  for (const LinkLabel& entry : kLinkLabels) {
    const auto occurs = [&](const TopologyPair& pair) { return is_called(entry, label_of(pair)); };
    if (std::ranges::any_of(topology.pairs, occurs)) legend.add_row({entry.label, entry.meaning});
  }
  add_unknowns(topology, legend);
  return legend;
}

/// Says "2 x NVIDIA H200", models in order of appearance.
std::string models_of(const Topology& topology) {
  std::vector<std::pair<std::string, int>> counts;
  for (const TopologyGpu& gpu : topology.gpus) {
    const std::string name = !gpu.name.empty()       ? gpu.name
                             : gpu.no_answer.empty() ? "GPU of unknown model"
                                                     : "GPU that does not answer";
    const auto known =
        std::ranges::find_if(counts, [&](const auto& count) { return count.first == name; });
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

using Alignment = Table::Alignment;

/// Shows the name or number of a GPU.
std::string identity_cell(const TopologyGpu& gpu, const std::string& text, Footnotes& notes) {
  if (!text.empty()) return text;
  return notes.unknown(gpu.no_answer.empty() ? "the driver does not say" : gpu.no_answer);
}

std::string number_cell(const Reading<int>& reading, Footnotes& notes) {
  return reading.measured() ? std::to_string(reading.value()) : notes.unknown(reading.reason());
}

std::string rate_cell(const Reading<double>& reading, int decimals, Footnotes& notes) {
  return reading.measured() ? fmt::format("{:.{}f}", reading.value(), decimals)
                            : notes.unknown(reading.reason());
}

/// Says "gen 5 x16".
std::string pcie_link(const Reading<int>& generation, const Reading<int>& width, Footnotes& notes) {
  if (!generation.measured() && generation.reason() == width.reason()) {
    return notes.unknown(generation.reason());
  }
  return fmt::format("gen {} x{}", number_cell(generation, notes), number_cell(width, notes));
}

std::string pcie_cell(const PcieInfo& pcie, Footnotes& notes) {
  const std::string now = pcie_link(pcie.generation, pcie.width, notes);
  const std::string most = pcie_link(pcie.most_generation, pcie.most_width, notes);
  return now == most && now.starts_with('?') ? now : fmt::format("{} (at most {})", now, most);
}

/// Says "0000:00:01.1", or "0000:00:02.1, x4 on the way" where a link above the GPU's own carries
/// less.
std::string root_port_cell(const TopologyGpu& gpu, Footnotes& notes) {
  if (gpu.path.empty()) {
    return notes.unknown(gpu.no_answer.empty() ? "the kernel does not show the GPU's place on PCIe"
                                               : gpu.no_answer);
  }
  if (gpu.path.size() == 1) return "none";
  const PcieHop* narrowest = narrowest_above(gpu.path);
  const std::string narrow =
      narrowest == nullptr ? "" : fmt::format(", x{} on the way", narrowest->width.value());
  return gpu.path.back().pci_bus_id + narrow;
}

/// Tells whether a link is slower now than it can be.
bool is_lowered(const PcieInfo& pcie) {
  const auto below = [](const Reading<int>& now, const Reading<int>& most) {
    return now.measured() && most.measured() && now.value() < most.value();
  };
  return below(pcie.generation, pcie.most_generation) || below(pcie.width, pcie.most_width);
}

std::string version_cell(const Reading<int>& version, Footnotes& notes) {
  if (!version.measured()) return notes.unknown(version.reason());
  const std::string name = nvlink_version_name(version.value());
  return name.empty()
             ? notes.unknown(fmt::format("NVML's version {} has no known name", version.value()))
             : name;
}

std::string links_cell(const NvlinkInfo& nvlink, Footnotes& notes) {
  if (!nvlink.active.measured() && nvlink.active.reason() == nvlink.possible.reason()) {
    return notes.unknown(nvlink.active.reason());
  }
  return fmt::format("{} of {}", number_cell(nvlink.active, notes),
                     number_cell(nvlink.possible, notes));
}

std::string cuda_cell(const Reading<int>& index, Footnotes& notes) {
  return index.why() == WhyMissing::hidden ? "hidden" : number_cell(index, notes);
}

/// Gives what is to be said where no GPU is known to have NVLink and all for the same reason.
std::optional<std::string> same_lack(const Topology& topology) {
  const Reading<int>& first = topology.gpus.front().nvlink.possible;
  const bool same = std::ranges::all_of(
      topology.gpus, [&](const TopologyGpu& gpu) { return gpu.nvlink.possible == first; });
  if (!same || first.value_or(0) > 0) return std::nullopt;
  return first.measured() ? "none of the GPUs has it"
                          : "none that the driver reports: " + first.reason();
}

/// Shows the fastest active link's rate, "< 26.5625" where others are slower.
std::string link_rate_cell(const NvlinkInfo& nvlink, Footnotes& notes) {
  const std::string rate = rate_cell(nvlink.rate_gb_per_s, 4, notes);
  return nvlink.slower.empty() ? rate : "< " + rate;
}

void add_nvlink_row(const TopologyGpu& gpu, Table& table, Footnotes& notes) {
  const std::string label = fmt::format("GPU{}", gpu.index);
  const NvlinkInfo& nvlink = gpu.nvlink;
  if (gpu.nvlink.possible.value_or(-1) == 0) {
    table.add_row({label, "none"});
    return;
  }
  const Reading<double> rate = rate_of(nvlink);
  Reading<double> payload = payload_limit_of(nvlink);
  if (!payload.measured() && rate.measured()) {
    payload = Missing{payload.reason() + "; linkgain doctor --load measures what a copy reaches"};
  }
  const std::string both_ways =
      rate.measured() ? fmt::format("{:.2f}", 2 * rate.value()) : notes.unknown(rate.reason());
  const std::string leads_to = !nvlink.switched.measured() ? notes.unknown(nvlink.switched.reason())
                               : nvlink.switched.value()   ? "a switch"
                                                           : "GPUs directly";
  table.add_row({label, version_cell(nvlink.version, notes), links_cell(nvlink, notes), leads_to,
                 link_rate_cell(nvlink, notes), rate_cell(rate, 2, notes), both_ways,
                 rate_cell(payload, 1, notes)});
}

/// Adds "GPU0: link 3 has 13.2812 GB/s" for every GPU whose active links differ.
void add_slower_links(const Topology& topology, Document& document) {
  for (const TopologyGpu& gpu : topology.gpus) {
    std::string links;
    for (const SlowNvlink& link : gpu.nvlink.slower) {
      links += fmt::format("{}link {} has {:.4f} GB/s", links.empty() ? "" : ", ", link.link,
                           link.rate_gb_per_s);
    }
    if (!links.empty()) document.item(fmt::format("GPU{}: {}", gpu.index, links));
  }
}

std::string status_cell(const Reading<P2pStatus>& status, Footnotes& notes) {
  if (!status.measured()) return notes.unknown(status.reason());
  return status.value().ok ? "ok" : status.value().why_not;
}

/// Says whether peer access goes over NVLink. Where it is refused the driver may say yes all the
/// same.
std::string over_nvlink_cell(const TopologyPair& pair, Footnotes& notes) {
  const auto is_refused = [](const Reading<P2pStatus>& status) {
    return status.measured() && !status.value().ok;
  };
  const bool is_used = !is_refused(pair.read) || !is_refused(pair.write);
  return is_used || is_refused(pair.over_nvlink) ? status_cell(pair.over_nvlink, notes)
                                                 : "no access";
}

/// The GPU pairs that answer alike.
struct P2pGroup {
  std::vector<std::string> answers;  ///< read, write, atomics, over NVLink
  std::vector<std::string> pairs;    ///< "GPU0-GPU1" both ways, "GPU0->GPU1" one
};

/// Sorts groups in order of appearance, the largest last.
std::vector<P2pGroup> group_pairs(const Topology& topology, Footnotes& notes) {
  std::vector<P2pGroup> groups;
  const auto answers_of = [&](const TopologyPair& pair) {
    return std::vector<std::string>{status_cell(pair.read, notes), status_cell(pair.write, notes),
                                    status_cell(pair.atomics, notes),
                                    over_nvlink_cell(pair, notes)};
  };
  const int gpus = static_cast<int>(topology.gpus.size());
  for (const TopologyPair& pair : topology.pairs) {
    if (pair.from >= gpus || pair.to >= gpus) continue;
    const std::vector<std::string> answers = answers_of(pair);
    const TopologyPair* back = find_pair(topology, pair.to, pair.from);
    const bool alike = back != nullptr && answers_of(*back) == answers;
    if (alike && pair.from > pair.to) continue;
    auto group = std::ranges::find(groups, answers, &P2pGroup::answers);
    if (group == groups.end()) group = groups.insert(groups.end(), {answers, {}});
    group->pairs.push_back(device_label(topology, pair.from) + (alike ? "-" : "->") +
                           device_label(topology, pair.to));
  }
  std::ranges::stable_sort(
      groups, [](const P2pGroup& a, const P2pGroup& b) { return a.pairs.size() < b.pairs.size(); });
  return groups;
}

/// Adds a heading and a table, or nothing where the machine has nothing for them, as the next three
/// do. What is not known is added to `notes`.
void add_gpus(const Topology& topology, Document& document, Footnotes& notes) {
  if (topology.gpus.empty()) return;
  std::vector<Table::Column> columns{{"GPU"},
                                     {"Model"},
                                     {"CUDA device", Alignment::left, false, 2},
                                     {"PCI id", Alignment::left, false, 1},
                                     {"PCIe link", Alignment::left, false, 3}};
  const bool has_ports = std::ranges::any_of(
      topology.gpus, [](const TopologyGpu& gpu) { return gpu.path.size() > 1; });
  if (has_ports) columns.push_back({"Root port", Alignment::left, false, 1});
  Table table(columns);
  bool lowered = false;
  bool hidden = false;
  for (const TopologyGpu& gpu : topology.gpus) {
    lowered = lowered || is_lowered(gpu.pcie);
    hidden = hidden || gpu.cuda_index.why() == WhyMissing::hidden;
    Cells cells{fmt::format("GPU{}", gpu.index), identity_cell(gpu, gpu.name, notes),
                cuda_cell(gpu.cuda_index, notes), identity_cell(gpu, gpu.pci_bus_id, notes),
                pcie_cell(gpu.pcie, notes)};
    if (has_ports) cells.push_back(root_port_cell(gpu, notes));
    table.add_row(std::move(cells));
  }
  document.heading("GPUs");
  document.table(std::move(table));
  if (hidden) document.paragraph("hidden: CUDA_VISIBLE_DEVICES leaves the GPU out.");
  if (lowered) {
    document.paragraph(
        with_code("A PCIe link may slow down while its GPU is idle: `linkgain doctor --load` looks "
                  "at it under load."));
  }
}

void add_nics(const Topology& topology, Document& document, Footnotes& notes) {
  if (topology.nics.empty()) return;
  Table table({{"NIC"}, {"RDMA device"}, {"PCI id"}, {"NUMA node"}});
  for (std::size_t i = 0; i < topology.nics.size(); ++i) {
    const TopologyNic& nic = topology.nics[i];
    table.add_row(
        {fmt::format("NIC{}", i), nic.name, nic.pci_bus_id, number_cell(nic.numa_node, notes)});
  }
  document.heading("NICs");
  document.table(std::move(table));
}

void add_nvlink(const Topology& topology, Document& document, Footnotes& notes) {
  if (topology.gpus.empty()) return;
  if (const auto all = same_lack(topology)) return document.paragraph("NVLink: " + *all);
  Table table({{"GPU"},
               {"Version", Alignment::left, false, 3},
               {"Links active"},
               {"To", Alignment::left, false, 4},
               {"Per link", Alignment::right, false, 2},
               {"One way", Alignment::right},
               {"Both ways", Alignment::right, false, 1},
               {"Payload one way", Alignment::right}});
  for (const TopologyGpu& gpu : topology.gpus) add_nvlink_row(gpu, table, notes);
  document.heading("NVLink");
  document.table(std::move(table));
  const bool differ = std::ranges::any_of(
      topology.gpus, [](const TopologyGpu& gpu) { return !gpu.nvlink.slower.empty(); });
  document.paragraph(fmt::format(
      "In GB/s (1e9 B/s): per link as the driver says{}; payload: what coding leaves.",
      differ ? " (< : some are slower), summed over active links" : ", times active links"));
  add_slower_links(topology, document);
}

void add_p2p(const Topology& topology, Document& document, Footnotes& notes) {
  const std::vector<P2pGroup> groups = group_pairs(topology, notes);
  if (groups.empty()) return;
  Table table({{"Pair"},
               {"Read"},
               {"Write"},
               {"Atomics", Alignment::left, false, 1},
               {"Over NVLink", Alignment::left, false, 2}});
  for (const P2pGroup& group : groups) {
    Cells cells{fmt::format("{}", fmt::join(group.pairs, ", "))};
    if (&group == &groups.back()) {
      if (groups.size() > 1 && group.pairs.size() > 2) cells[0] = "all other pairs";
      if (groups.size() == 1 && group.pairs.size() > 1) cells[0] = "all pairs";
    }
    cells.insert(cells.end(), group.answers.begin(), group.answers.end());
    table.add_row(std::move(cells));
  }
  document.heading("P2P");
  document.table(std::move(table));
}

}  // namespace

Document topology_matrix(const Topology& topology) {
  Document document;
  document.heading("Matrix");
  document.table(matrix_of(topology));
  document.table(legend_of(topology));
  return document;
}

Document topology_report(const Topology& topology, const NcclSettings& nccl,
                         const std::string& picture) {
  const std::string driver = topology.driver.measured()
                                 ? "driver " + topology.driver.value()
                                 : "driver version not known: " + topology.driver.reason();
  const LinkAnswer answer = link_answer(topology, nccl);
  Document document = document_of(answer);
  if (answer.has_more) {
    const Tone tone = answer.judgement == CheckVerdict::problem ? Tone::bad : Tone::doubtful;
    document.paragraph(toned(fmt::format("{}:", name_of(answer.judgement)), tone) +
                       with_code(" `linkgain doctor` says why and what to do"));
  }
  const std::string machine =
      topology.hypervisor ? fmt::format(", in a virtual machine ({}): its PCIe is not its host's",
                                        *topology.hypervisor)
                          : "";
  document.paragraph(
      fmt::format("{}: {}, {}{}", topology.host, models_of(topology), driver, machine));
  if (!picture.empty()) document.figure(picture);
  document.add(topology_matrix(topology));
  Footnotes notes;
  for (const auto add : {add_gpus, add_nics, add_nvlink, add_p2p}) add(topology, document, notes);
  document.notes(notes);
  return document;
}

}  // namespace linkgain
