#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/evidence.hpp"

namespace linkgain {

/// Reads every regular file in `directory` whose name starts with `prefix`, in the order of their
/// names; empty where there is no such directory. A file that cannot be read counts as empty.
std::vector<std::string> read_log_files(const std::filesystem::path& directory,
                                        std::string_view prefix);

/// Counts of NCCL's connection lines ("Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM") by transport.
struct TransportLines {
  int p2p = 0;
  int shm = 0;
  int net = 0;
  int other = 0;
  std::vector<std::string>
      kinds;  ///< distinct, as NCCL writes them: "P2P/CUMEM", in order of appearance
  std::vector<NcclConnection> connections;  ///< distinct, in order of appearance
  std::string version;                      ///< of the NCCL that logged last: "2.28.3+cuda13.0"
  /// What is said of algorithms, each once: those that NCCL connected, "rings", "trees", "binomial
  /// trees", and variables that fix some, "NCCL_ALGO=Ring".
  std::vector<std::string> algorithms;
};

/// Reads NCCL's log text; incomplete and unrelated lines are skipped. In a transport "NET/IB/0" the
/// adapter's name stands for its number, "NET/IB/mlx5_0:1", where the log has it.
TransportLines parse_transport_lines(std::string_view log);

/// Tells whether GPUs reach each other's memory by it: P2P/…, or NVLink multicast.
bool is_by_p2p(const NcclConnection& connection);

/// Returns lines of these connections, as if there had been one of each.
TransportLines lines_of(const std::vector<NcclConnection>& connections);

/// The files into which the processes of a job have NCCL log.
struct NcclLogFiles {
  std::filesystem::path folder{};
  std::string prefix{};   ///< of their names
  std::string pattern{};  ///< for NCCL_DEBUG_FILE: a path for every process and host
};

/// Finds those that there are.
std::vector<std::filesystem::path> log_files(const NcclLogFiles& files);

/// Reads all of them.
TransportLines read_transport_logs(const NcclLogFiles& files);

/// Gives the variables that have NCCL log its connections into the files, and nothing for each
/// call.
Environment log_variables(const NcclLogFiles& files);

/// Returns the path that the lines speak of. P2P lines mean NVLink only where the driver says that
/// all pairs are connected by it (`nvlink`); without that knowledge P2P gives Path::unknown. NCCL
/// connects NVLink multicast before it knows whether a call will use it: where the call's
/// `algorithm` is named and another, those connections do not count.
Path path_of(const TransportLines& lines, std::optional<bool> nvlink,
             Algorithm algorithm = Algorithm::unnamed);

/// Reads what NCCL from 2.31 on says of P2P under NCCL_RUN_DIAGNOSTICS=1: "[OK] verified P2P access
/// in both directions ...".
std::vector<std::string> parse_diagnosis_lines(std::string_view log);

/// One line of NCCL's TUNING log: "AllReduce: 1048576 Bytes -> Algo RING proto LL128 ...".
struct TunedCall {
  OperationKind operation = OperationKind::all_reduce;
  /// As NCCL counts it: the call's count times the size of an element. The count of AllGather is
  /// what one rank sends, of ReduceScatter what one receives, of the others that of the whole.
  Bytes size;
  TransferPlan plan;
  bool operator==(const TunedCall&) const = default;
};

/// Reads log text; lines of other subsystems, of operations that linkgain lacks and incomplete ones
/// are skipped. The form is that of NCCL from 2.24 on, by its sources, before which nothing is
/// asked. None speaks of sends and receives.
std::vector<TunedCall> parse_tuning_lines(std::string_view log);

/// Returns the plan of a case: that of the last call of its size and operation; default_plan()
/// where there is none.
TransferPlan plan_of(const Case& c, const std::vector<TunedCall>& calls);

/// Has NCCL read NCCL_DEBUG, NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE again and open that file anew.
using LogSwitch = void (*)();

/// What NCCL logged during a stretch of work.
struct LoggedCalls {
  std::string text;
  Seconds cost{};  ///< of switching and reading, without the work
};

/// Switches this process's TUNING log on for a stretch of work and off again, because that log
/// slows every call down. NCCL must log into a file (NCCL_DEBUG_FILE); from the first stretch on it
/// logs into FILE.now, which it empties at every switch, so what stood there is appended to
/// FILE.kept before. Not for two threads at once: it changes the environment.
class CallLog {
 public:
  /// Watches NCCL's log of calls. A null switch, an environment without NCCL_DEBUG_FILE, or files
  /// that have those names already make a log that watches nothing.
  explicit CallLog(LogSwitch log_switch);

  /// Does `work`, in any case, during which no other thread may call NCCL; what it logged, absent
  /// where nothing can be watched.
  std::optional<LoggedCalls> watch(const std::function<void()>& work) const;

 private:
  std::string turn(bool calls_logged) const;

  LogSwitch log_switch_;
  std::filesystem::path now_;  ///< empty: nothing can be watched
  std::filesystem::path kept_;
};

/// Expands NCCL_DEBUG_FILE with its %h (host up to the first dot), %p (process) and %% as NCCL
/// does.
std::string expand_log_pattern(const std::string& pattern, const std::string& host, int process);

}  // namespace linkgain
