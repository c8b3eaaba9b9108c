#include "linkgain/patterns/engine_lines.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>

#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

/// What an engine says of its all-reduce, by the words around it. Without an end all of the line
/// counts, and without `says` nothing of it. A line without a meaning says nothing, whatever later
/// rows have of it.
struct EngineLine {
  std::string_view before;
  std::string_view after;
  std::string_view meaning;
  bool says = true;
};

/// From vllm/distributed/device_communicators (cuda_communicator.py, custom_all_reduce.py, which
/// SGLang has, too, and pynccl.py), sglang/srt/distributed (parallel_state.py and
/// device_communicators) and ggml/src/ggml-cuda (ggml-cuda.cu); the options as both engines print
/// them. engine_choice() reads the meanings.
constexpr std::array kLines{
    EngineLine{"Using [", "] all-reduce backends", "vLLM: all-reduce by "},
    EngineLine{"Custom allreduce is disabled because ", ". To silence",
               "vLLM or SGLang: no all-reduce kernel of its own, because "},
    EngineLine{"Custom allreduce is disabled due to ", ". ",
               "vLLM or SGLang: no all-reduce kernel of its own, due to "},
    EngineLine{"CustomAllReduceV2 is disabled because ", ".",
               "SGLang: no all-reduce kernel of its own, because "},
    EngineLine{"CustomAllReduceV2 is disabled due to ", ".",
               "SGLang: no all-reduce kernel of its own, due to "},
    EngineLine{"Registering 0 cuda graph addresses", "", "", false},
    EngineLine{"Registering ", " cuda graph addresses",
               "vLLM or SGLang: all-reduce by kernels of its own", false},
    EngineLine{"enable_flashinfer_allreduce_fusion=True", "", "", false},
    EngineLine{"enforce_disable_flashinfer_allreduce_fusion=False", "", "", false},
    EngineLine{"enable_torch_symm_mem=True", "", "", false},
    EngineLine{"enable_mscclpp=True", "", "", false},
    EngineLine{"disable_custom_all_reduce=True,", "",
               "vLLM or SGLang: no all-reduce kernel of its own, as its options say", false},
    EngineLine{"vLLM is using nccl==", "", "vLLM: NCCL "},
    EngineLine{"Setup Custom allreduce failed with ", ". To silence",
               "SGLang: no all-reduce kernel of its own, because its set-up failed: "},
    EngineLine{"All Reduce config: symmetric_memory = ", "",
               "SGLang: all-reduce by kernels of its own", false},
    EngineLine{"sglang is using nccl==", "", "SGLang: NCCL "},
    EngineLine{"(NCCL) is unavailable, multi GPU", "", "llama.cpp: built without NCCL", false},
    EngineLine{"NCCL not compiled in; falling back to internal AllReduce", "",
               "llama.cpp: built without NCCL, all-reduce by kernels of its own", false},
    EngineLine{"NCCL disabled: virtual devices in use; falling back to internal AllReduce", "",
               "llama.cpp: several devices on a GPU, all-reduce by kernels of its own", false},
    EngineLine{"NCCL init failed (", "); falling back to internal AllReduce",
               "llama.cpp: all-reduce by kernels of its own, because NCCL did not start: "},
    EngineLine{"falling back to meta-backend butterfly", "", "llama.cpp: all-reduce by copies",
               false},
    EngineLine{"unknown GGML_CUDA_ALLREDUCE value: ", "",
               "llama.cpp: all-reduce by copies, because GGML_CUDA_ALLREDUCE is "},
};

/// How much of a log is read at each end: as much as LogLimit keeps there.
constexpr std::streamoff kLookedAt = std::streamoff{4} << 20;

/// Adds what the file says from here on, kLookedAt of it at most.
void read_on(std::ifstream& file, std::vector<std::string>& all) {
  std::size_t left = kLookedAt;
  for (std::string line; left > 0 && std::getline(file, line);) {
    left -= std::min(left, line.size() + 1);
    const std::string choice = engine_choice_in(line);
    if (!choice.empty() && std::ranges::count(all, choice) == 0) all.push_back(choice);
  }
}

}  // namespace

std::string engine_choice_in(std::string_view line) {
  const std::string plain = without_escapes(line);
  for (const EngineLine& each : kLines) {
    const std::size_t begin = plain.find(each.before);
    if (begin == std::string::npos) continue;
    const std::size_t from = begin + each.before.size();
    const std::size_t end = each.after.empty() ? plain.size() : plain.find(each.after, from);
    if (end == std::string::npos) continue;
    std::string said;
    if (each.says) {
      said = plain.substr(from, end - from);
      if (said.starts_with('\'')) std::erase(said, '\'');  // names in a list of Python's
      while (said.ends_with('\r') || said.ends_with(' ')) said.pop_back();
    }
    return std::string(each.meaning) + said;
  }
  return {};
}

std::vector<std::string> engine_choices_in(const std::vector<std::filesystem::path>& logs) {
  std::vector<std::string> all;
  for (const std::filesystem::path& log : logs) {
    std::ifstream file(log, std::ios::ate);
    const std::streamoff size = file.tellg();
    file.seekg(0);
    read_on(file, all);
    if (size <= kLookedAt) continue;
    file.clear();
    file.seekg(std::max(kLookedAt, size - kLookedAt));
    read_on(file, all);
  }
  return all;
}

}  // namespace linkgain
