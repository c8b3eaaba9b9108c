#include "linkgain/core/steering_variables.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "linkgain/core/names.hpp"

namespace linkgain {
namespace {

/// NCCL's documentation of its environment variables; harmless values are its defaults. The first
/// row that matches counts.
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
    SteeringVariable{"NCCL_NTHREADS", Steers::resources, "changes the threads of each channel", ""},
    SteeringVariable{"NCCL_BUFFSIZE", Steers::resources, "changes the buffers of each channel",
                     "4194304"},
    SteeringVariable{"NCCL_TOPO_FILE", Steers::resources,
                     "has NCCL believe a file instead of the machine", ""},
    SteeringVariable{"NCCL_HOSTID", Steers::road,
                     "decides which ranks NCCL takes to be on one host", ""},
    SteeringVariable{"NCCL_GRAPH_FILE", Steers::resources,
                     "has NCCL take rings and trees from a file", ""},
    SteeringVariable{"NCCL_TUNER_PLUGIN", Steers::resources,
                     "lets a plugin choose algorithm and protocol", "none"},
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
