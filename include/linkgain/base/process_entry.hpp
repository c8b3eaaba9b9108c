#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/units.hpp"

namespace linkgain {

/// A process as /proc shows it at one moment.
struct ProcessEntry {
  pid_t id = 0;
  pid_t parent = 0;
  pid_t session = 0;
  char state = '?';         ///< proc(5)'s letter: 'R', 'S', 'T' stopped, 'Z' zombie, …
  Seconds worked{};         ///< processor time of all its threads so far
  std::uint64_t start = 0;  ///< clock ticks since boot; tells a process from a later one of its id
  std::string name{};       ///< of its program, 15 characters of it, whatever they are
};

/// Returns whether a signal or a debugger stopped it.
inline bool is_stopped(const ProcessEntry& process) {
  return process.state == 'T' || process.state == 't';
}

/// Reads the text of /proc/<id>/stat; nothing where it is no such text.
std::optional<ProcessEntry> parse_process(std::string_view stat);

/// Reads a process; nothing where there is none. `proc` is where /proc is.
std::optional<ProcessEntry> read_process(pid_t id, const std::filesystem::path& proc = "/proc");

/// Returns the children of all its threads, as the kernel lists them; nothing where it does not
/// tell, as of a process that is gone.
std::optional<std::vector<pid_t>> children_of(pid_t process);

/// Returns "SIGINT"; "signal 99" for a number without a name.
std::string signal_name(int signal_number);

/// Returns what the calling thread has used of processors so far.
Seconds thread_processor_time();

/// Returns the hexadecimal digits that the kernel drew when it started; empty where it does not
/// tell.
std::string boot_id();

/// Returns the time of the kernel's clock ticks, in which /proc states processor time.
Seconds seconds_of_ticks(double ticks);

/// Throws MachineError where the stack may not grow as far as this program needs: it would be ended
/// by SIGSEGV somewhere in its work. To be called before anything is made.
void require_stack();

}  // namespace linkgain
