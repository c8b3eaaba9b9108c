#include "linkgain/hardware/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/hardware/machine_json.hpp"

namespace linkgain {
namespace {

constexpr std::array kPaths{Path::nvlink,  Path::pcie_p2p, Path::host_memory,
                            Path::network, Path::mixed,    Path::unknown};
constexpr std::array<std::string_view, 6> kPathNames{"nvlink",  "pcie-p2p", "host-memory",
                                                     "network", "mixed",    "unknown"};

}  // namespace

std::string_view name_of(Path path) { return kPathNames[static_cast<std::size_t>(path)]; }

std::string_view readable_path(Path path) {
  switch (path) {
    case Path::nvlink:
      return "NVLink";
    case Path::pcie_p2p:
      return "PCIe P2P";
    case Path::host_memory:
      return "host memory";
    case Path::network:
      return "network";
    case Path::mixed:
      return "mixed";
    case Path::unknown:
      return "unknown";
  }
  return "";
}

Path parse_path(std::string_view name) {
  for (Path path : kPaths) {
    if (name == name_of(path)) return path;
  }
  throw UsageError(unknown_name("path", name, kPathNames));
}

std::optional<double> nvlink_total(const GpuInfo& gpu) {
  if (gpu.nvlink_links_active.value_or(0) <= 0) return std::nullopt;
  if (gpu.nvlink_total_gb_per_s || !gpu.nvlink_rate_gb_per_s) return gpu.nvlink_total_gb_per_s;
  return *gpu.nvlink_links_active * *gpu.nvlink_rate_gb_per_s;
}

bool has_unequal_nvlinks(const GpuInfo& gpu) {
  const std::optional<double> total = nvlink_total(gpu);
  if (!total || !gpu.nvlink_rate_gb_per_s) return false;
  constexpr double kRounding = 1e-6;
  return *total > *gpu.nvlink_links_active * *gpu.nvlink_rate_gb_per_s * (1.0 + kRounding);
}

bool same_gpus(const Machine& a, const Machine& b) {
  const auto same = [](const RankInfo& one, const RankInfo& other) {
    if (one.host != other.host || one.gpu.has_value() != other.gpu.has_value()) return false;
    return !one.gpu || one.gpu->pci_bus_id == other.gpu->pci_bus_id;
  };
  return std::equal(a.ranks.begin(), a.ranks.end(), b.ranks.begin(), b.ranks.end(), same);
}

bool on_one_host(const Machine& machine) {
  return std::all_of(machine.ranks.begin(), machine.ranks.end(),
                     [&](const RankInfo& rank) { return rank.host == machine.ranks.front().host; });
}

std::string label_of(const PairLink& link) {
  return pair_label(link.nvlinks, link.nvlink.value_or(false), link.ancestor);
}

const RankInfo* find_rank(const Machine& machine, int rank) {
  const auto found = std::find_if(machine.ranks.begin(), machine.ranks.end(),
                                  [&](const RankInfo& each) { return each.rank == rank; });
  return found != machine.ranks.end() ? &*found : nullptr;
}

const PairLink* find_link(const Machine& machine, int rank, int other) {
  const auto link = std::find_if(machine.links.begin(), machine.links.end(), [&](const auto& each) {
    return std::minmax(each.from, each.to) == std::minmax(rank, other);
  });
  return link != machine.links.end() ? &*link : nullptr;
}

std::optional<bool> all_pairs(const std::vector<PairLink>& links,
                              std::optional<bool> PairLink::*what) {
  if (links.empty()) return std::nullopt;
  bool all = true;
  for (const PairLink& link : links) {
    if (!(link.*what)) return std::nullopt;
    all = all && *(link.*what);
  }
  return all;
}

std::optional<bool> same_for_all_pairs(const std::vector<PairLink>& links,
                                       std::optional<bool> PairLink::*what) {
  if (links.empty()) return std::nullopt;
  const std::optional<bool> first = links.front().*what;
  const bool same = std::all_of(links.begin(), links.end(),
                                [&](const PairLink& link) { return link.*what == first; });
  return same ? first : std::nullopt;
}

std::string describe_ranks(const Machine& machine) {
  std::vector<std::pair<std::string, int>> counts;
  for (const RankInfo& rank : machine.ranks) {
    if (!rank.gpu) return fmt::format("{} ranks", machine.ranks.size());
    const auto known = std::find_if(counts.begin(), counts.end(), [&](const auto& entry) {
      return entry.first == rank.gpu->name;
    });
    if (known == counts.end()) {
      counts.emplace_back(rank.gpu->name, 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) {
    parts.push_back(count == 1 ? name : fmt::format("{} x {}", count, name));
  }
  return fmt::format("{}", fmt::join(parts, " + "));
}

namespace {

constexpr std::string_view kWithoutP2p = " without P2P";

/// What a number of links stands for if the pair's own were not counted.
std::optional<int> links_of_two(const Machine& machine, const PairLink& link) {
  if (machine.ranks.size() != 2) return std::nullopt;
  const RankInfo* rank = find_rank(machine, link.from);
  if (rank == nullptr || !rank->gpu) return std::nullopt;
  const std::optional<int> active = rank->gpu->nvlink_links_active;
  return active.value_or(0) > 0 ? active : std::nullopt;
}

template <typename T>
bool both_known_and_differ(const std::optional<T>& a, const std::optional<T>& b) {
  return a && b && *a != *b;
}

}  // namespace

std::optional<bool> over_nvlink(const PairLink& link) {
  return link.nvlinks ? std::optional(*link.nvlinks > 0) : link.nvlink;
}

std::string path_label(const PairLink& link) {
  const std::optional<bool> nvlink = over_nvlink(link);
  std::string label;
  if (nvlink.value_or(false)) {
    label = "NVLink";
  } else if (link.ancestor) {
    label = label_of(*link.ancestor);
  } else if (nvlink) {
    label = "no NVLink";
  }
  if (!label.empty() && !link.p2p.value_or(true)) label += kWithoutP2p;
  return label;
}

std::string link_label(const Machine& machine, const PairLink& link) {
  if (!over_nvlink(link).value_or(false)) return path_label(link);
  const std::optional<int> count = link.nvlinks ? link.nvlinks : links_of_two(machine, link);
  if (!count) return path_label(link);
  return fmt::format("NV{}{}", *count, link.p2p.value_or(true) ? "" : kWithoutP2p);
}

bool links_differ(const Machine& machine, const PairLink& link, const Machine& other_machine,
                  const PairLink& other) {
  const std::optional<bool> nvlink = over_nvlink(link);
  const std::optional<bool> other_nvlink = over_nvlink(other);
  if (both_known_and_differ(nvlink, other_nvlink)) return true;
  if (both_known_and_differ(link.p2p, other.p2p)) return true;
  if (nvlink.value_or(false) && other_nvlink.value_or(false)) {
    if (link.nvlinks || other.nvlinks) return both_known_and_differ(link.nvlinks, other.nvlinks);
    return both_known_and_differ(links_of_two(machine, link), links_of_two(other_machine, other));
  }
  // What lies beside NVLink is not the way.
  if (nvlink.value_or(false) || other_nvlink.value_or(false)) return false;
  return both_known_and_differ(link.ancestor, other.ancestor);
}

}  // namespace linkgain

namespace linkgain::json {
namespace {

Out write_copy_rates(const CopyRates& rates) {
  return {{"to_gpu_gb_per_s", rates.to_gpu_gb_per_s},
          {"from_gpu_gb_per_s", rates.from_gpu_gb_per_s}};
}

CopyRates read_copy_rates(const In& json) {
  return {json.at("to_gpu_gb_per_s"), json.at("from_gpu_gb_per_s")};
}

Out write_gpu(const GpuInfo& gpu) {
  return {{"cuda_index", gpu.cuda_index},
          {"name", gpu.name},
          {"uuid", gpu.uuid},
          {"pci_bus_id", gpu.pci_bus_id},
          {"memory_bytes", gpu.memory_bytes},
          {"l2_bytes", gpu.l2_bytes},
          {"multiprocessors", gpu.multiprocessors},
          {"compute_capability", gpu.compute_capability},
          {"nvlink_version", nullable(gpu.nvlink_version)},
          {"nvlink_links", nullable(gpu.nvlink_links)},
          {"nvlink_links_active", nullable(gpu.nvlink_links_active)},
          {"nvlink_rate_gb_per_s", nullable(gpu.nvlink_rate_gb_per_s)},
          {"nvlink_total_gb_per_s", nullable(gpu.nvlink_total_gb_per_s)},
          {"pcie_generation", nullable(gpu.pcie_generation)},
          {"pcie_width", nullable(gpu.pcie_width)},
          {"most_sm_clock_mhz", nullable(gpu.most_sm_clock_mhz)},
          {"application_clock_mhz", nullable(gpu.application_clock_mhz)},
          {"most_custom_boost_clock_mhz", nullable(gpu.most_custom_boost_clock_mhz)},
          {"power_limit_w", nullable(gpu.power_limit_w)}};
}

GpuInfo read_gpu(const In& json) {
  GpuInfo gpu;
  gpu.cuda_index = json.at("cuda_index");
  gpu.name = json.at("name");
  gpu.uuid = json.at("uuid");
  gpu.pci_bus_id = json.at("pci_bus_id");
  gpu.memory_bytes = json.at("memory_bytes");
  gpu.l2_bytes = json.at("l2_bytes");
  gpu.multiprocessors = json.at("multiprocessors");
  gpu.compute_capability = json.at("compute_capability");
  gpu.nvlink_version = optional_at<int>(json, "nvlink_version");
  gpu.nvlink_links = optional_at<int>(json, "nvlink_links");
  gpu.nvlink_links_active = optional_at<int>(json, "nvlink_links_active");
  gpu.nvlink_rate_gb_per_s = optional_at<double>(json, "nvlink_rate_gb_per_s");
  gpu.nvlink_total_gb_per_s = optional_at<double>(json, "nvlink_total_gb_per_s");
  gpu.pcie_generation = optional_at<int>(json, "pcie_generation");
  gpu.pcie_width = optional_at<int>(json, "pcie_width");
  gpu.most_sm_clock_mhz = optional_at<int>(json, "most_sm_clock_mhz");
  gpu.application_clock_mhz = optional_at<int>(json, "application_clock_mhz");
  gpu.most_custom_boost_clock_mhz = optional_at<int>(json, "most_custom_boost_clock_mhz");
  gpu.power_limit_w = optional_at<double>(json, "power_limit_w");
  return gpu;
}

Out write_rank(const RankInfo& rank) {
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"pid", rank.pid},
          {"cpus", rank.cpus},
          {"gpu", rank.gpu ? write_gpu(*rank.gpu) : Out(nullptr)},
          {"host_copy", rank.host_copy ? write_host_copy(*rank.host_copy) : Out(nullptr)}};
}

RankInfo read_rank(const In& json) {
  RankInfo rank{.rank = json.at("rank"),
                .host = json.at("host"),
                .pid = json.at("pid"),
                .cpus = json.at("cpus"),
                .gpu = std::nullopt,
                .host_copy = std::nullopt};
  if (!json.at("gpu").is_null()) rank.gpu = read_gpu(json.at("gpu"));
  if (const In* rates = member_of(json, "host_copy")) rank.host_copy = read_host_copy(*rates);
  return rank;
}

/// The label follows from the rest; it is there for those who read the matrix from the record.
Out write_link(const PairLink& link) {
  return {{"from", link.from},
          {"to", link.to},
          {"p2p", nullable(link.p2p)},
          {"nvlink", nullable(link.nvlink)},
          {"ancestor", write_ancestor(link.ancestor)},
          {"nvlinks", nullable(link.nvlinks)},
          {"label", label_of(link)}};
}

/// Records from before the ancestor was asked for lack it.
PairLink read_link(const In& json) {
  return {json.at("from"),
          json.at("to"),
          optional_at<bool>(json, "p2p"),
          optional_at<bool>(json, "nvlink"),
          ancestor_of(optional_at<std::string>(json, "ancestor")),
          optional_at<int>(json, "nvlinks")};
}

Out write_software(const Software& software) {
  return {{"linkgain", software.linkgain},
          {"build", software.build},
          {"mpi", software.mpi},
          {"driver", nullable(software.driver)},
          {"cuda_driver", nullable(software.cuda_driver)},
          {"cuda_runtime", nullable(software.cuda_runtime)},
          {"nccl_header", nullable(software.nccl_header)},
          {"nccl_library", nullable(software.nccl_library)}};
}

Software read_software(const In& json) {
  Software software;
  software.linkgain = json.at("linkgain");
  software.build = json.at("build");
  software.mpi = json.at("mpi");
  software.driver = optional_at<std::string>(json, "driver");
  software.cuda_driver = optional_at<std::string>(json, "cuda_driver");
  software.cuda_runtime = optional_at<std::string>(json, "cuda_runtime");
  software.nccl_header = optional_at<std::string>(json, "nccl_header");
  software.nccl_library = optional_at<std::string>(json, "nccl_library");
  return software;
}

}  // namespace

Out write_link_counters(const LinkCounters& counters) {
  return {{"nvlink_sent", nullable(counters.nvlink_sent)},
          {"nvlink_received", nullable(counters.nvlink_received)},
          {"pcie_sent", nullable(counters.pcie_sent)},
          {"pcie_received", nullable(counters.pcie_received)}};
}

LinkCounters read_link_counters(const In& json) {
  return {.nvlink_sent = optional_at<std::int64_t>(json, "nvlink_sent"),
          .nvlink_received = optional_at<std::int64_t>(json, "nvlink_received"),
          .pcie_sent = optional_at<std::int64_t>(json, "pcie_sent"),
          .pcie_received = optional_at<std::int64_t>(json, "pcie_received")};
}

Out write_host_copy(const HostCopyRates& rates) {
  Out json = write_copy_rates(rates.at_once());
  json["alone"] = rates.alone ? write_copy_rates(*rates.alone) : Out(nullptr);
  return json;
}

HostCopyRates read_host_copy(const In& json) {
  const CopyRates at_once = read_copy_rates(json);
  HostCopyRates rates{at_once.to_gpu_gb_per_s, at_once.from_gpu_gb_per_s};
  if (const In* alone = member_of(json, "alone")) rates.alone = read_copy_rates(*alone);
  return rates;
}

std::optional<Ancestor> ancestor_of(const std::optional<std::string>& label) {
  if (!label) return std::nullopt;
  for (const Ancestor each : {Ancestor::self, Ancestor::pix, Ancestor::pxb, Ancestor::phb,
                              Ancestor::node, Ancestor::sys}) {
    if (*label == label_of(each)) return each;
  }
  throw std::invalid_argument("no such ancestor: " + *label);
}

Out write_ancestor(const std::optional<Ancestor>& ancestor) {
  return ancestor ? Out(label_of(*ancestor)) : Out(nullptr);
}

Out write_machine(const Machine& machine) {
  return {{"host", machine.host},
          {"kernel", machine.kernel},
          {"processor", machine.processor},
          {"processors", machine.processors},
          {"software", write_software(machine.software)},
          {"ranks", array_of(machine.ranks, write_rank)},
          {"links", array_of(machine.links, write_link)}};
}

Machine read_machine(const In& json) {
  Machine machine;
  machine.host = json.at("host");
  machine.kernel = json.at("kernel");
  machine.processor = json.at("processor");
  machine.processors = json.at("processors");
  machine.software = read_software(json.at("software"));
  machine.ranks = vector_of<RankInfo>(json.at("ranks"), read_rank);
  machine.links = vector_of<PairLink>(json.at("links"), read_link);
  return machine;
}

}  // namespace linkgain::json
