#pragma once

#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/process/process.hpp"
#include "scratch_folder.hpp"

namespace linkgain::test {

/// Says whether the process exists and still runs; a zombie does not.
inline bool is_alive(pid_t id) {
  const auto process = read_process(id);
  return process && process->state != 'Z';
}

/// Returns this process's children, zombies included.
inline std::vector<pid_t> own_children() {
  std::vector<pid_t> children;
  for (const ProcessEntry& process : list_processes()) {
    if (process.parent == getpid()) children.push_back(process.id);
  }
  return children;
}

/// Waits for the condition, and says whether it came true within the time.
inline bool eventually(const std::function<bool()>& condition, Seconds allowed = Seconds{10}) {
  const Deadline deadline(allowed);
  while (!condition()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

inline double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Makes a shell script the program under control; `arguments` are its $1, $2, …
inline ProcessRequest script(const std::string& text, const ScratchFolder& folder,
                             const std::vector<std::string>& arguments = {}) {
  ProcessRequest request{.arguments = {"/bin/sh", "-c", text, "sh"},
                         .environment = current_environment(),
                         .error_file = folder / "error.log"};
  request.arguments.insert(request.arguments.end(), arguments.begin(), arguments.end());
  return request;
}

inline constexpr Seconds kPlenty{20};

/// Reads the next line as a number: scripts tell their process ids so. -1 if there is none.
inline pid_t read_id(Process& process) {
  const ReadResult result = process.read_line(kPlenty);
  return result.outcome == Transfer::done ? std::stoi(result.line) : -1;
}

}  // namespace linkgain::test
