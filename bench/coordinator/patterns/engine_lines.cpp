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
/// SGLang has, too, and pynccl.py) and ggml/src/ggml-cuda.
constexpr std::array kLines{
    EngineLine{"Using [", "] all-reduce backends", "vLLM: all-reduce by "},
    EngineLine{"Custom allreduce is disabled because ", ". To silence",
               "vLLM or SGLang: no all-reduce kernel of its own, because "},
    EngineLine{"Custom allreduce is disabled due to ", ". ",
               "vLLM or SGLang: no all-reduce kernel of its own, due to "},
    EngineLine{"vLLM is using nccl==", " ", "vLLM: NCCL "},
    EngineLine{"(NCCL) is unavailable, multi GPU", "", "llama.cpp: built without NCCL", false},
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
      said = plain.substr(from, plain.find(each.after, from) - from);
      if (said.starts_with('\'')) std::erase(said, '\'');  // names in a list of Python's
      if (said.ends_with('\r')) said.pop_back();
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
