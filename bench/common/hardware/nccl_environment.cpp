#include "linkgain/hardware/nccl_environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

/// NCCL's documentation of its environment variables, and CUDA's and cuBLAS's; harmless values are
/// the defaults. Not documented but known to everybody who tunes NCCL are the numbers of channels
/// for send_recv and for multicast and the sizes of chunks. The first row that matches counts.
constexpr EnvironmentVariable kVariables[] = {
    {"NCCL_P2P_DISABLE", Affects::transport,
     "turns P2P off, NVLink and PCIe alike, for every NCCL program", "0"},
    {"NCCL_P2P_LEVEL", Affects::transport, "overrides the distance up to which NCCL uses P2P", ""},
    {"NCCL_IGNORE_DISABLED_P2P", Affects::transport,
     "lets NCCL go on without P2P between GPUs that NVLink joins", "0"},
    {"NCCL_P2P_DIRECT_DISABLE", Affects::transport,
     "forbids direct access between GPUs of one process", "0"},
    {"NCCL_SHM_DISABLE", Affects::transport,
     "sends what P2P cannot carry over the network instead of host memory", "0"},
    {"NCCL_NVLS_ENABLE", Affects::transport, "decides about NVLink multicast", "1 2"},
    {"NCCL_NVB_DISABLE", Affects::transport, "forbids NVLink by way of a GPU in between", "0"},
    {"NCCL_MNNVL_ENABLE", Affects::transport, "decides about NVLink between hosts", "2"},
    {"NCCL_COLLNET_ENABLE", Affects::transport, "decides about reductions that the network does",
     "0"},
    {"NCCL_WIN_ENABLE", Affects::transport, "decides about symmetric memory windows", "1"},
    {"NCCL_CUMEM_ENABLE", Affects::resources, "decides how memory is shared between GPUs", "1"},
    {"NCCL_CUMEM_HOST_ENABLE", Affects::resources,
     "decides how host memory is shared between processes", "1"},
    {"NCCL_ALGO", Affects::resources, "fixes the algorithm", ""},
    {"NCCL_PROTO", Affects::resources, "fixes the protocol", ""},
    {"NCCL_MIN_NCHANNELS", Affects::resources, "changes the number of channels", ""},
    {"NCCL_MAX_NCHANNELS", Affects::resources, "changes the number of channels", ""},
    {"NCCL_MIN_CTAS", Affects::resources, "changes the number of channels", ""},
    {"NCCL_MAX_CTAS", Affects::resources, "changes the number of channels", ""},
    {"NCCL_MIN_NRINGS", Affects::resources, "changes the number of channels", ""},
    {"NCCL_MAX_NRINGS", Affects::resources, "changes the number of channels", ""},
    {"NCCL_MIN_P2P_NCHANNELS", Affects::resources, "changes the number of channels of send_recv",
     ""},
    {"NCCL_MAX_P2P_NCHANNELS", Affects::resources, "changes the number of channels of send_recv",
     ""},
    {"NCCL_NVLS_NCHANNELS", Affects::resources,
     "changes the number of channels of NVLink multicast", ""},
    {"NCCL_CTA_POLICY", Affects::resources, "changes how many SMs NCCL takes, down to none",
     "0 DEFAULT"},
    {"NCCL_CGA_CLUSTER_SIZE", Affects::resources, "changes how NCCL's thread blocks are grouped",
     ""},
    {"NCCL_MEM_SYNC_DOMAIN", Affects::resources,
     "decides whether NCCL's kernels wait for others' memory operations", "1"},
    {"NCCL_SYM_*", Affects::resources, "changes the kernels for symmetric memory", ""},
    {"NCCL_NTHREADS", Affects::resources, "changes the threads of each channel", ""},
    {"NCCL_BUFFSIZE", Affects::resources, "changes the buffers of each channel", "4194304"},
    {"NCCL_P2P_NVL_CHUNKSIZE", Affects::resources,
     "changes the size of send_recv's chunks over NVLink", "524288"},
    {"NCCL_P2P_PCI_CHUNKSIZE", Affects::resources,
     "changes the size of send_recv's chunks over PCIe", "131072"},
    {"NCCL_P2P_LL_THRESHOLD", Affects::resources, "changes up to which size send_recv uses LL",
     "16384"},
    {"NCCL_LOCAL_REGISTER", Affects::resources, "decides about buffers that the user registers",
     "1"},
    {"NCCL_GRAPH_REGISTER", Affects::resources, "decides whether graphs' buffers are registered",
     "1"},
    {"NCCL_LEGACY_CUDA_REGISTER", Affects::resources, "has NCCL register memory of cudaMalloc",
     "0"},
    {"NCCL_GRAPH_MIXING_SUPPORT", Affects::resources, "changes how graphs' operations are ordered",
     "1"},
    {"NCCL_LAUNCH_ORDER_IMPLICIT", Affects::resources,
     "orders the operations of different communicators", "0"},
    {"NCCL_CHECK_POINTERS", Affects::resources, "checks buffers at each call", "0"},
    {"NCCL_CHECK_MODE", Affects::resources, "checks arguments at each call", "DEFAULT"},
    {"NCCL_IGNORE_CPU_AFFINITY", Affects::resources,
     "lets NCCL's threads run on processors that the ranks are not bound to", "0"},
    {"NCCL_TOPO_FILE", Affects::resources, "has NCCL believe a file instead of the machine", ""},
    {"NCCL_HOSTID", Affects::transport, "decides which ranks NCCL takes to be on one host", ""},
    {"NCCL_GRAPH_FILE", Affects::resources, "has NCCL take rings and trees from a file", ""},
    {"NCCL_TUNER_PLUGIN", Affects::resources, "lets a plugin choose algorithm and protocol",
     "none"},
    {"NCCL_PROFILER_PLUGIN", Affects::resources, "lets a plugin watch each call", "none"},
    {"NCCL_LAUNCH_MODE", Affects::resources, "changes how kernels are launched", "PARALLEL"},
    {"NCCL_CONF_FILE", Affects::resources, "has NCCL read more settings from a file of its own",
     ""},
    {"NCCL_NET_DISABLE_INTRA", Affects::network, "keeps messages within this host off the network",
     "0"},
    {"NCCL_NET_PLUGIN", Affects::network, "chooses the network plugin", ""},
    {"NCCL_NET_*", Affects::network, "changes how the network is used", ""},
    {"NCCL_NET", Affects::network, "fixes the network", ""},
    {"NCCL_IB_DISABLE", Affects::network, "turns InfiniBand and RoCE off", "0"},
    {"NCCL_IB_HCA", Affects::network, "chooses the network adapters", ""},
    {"NCCL_CROSS_NIC", Affects::network,
     "decides whether a ring may change between network adapters", "2"},
    {"NCCL_PXN_DISABLE", Affects::network,
     "keeps messages to other hosts off NVLink to another GPU's adapter", "0"},
    {"NCCL_P2P_PXN_LEVEL", Affects::network, "changes when send_recv goes by another GPU's adapter",
     "2"},
    {"NCCL_PXN_C2C", Affects::network, "changes when messages go by another GPU's adapter", "1"},
    {"NCCL_NETDEVS_POLICY", Affects::network, "changes which network adapters a GPU uses", "AUTO"},
    {"NCCL_DMABUF_ENABLE", Affects::network, "decides how network adapters reach the GPUs' memory",
     "1"},
    {"NCCL_P2P_NET_CHUNKSIZE", Affects::network,
     "changes the size of send_recv's chunks over the network", "131072"},
    {"CUDA_LAUNCH_BLOCKING", Affects::resources,
     "has the CPU wait for each kernel, so that nothing overlaps", "0"},
    {"CUDA_DEVICE_MAX_CONNECTIONS", Affects::resources,
     "changes how many streams' kernels the GPU takes side by side", "8"},
    {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", Affects::resources,
     "leaves each process a part of the SMs", "100"},
    {"NVIDIA_TF32_OVERRIDE", Affects::gemm,
     "decides about TF32 in products of matrices, whatever precision was asked for", ""},
    {"CUBLAS_EMULATE_SINGLE_PRECISION", Affects::gemm,
     "has products of fp32 matrices computed in bf16, several for each", "0"},
    {"CUBLAS_EMULATION_STRATEGY", Affects::gemm,
     "decides when products of fp32 matrices are computed in bf16", ""},
    {"NCCL_DEBUG", Affects::log, "logs", "VERSION WARN INFO ABORT"},
    {"NCCL_DEBUG_SUBSYS", Affects::log, "chooses what is logged", ""},
    {"OMPI_MCA_btl_vader_single_copy_mechanism", Affects::resources,
     "decides how Open MPI copies between processes", ""},
};

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

