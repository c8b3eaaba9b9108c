#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "linkgain/base/process_entry.hpp"
#include "linkgain/hardware/neighbours.hpp"

namespace linkgain {

/// A process of a command that does not end.
struct HungProcess {
  pid_t id = 0;
  std::string command;      ///< with its arguments, cut at 120 characters
  char state = '?';         ///< proc(5)'s letter
  std::string waits_in;     ///< the kernel's function; empty where it is none or not shown
  double processors = 0.0;  ///< how many it kept busy while it was looked at
  std::vector<int> gpus;    ///< that it has a context on, as nvidia-smi numbers them
  bool operator==(const HungProcess&) const = default;
};

struct HangReport {
  std::vector<HungProcess> processes;
  std::vector<GpuUse> gpus;  ///< those that the command's processes use; all where none is known to
  std::string no_gpus;       ///< why no GPU could be asked; empty where they could
};

/// Looks at the processes, a command's (Process::remember_tree()), for half a second. They must
/// still run.
HangReport look_at_hang(std::vector<ProcessEntry> all);

/// Says it to people, a line each; where a process is on a GPU, also how to see which rank is
/// behind.
std::vector<std::string> describe(const HangReport& report);

}  // namespace linkgain
