#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/process_entry.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/hardware/neighbours.hpp"

namespace linkgain {

/// A rank that is behind others of its communicator, by NCCL's RAS.
struct RankBehind {
  int rank = 0;
  std::string operation;  ///< "AllReduce"
  /// Operations that it has launched, and the most that another rank has.
  std::int64_t launched = 0;
  std::int64_t most = 0;
  std::string where;  ///< "GPU 3 managed by process 1650386 on node node1"
  bool operator==(const RankBehind&) const = default;
};

/// What NCCL's RAS says of a job.
struct RasAnswer {
  std::string reason;              ///< why it says nothing; empty where it answered
  std::vector<std::string> lines;  ///< of its errors and warnings, at most kMostRasLines
  std::vector<RankBehind> behind;
  bool operator==(const RasAnswer&) const = default;
};
inline constexpr std::size_t kMostRasLines = 40;

/// Reads the text of `ncclras -v`.
RasAnswer parse_ras(std::string_view report);

/// Asks the RAS of NCCL 2.24 or later at `address`, as NCCL_RAS_ADDR has it ("localhost:28028",
/// "[::1]:28028"). Takes at most `limit`.
RasAnswer ask_ras(const std::string& address, Seconds limit);

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
  RasAnswer ras;
};

/// Looks at the processes, a command's (Process::remember_tree()), for half a second and as long as
/// RAS takes to answer, 3 s at most. They must still run.
HangReport look_at_hang(std::vector<ProcessEntry> all);

/// For people, a line each.
std::vector<std::string> describe(const HangReport& report);

}  // namespace linkgain
