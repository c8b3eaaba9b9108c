#include "linkgain/patterns/engine_lines.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>

#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

/// What an engine says of its all-reduce, by the words around it. Without an end all of the line
/// counts, and without `says` nothing of it.
struct EngineLine {
  std::string_view before;
  std::string_view after;
  std::string_view meaning;
  bool says = true;
};

/// From vllm/distributed/device_communicators (cuda_communicator.py, custom_all_reduce.py, which
/// SGLang has, too, and pynccl.py), sglang/srt/distributed (parallel_state.py and
/// device_communicators) and ggml/src/ggml-cuda (ggml-cuda.cu). What stands behind "all-reduce by"
/// without NCCL is none of its own.
constexpr std::array kLines{
    EngineLine{"Using [", "] all-reduce backends", "vLLM: all-reduce by "},
    EngineLine{"Custom allreduce is disabled because ", ". To silence",
               "vLLM or SGLang: no all-reduce kernel of its own, because "},
    EngineLine{"Custom allreduce is disabled due to ", ". ",
               "vLLM or SGLang: no all-reduce kernel of its own, due to "},
    EngineLine{"vLLM is using nccl==", " ", "vLLM: NCCL "},
    EngineLine{"Setup Custom allreduce failed with ", ". To silence",
               "SGLang: no all-reduce kernel of its own, because its set-up failed: "},
    EngineLine{"[AR] All-reduce call path: ", "", "SGLang: all-reduce by "},
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

/// Engines say it before they serve.
constexpr std::size_t kLookedAt = std::size_t{4} << 20;

}  // namespace

std::string engine_choice_in(std::string_view line) {
  const std::string plain = without_escapes(line);
  for (const EngineLine& each : kLines) {
    const std::size_t begin = plain.find(each.before);
    if (begin == std::string::npos) continue;
    std::string said;
    if (each.says) {
      const std::size_t from = begin + each.before.size();
      const std::size_t end = each.after.empty() ? plain.npos : plain.find(each.after, from);
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
    std::ifstream file(log);
    std::size_t looked_at = 0;
    for (std::string line; looked_at < kLookedAt && std::getline(file, line);) {
      looked_at += line.size();
      const std::string choice = engine_choice_in(line);
      if (!choice.empty() && std::ranges::count(all, choice) == 0) all.push_back(choice);
    }
  }
  return all;
}

}  // namespace linkgain
