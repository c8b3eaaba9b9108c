// The NVML double: utilization and processes, by the file that LINKGAIN_NVML_USE names.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "nvml_double.hpp"

using namespace linkgain::nvml_double;
using linkgain::nvml_api::kMemoryNotAvailable;
using linkgain::nvml_api::ProcessInfo;
using linkgain::nvml_api::Utilization;

namespace {

struct Process {
  unsigned int pid = 0;
  unsigned long long memory = kMemoryNotAvailable;
  std::string name;  ///< empty: the driver does not say
};

struct Use {
  int gpu = 0;
  unsigned int percent = 0;
  std::vector<Process> processes;
};

Process read_process(const std::string& word) {
  std::istringstream parts(word);
  std::string pid;
  std::string memory;
  Process process;
  std::getline(parts, pid, ':');
  std::getline(parts, memory, ':');
  std::getline(parts, process.name);
  process.pid = static_cast<unsigned int>(std::stoul(pid));
  if (memory != "?") process.memory = std::stoull(memory) << 20;
  if (process.name == "?") process.name.clear();
  return process;
}

std::vector<Use> read_use() {
  std::vector<Use> all;
  const char* path = std::getenv("LINKGAIN_NVML_USE");
  std::ifstream file(path != nullptr ? path : "");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Use& use = all.emplace_back();
    words >> use.gpu >> use.percent;
    for (std::string word; words >> word;) use.processes.push_back(read_process(word));
  }
  return all;
}

Use use_of(const Gpu& gpu) {
  for (const Use& use : read_use()) {
    if (use.gpu == gpu.index) return use;
  }
  return {};
}

}  // namespace

extern "C" {

Result nvmlDeviceGetUtilizationRates(Handle device, Utilization* rates) {
  return answer(device, rates, [](const Gpu& gpu) { return Utilization{use_of(gpu).percent, 0}; });
}

Result nvmlDeviceGetComputeRunningProcesses_v3(Handle device, unsigned int* count,
                                               ProcessInfo* infos) {
  Gpu* gpu = nullptr;
  if (const Result result = find(device, gpu); result != kSuccess) return result;
  const Use use = use_of(*gpu);
  const unsigned int room = *count;
  *count = static_cast<unsigned int>(use.processes.size());
  if (use.processes.size() > room) return kInsufficientSize;
  for (std::size_t i = 0; i < use.processes.size(); ++i) {
    infos[i] = {use.processes[i].pid, use.processes[i].memory, 0, 0};
  }
  return kSuccess;
}

Result nvmlSystemGetProcessName(unsigned int pid, char* name, unsigned int length) {
  for (const Use& use : read_use()) {
    for (const Process& process : use.processes) {
      if (process.pid == pid && !process.name.empty()) {
        return copy_text(process.name.c_str(), name, length);
      }
    }
  }
  return kNotFound;
}

}  // extern "C"
