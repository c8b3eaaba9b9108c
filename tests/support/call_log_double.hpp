#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/nccl_log.hpp"

namespace linkgain::test {

/// Logs as NCCL does: into the file that NCCL_DEBUG_FILE names, emptied when it is opened; lines on
/// calls only with TUNING among the subsystems. One for a process, as NCCL's.
class CallLogDouble {
 public:
  /// Opens the file at the first line after the switch, as from 2.28 on; before, it was at once.
  static void switch_lazily() { state().wanted = true; }
  static void switch_at_once() { open(); }

  /// Writes a line on a call.
  static void call(const std::string& line) {
    if (state().wanted) open();
    if (state().calls) write(line);
  }
  /// Writes a line on something else.
  static void tell(const std::string& line) {
    if (state().wanted) open();
    write(line);
  }

  static void close() {
    if (state().file != nullptr) std::fclose(state().file);
    state() = {};
  }

 private:
  struct State {
    std::FILE* file = nullptr;
    bool calls = false;
    bool wanted = true;
  };

  static State& state() {
    static State only;
    return only;
  }

  static void open() {
    close();
    state().wanted = false;
    const char* file = std::getenv("NCCL_DEBUG_FILE");
    const char* subsystems = std::getenv("NCCL_DEBUG_SUBSYS");
    if (file == nullptr) return;
    const std::string path = expand_log_pattern(file, host_name(), ::getpid());
    state().file = std::fopen(path.c_str(), "w");
    state().calls =
        subsystems != nullptr && std::string(subsystems).find("TUNING") != std::string::npos;
  }

  static void write(const std::string& line) {
    if (state().file == nullptr) return;
    std::fputs((line + "\n").c_str(), state().file);
    std::fflush(state().file);
  }
};

}  // namespace linkgain::test
