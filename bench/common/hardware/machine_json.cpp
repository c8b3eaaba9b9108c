#include "linkgain/hardware/machine_json.hpp"

#include <array>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"

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

}  // namespace

Out write_software(const Software& software) {
  return {{"linkgain", software.linkgain},
          {"build", software.build},
          {"mpi", software.mpi},
          {"driver", nullable(software.driver)},
          {"cuda_driver", nullable(software.cuda_driver)},
          {"cuda_runtime", nullable(software.cuda_runtime)},
          {"nccl_header", nullable(software.nccl_header)},
          {"nccl_library", nullable(software.nccl_library)},
          {"nccl_build", nullable(software.nccl_build)},
          {"nccl_path", nullable(software.nccl_path)},
          {"nccl_found_by", nullable(software.nccl_found_by)},
          {"nccl_missing", nullable(software.nccl_missing)}};
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
  software.nccl_build = optional_at<std::string>(json, "nccl_build");
  software.nccl_path = optional_at<std::string>(json, "nccl_path");
  software.nccl_found_by = optional_at<std::string>(json, "nccl_found_by");
  software.nccl_missing = optional_at<std::string>(json, "nccl_missing");
  return software;
}

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
  throw UsageError("no such ancestor: " + *label);
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
