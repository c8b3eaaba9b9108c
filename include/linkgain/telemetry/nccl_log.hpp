#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
};

/// Reads NCCL's log text; incomplete and unrelated lines are skipped.
TransportLines parse_transport_lines(std::string_view log);

/// Returns all NCCL log files of one job: every file in `directory` whose name starts with
/// `prefix`.
TransportLines read_transport_logs(const std::filesystem::path& directory, std::string_view prefix);

/// Returns the path that the lines speak of. P2P lines mean NVLink only where the driver says that
/// all pairs are connected by it (`nvlink`); without that knowledge P2P gives Path::unknown. NCCL
/// connects NVLink multicast before it knows whether a call will use it: where the call's
/// `algorithm` is named and another, those connections do not count.
Path path_of(const TransportLines& lines, std::optional<bool> nvlink,
             Algorithm algorithm = Algorithm::unnamed);

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

}  // namespace linkgain