/// Returns the number that a value begins with, in C's notation; 0 where it begins with none.
int number_of(std::string_view value) {
  return static_cast<int>(std::strtol(std::string(value).c_str(), nullptr, 0));
}

bool is_whole_number(std::string_view value) {
  const std::string text(value);
  char* end = nullptr;
  std::strtol(text.c_str(), &end, 0);
  return !text.empty() && *end == '\0';
}

/// Returns whether the value is one of those that the variable has without being set.
bool is_usual(const EnvironmentVariable& variable, std::string_view value) {
  const std::vector<std::string> values = split(variable.harmless, ' ');
  return std::ranges::find(values, value) != values.end();
}

/// Returns whether NCCL reads the number that a value begins with, 0 of a word.
bool takes_number(const EnvironmentVariable& variable) {
  return variable.name.starts_with("NCCL_") && !variable.harmless.empty() &&
         variable.harmless.find_first_not_of("0123456789 ") == std::string_view::npos;
}

/// Returns the version after `prefix`'s first place in `text` where a digit follows, one with
/// "+cuda" first.
std::string version_in(std::string_view text) {
  constexpr std::string_view kPrefix = "NCCL version ";
  std::string plain;
  for (std::size_t at = text.find(kPrefix); at != std::string_view::npos;
       at = text.find(kPrefix, at + 1)) {
    std::size_t end = at + kPrefix.size();
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                                 text[end] == '.' || text[end] == '+' || text[end] == '-')) {
      ++end;
    }
    const std::string version(text.substr(at + kPrefix.size(), end - at - kPrefix.size()));
    if (version.empty() || std::isdigit(static_cast<unsigned char>(version.front())) == 0) continue;
    if (version.find('+') != std::string::npos) return version;
    if (plain.empty()) plain = version;
  }
  return plain;
}

}  // namespace

