#include "linkgain/patterns/engine_lines.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <span>

#include "linkgain/base/first_of_each.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

/// What an engine says of its all-reduce, by the words with which its message begins and others
/// behind them. Without an end all of the line counts, and without `says` nothing of it.
struct EngineLine {
  std::string_view begin;
  std::string_view end;
  std::string_view meaning;
  bool says = true;
};

/// From vllm/distributed/device_communicators (cuda_communicator.py, custom_all_reduce.py, which
/// SGLang has, too, and pynccl.py), sglang/srt/distributed (parallel_state.py and
/// device_communicators) and ggml/src/ggml-cuda (ggml-cuda.cu). llama.cpp's own kernels copy to
/// pinned host memory and back (allreduce.cu). engine_choice() reads the meanings.
constexpr std::array kLines{
    EngineLine{"Initializing a", " with config", "vLLM:"},
    EngineLine{"Using [", "] all-reduce backends", "vLLM: all-reduce by "},
    EngineLine{"Initialized FlashInfer Allreduce norm fusion workspace", "",
               "vLLM: all-reduce by FlashInfer's kernels, fused with norms", false},
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
    EngineLine{"vLLM is using nccl==", "", "vLLM: NCCL "},
    EngineLine{"Setup Custom allreduce failed with ", ". To silence",
               "SGLang: no all-reduce kernel of its own, because its set-up failed: "},
    EngineLine{"All Reduce config: symmetric_memory = ", "",
               "SGLang: all-reduce by kernels of its own", false},
    EngineLine{"sglang is using nccl==", "", "SGLang: NCCL "},
    EngineLine{"NVIDIA Collective Communications Library (NCCL) is unavailable, multi GPU", "",
               "llama.cpp: built without NCCL", false},
    EngineLine{"NCCL not compiled in; falling back to internal AllReduce", "",
               "llama.cpp: built without NCCL, all-reduce through host memory", false},
    EngineLine{"NCCL disabled: virtual devices in use; falling back to internal AllReduce", "",
               "llama.cpp: several devices on a GPU, all-reduce through host memory", false},
    EngineLine{"NCCL init failed (", "); falling back to internal AllReduce",
               "llama.cpp: all-reduce through host memory, because NCCL did not start: "},
    EngineLine{"internal AllReduce init failed", "falling back to meta-backend butterfly",
               "llama.cpp: all-reduce by copies", false},
    EngineLine{"unknown GGML_CUDA_ALLREDUCE value: ", "",
               "llama.cpp: all-reduce by copies, because GGML_CUDA_ALLREDUCE is "},
};

/// The line in which SGLang prints its options, and what stands in it where some all-reduce of its
/// own is on: --disable-custom-all-reduce leaves these alone. vLLM's options do not name all of
/// its.
constexpr std::string_view kOptions = "server_args=";
constexpr std::array<std::string_view, 4> kOthersOn{
    "enable_flashinfer_allreduce_fusion=True", "enforce_disable_flashinfer_allreduce_fusion=False",
    "enable_torch_symm_mem=True", "enable_mscclpp=True"};
constexpr std::string_view kCustomOff = "disable_custom_all_reduce=True,";
constexpr std::string_view kNoneByOptions =
    "SGLang: no all-reduce kernel of its own, as its options say";

/// Tells whether a word is what loggers put before a message: a level, a time, a line of a source,
/// a rank with a colon.
bool is_of_logger(std::string_view word) {
  if (word.ends_with(':')) word.remove_suffix(1);
  constexpr std::array<std::string_view, 10> kWords{"DEBUG", "INFO", "WARN", "WARNING", "ERROR",
                                                    "D",     "I",    "W",    "E",       "|"};
  if (std::ranges::count(kWords, word) > 0) return true;
  constexpr std::string_view kOfTimes = "0123456789.,:-/TZ+";
  if (!word.empty() && word.find_first_not_of(kOfTimes) == word.npos) return true;
  return word.ends_with(']') && word.find(".py:") != word.npos;
}

/// Takes off a progress bar of tqdm's, after which another process has written into the same line:
/// "Capturing batches:  98%|████▊| 50/51 [00:36<00:00,  1.45it/s]".
std::string_view behind_progress(std::string_view line) {
  for (const std::string_view end : {"\r", "it/s]", "s/it]"}) {
    const std::size_t bar = line.rfind(end);
    if (bar != line.npos) line.remove_prefix(bar + end.size());
  }
  return line;
}

/// Takes off what loggers, launchers and containers put before a message: "(Worker_TP0 pid=77) INFO
/// 02-27 20:33:14 [custom_all_reduce.py:216] ", "[1,0]<stderr>:", "server-1  | ".
std::string_view message_of(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  line = behind_progress(line);
  while (true) {
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
    if (line.empty()) return line;
    if (line.front() == '[' || line.front() == '(') {
      const std::size_t close = line.find(line.front() == '[' ? ']' : ')');
      if (close == line.npos) return line;
      line.remove_prefix(close + 1);
      if (line.starts_with("<std")) line.remove_prefix(std::min(line.size(), line.find('>') + 1));
      if (line.starts_with(':')) line.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(line.size(), line.find(' '));
    const std::size_t next = std::min(line.size(), line.find_first_not_of(' ', end));
    const bool is_service = line.substr(next).starts_with("| ");
    if (!is_service && !is_of_logger(line.substr(0, end))) return line;
    line.remove_prefix(end);
  }
}

bool has_any(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::any_of(words,
                             [&](std::string_view each) { return text.find(each) != text.npos; });
}

/// How much of a log is read at each end: as much as LogLimit keeps there.
constexpr std::streamoff kLookedAt = std::streamoff{4} << 20;

/// Adds what the file says from here on, kLookedAt of it at most.
void read_on(std::ifstream& file, std::vector<std::string>& all) {
  std::size_t left = kLookedAt;
  for (std::string line; left > 0 && std::getline(file, line);) {
    left -= std::min(left, line.size() + 1);
    if (std::string choice = engine_choice_in(line); !choice.empty()) all.push_back(choice);
  }
}

}  // namespace

std::string engine_choice_in(std::string_view line) {
  const std::string plain = without_escapes(line);
  const std::string_view message = message_of(plain);
  if (message.starts_with(kOptions)) {
    const bool has_none = message.find(kCustomOff) != message.npos && !has_any(message, kOthersOn);
    return has_none ? std::string(kNoneByOptions) : std::string();
  }
  for (const EngineLine& each : kLines) {
    if (!message.starts_with(each.begin)) continue;
    std::string_view rest = message.substr(each.begin.size());
    const std::size_t end = each.end.empty() ? rest.size() : rest.find(each.end);
    if (end == rest.npos) continue;
    std::string said;
    if (each.says) {
      said = rest.substr(0, end);
      if (said.starts_with('\'')) std::erase(said, '\'');  // names in a list of Python's
      while (said.ends_with(' ')) said.pop_back();
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
  keep_first_of_each(all);
  return all;
}

}  // namespace linkgain
