#include "linkgain/hardware/nccl_environment.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

/// NCCL's documentation of its environment variables, and CUDA's and cuBLAS's; harmless values are
/// the defaults. Not documented but known to everybody who tunes NCCL are the numbers of channels
/// for send_recv and for multicast and the sizes of chunks. The first row that matches counts.
constexpr std::array kVariables{
    SteeringVariable{"NCCL_P2P_DISABLE", Steers::road,
                     "turns P2P off, NVLink and PCIe alike, for every NCCL program", "0"},
    SteeringVariable{"NCCL_P2P_LEVEL", Steers::road,
                     "overrides the distance up to which NCCL uses P2P", ""},
    SteeringVariable{"NCCL_P2P_DIRECT_DISABLE", Steers::road,
                     "forbids direct access between GPUs of one process", "0"},
    SteeringVariable{"NCCL_SHM_DISABLE", Steers::road,
                     "sends what P2P cannot carry over the network instead of host memory", "0"},
    SteeringVariable{"NCCL_NVLS_ENABLE", Steers::road, "decides about NVLink multicast", "1 2"},
    SteeringVariable{"NCCL_NVB_DISABLE", Steers::road, "forbids NVLink by way of a GPU in between",
                     "0"},
    SteeringVariable{"NCCL_MNNVL_ENABLE", Steers::road, "decides about NVLink between hosts", "2"},
    SteeringVariable{"NCCL_COLLNET_ENABLE", Steers::road,
                     "decides about reductions that the network does", "0"},
    SteeringVariable{"NCCL_WIN_ENABLE", Steers::road, "decides about symmetric memory windows",
                     "1"},
    SteeringVariable{"NCCL_CUMEM_ENABLE", Steers::resources,
                     "decides how memory is shared between GPUs", "1"},
    SteeringVariable{"NCCL_CUMEM_HOST_ENABLE", Steers::resources,
                     "decides how host memory is shared between processes", "1"},
    SteeringVariable{"NCCL_ALGO", Steers::resources, "fixes the algorithm", ""},
    SteeringVariable{"NCCL_PROTO", Steers::resources, "fixes the protocol", ""},
    SteeringVariable{"NCCL_MIN_NCHANNELS", Steers::resources, "changes the number of channels", ""},
    SteeringVariable{"NCCL_MAX_NCHANNELS", Steers::resources, "changes the number of channels", ""},
    SteeringVariable{"NCCL_MIN_CTAS", Steers::resources, "changes the number of channels", ""},
    SteeringVariable{"NCCL_MAX_CTAS", Steers::resources, "changes the number of channels", ""},
    SteeringVariable{"NCCL_MIN_NRINGS", Steers::resources, "changes the number of channels", ""},
    SteeringVariable{"NCCL_MAX_NRINGS", Steers::resources, "changes the number of channels", ""},
    SteeringVariable{"NCCL_MIN_P2P_NCHANNELS", Steers::resources,
                     "changes the number of channels of send_recv", ""},
    SteeringVariable{"NCCL_MAX_P2P_NCHANNELS", Steers::resources,
                     "changes the number of channels of send_recv", ""},
    SteeringVariable{"NCCL_NVLS_NCHANNELS", Steers::resources,
                     "changes the number of channels of NVLink multicast", ""},
    SteeringVariable{"NCCL_CTA_POLICY", Steers::resources,
                     "changes how many SMs NCCL takes, down to none", "0 DEFAULT"},
    SteeringVariable{"NCCL_CGA_CLUSTER_SIZE", Steers::resources,
                     "changes how NCCL's thread blocks are grouped", ""},
    SteeringVariable{"NCCL_MEM_SYNC_DOMAIN", Steers::resources,
                     "decides whether NCCL's kernels wait for others' memory operations", "1"},
    SteeringVariable{"NCCL_SYM_*", Steers::resources, "changes the kernels for symmetric memory",
                     ""},
    SteeringVariable{"NCCL_NTHREADS", Steers::resources, "changes the threads of each channel", ""},
    SteeringVariable{"NCCL_BUFFSIZE", Steers::resources, "changes the buffers of each channel",
                     "4194304"},
    SteeringVariable{"NCCL_P2P_NVL_CHUNKSIZE", Steers::resources,
                     "changes the size of send_recv's chunks over NVLink", "524288"},
    SteeringVariable{"NCCL_P2P_PCI_CHUNKSIZE", Steers::resources,
                     "changes the size of send_recv's chunks over PCIe", "131072"},
    SteeringVariable{"NCCL_P2P_LL_THRESHOLD", Steers::resources,
                     "changes up to which size send_recv uses LL", "16384"},
    SteeringVariable{"NCCL_LOCAL_REGISTER", Steers::resources,
                     "decides about buffers that the user registers", "1"},
    SteeringVariable{"NCCL_GRAPH_REGISTER", Steers::resources,
                     "decides whether graphs' buffers are registered", "1"},
    SteeringVariable{"NCCL_LEGACY_CUDA_REGISTER", Steers::resources,
                     "has NCCL register memory of cudaMalloc", "0"},
    SteeringVariable{"NCCL_GRAPH_MIXING_SUPPORT", Steers::resources,
                     "changes how graphs' operations are ordered", "1"},
    SteeringVariable{"NCCL_LAUNCH_ORDER_IMPLICIT", Steers::resources,
                     "orders the operations of different communicators", "0"},
    SteeringVariable{"NCCL_CHECK_POINTERS", Steers::resources, "checks buffers at each call", "0"},
    SteeringVariable{"NCCL_CHECK_MODE", Steers::resources, "checks arguments at each call",
                     "DEFAULT"},
    SteeringVariable{"NCCL_IGNORE_CPU_AFFINITY", Steers::resources,
                     "lets NCCL's threads run on processors that the ranks are not bound to", "0"},
    SteeringVariable{"NCCL_TOPO_FILE", Steers::resources,
                     "has NCCL believe a file instead of the machine", ""},
    SteeringVariable{"NCCL_HOSTID", Steers::road,
                     "decides which ranks NCCL takes to be on one host", ""},
    SteeringVariable{"NCCL_GRAPH_FILE", Steers::resources,
                     "has NCCL take rings and trees from a file", ""},
    SteeringVariable{"NCCL_TUNER_PLUGIN", Steers::resources,
                     "lets a plugin choose algorithm and protocol", "none"},
    SteeringVariable{"NCCL_PROFILER_PLUGIN", Steers::resources, "lets a plugin watch each call",
                     "none"},
    SteeringVariable{"NCCL_LAUNCH_MODE", Steers::resources, "changes how kernels are launched",
                     "PARALLEL"},
    SteeringVariable{"NCCL_CONF_FILE", Steers::resources,
                     "has NCCL read more settings from a file of its own", ""},
    SteeringVariable{"NCCL_NET_DISABLE_INTRA", Steers::network,
                     "keeps messages within this host off the network", "0"},
    SteeringVariable{"NCCL_NET_PLUGIN", Steers::network, "chooses the network plugin", ""},
    SteeringVariable{"NCCL_NET_*", Steers::network, "changes how the network is used", ""},
    SteeringVariable{"NCCL_NET", Steers::network, "fixes the network", ""},
    SteeringVariable{"NCCL_IB_DISABLE", Steers::network, "turns InfiniBand and RoCE off", "0"},
    SteeringVariable{"NCCL_IB_HCA", Steers::network, "chooses the network adapters", ""},
    SteeringVariable{"NCCL_CROSS_NIC", Steers::network,
                     "decides whether a ring may change between network adapters", "2"},
    SteeringVariable{"NCCL_PXN_DISABLE", Steers::network,
                     "keeps messages to other hosts off NVLink to another GPU's adapter", "0"},
    SteeringVariable{"NCCL_P2P_PXN_LEVEL", Steers::network,
                     "changes when send_recv goes by another GPU's adapter", "2"},
    SteeringVariable{"NCCL_PXN_C2C", Steers::network,
                     "changes when messages go by another GPU's adapter", "1"},
    SteeringVariable{"NCCL_NETDEVS_POLICY", Steers::network,
                     "changes which network adapters a GPU uses", "AUTO"},
    SteeringVariable{"NCCL_DMABUF_ENABLE", Steers::network,
                     "decides how network adapters reach the GPUs' memory", "1"},
    SteeringVariable{"NCCL_P2P_NET_CHUNKSIZE", Steers::network,
                     "changes the size of send_recv's chunks over the network", "131072"},
    SteeringVariable{"CUDA_LAUNCH_BLOCKING", Steers::resources,
                     "has the CPU wait for each kernel, so that nothing overlaps", "0"},
    SteeringVariable{"CUDA_DEVICE_MAX_CONNECTIONS", Steers::resources,
                     "changes how many streams' kernels the GPU takes side by side", "8"},
    SteeringVariable{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", Steers::resources,
                     "leaves each process a part of the SMs", "100"},
    SteeringVariable{"NVIDIA_TF32_OVERRIDE", Steers::products,
                     "decides about TF32 in products of matrices, whatever precision was asked for",
                     ""},
    SteeringVariable{"CUBLAS_EMULATE_SINGLE_PRECISION", Steers::products,
                     "has products of fp32 matrices computed in bf16, several for each", "0"},
    SteeringVariable{"CUBLAS_EMULATION_STRATEGY", Steers::products,
                     "decides when products of fp32 matrices are computed in bf16", ""},
    SteeringVariable{"NCCL_DEBUG", Steers::log, "logs", "VERSION WARN INFO ABORT"},
    SteeringVariable{"NCCL_DEBUG_SUBSYS", Steers::log, "chooses what is logged", ""},
    SteeringVariable{"OMPI_MCA_btl_vader_single_copy_mechanism", Steers::resources,
                     "decides how Open MPI copies between processes", ""},
};

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

/// The number that a value begins with, in C's notation; 0 where it begins with none.
int number_of(std::string_view value) {
  return static_cast<int>(std::strtol(std::string(value).c_str(), nullptr, 0));
}

}  // namespace

const SteeringVariable* steering_variable(std::string_view name) {
  const auto* row = std::ranges::find_if(
      kVariables, [&](const SteeringVariable& each) { return matches(each.name, name); });
  return row == kVariables.end() ? nullptr : row;
}

bool forbids_p2p(std::string_view name, std::string_view value) {
  if (name == "NCCL_P2P_DISABLE") return number_of(value) == 1;
  if (name != "NCCL_P2P_LEVEL" || value.empty()) return false;
  const bool is_number = value.front() >= '0' && value.front() <= '9';
  return value == "LOC" || (is_number && number_of(value) == 0);
}

bool is_harmless(const SteeringVariable& variable, std::string_view value) {
  if (variable.harmless.empty()) return value.empty();
  const std::vector<std::string> values = split(variable.harmless, ' ');
  return value.empty() || std::ranges::find(values, value) != values.end();
}

}  // namespace linkgain