const EnvironmentVariable* known_variable(std::string_view name) {
  const auto* row = std::ranges::find_if(
      kVariables, [&](const EnvironmentVariable& each) { return matches(each.name, name); });
  return row == std::end(kVariables) ? nullptr : row;
}

bool forbids_p2p(std::string_view name, std::string_view value) {
  if (name == "NCCL_P2P_DISABLE") return number_of(value) == 1;
  if (name == "LD_PRELOAD") return value.find(kNoP2pLibrary) != std::string_view::npos;
  if (name != "NCCL_P2P_LEVEL" || value.empty()) return false;
  const bool is_number = value.front() >= '0' && value.front() <= '9';
  return value == "LOC" || (is_number && number_of(value) == 0);
}

bool reaches_nccl_alone(std::string_view assignment) { return !assignment.starts_with(kPreload); }

std::string what_bypasses(std::string_view assignment) {
  if (reaches_nccl_alone(assignment)) {
    return fmt::format(
        "{} does not close what bypasses it: NVLink multicast (NCCL_NVLS_ENABLE=0), symmetric "
        "windows (NCCL_WIN_ENABLE=0), a program's own copies and all-reduces, fused ones included "
        "(vLLM: --disable-custom-all-reduce, VLLM_ALLREDUCE_USE_SYMM_MEM=0 and "
        "-cc.pass_config.fuse_allreduce_rms=False)",
        assignment.substr(0, assignment.find('=')));
  }
  return "no-p2p does not close what bypasses it: managed memory, libraries that are loaded with "
         "RTLD_DEEPBIND or dlmopen(), processes that do not load its library (static, setuid, in a "
         "container)";
}

bool is_harmless(const EnvironmentVariable& variable, std::string_view value) {
  if (variable.name == "NCCL_P2P_DISABLE") return !forbids_p2p(variable.name, value);
  if (value.empty() || is_usual(variable, value)) return true;
  return takes_number(variable) && is_usual(variable, std::to_string(number_of(value)));
}

bool is_misread(const EnvironmentVariable& variable, std::string_view value) {
  if (value.empty() || !is_harmless(variable, value)) return false;
  return !is_usual(variable, value) &&
         !(is_whole_number(value) && is_usual(variable, std::to_string(number_of(value))));
}

std::filesystem::path nccl_in(const std::filesystem::path& folder) {
  for (const char* place : {"", "lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu",
                            "nccl/lib", "nvidia/nccl/lib"}) {
    std::error_code ignored;
    const std::filesystem::path file = folder / place / kNcclFile;
    if (std::filesystem::exists(file, ignored)) return file;
  }
  return folder / kNcclFile;
}

std::string nccl_build_of(const std::filesystem::path& file) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  constexpr std::size_t kMostChunks = 64;
  constexpr std::size_t kOverlap = 64;
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  std::string plain;
  for (std::size_t i = 0; i < kMostChunks && stream; ++i) {
    text.erase(0, text.size() - std::min(text.size(), kOverlap));
    const std::size_t kept = text.size();
    text.resize(kept + kChunk);
    stream.read(text.data() + kept, kChunk);
    text.resize(kept + static_cast<std::size_t>(stream.gcount()));
    const std::string version = version_in(text);
    if (version.find('+') != std::string::npos) return version;
    if (plain.empty()) plain = version;
  }
  return plain;
}

}  // namespace linkgain
