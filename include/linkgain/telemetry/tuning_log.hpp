#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "linkgain/cases/case.hpp"
#include "linkgain/record/evidence.hpp"

namespace linkgain {

/// One line of NCCL's TUNING log: "AllReduce: 1048576 Bytes -> Algo RING proto LL128 ...".
struct TunedCall {
  /// Absent in the logs of NCCL 2.20 to 2.22, which name none; it is then some collective.
  std::optional<OperationKind> operation;
  Bytes size;  ///< as NCCL counts it
  /// Whether that is the bytes of the call's count. NCCL from 2.24 on prints count times the size
  /// of an element; the count of AllGather is what one rank sends, of ReduceScatter what one
  /// receives. 2.20 to 2.23, which print numbers for names, count all ranks' parts of these two
  /// (ncclFuncMaxSendRecvCount in enqueue.cc). The count of the others is that of the whole.
  bool of_count = true;
  TransferPlan plan;
  bool operator==(const TunedCall&) const = default;
};

/// Reads log text; lines of other subsystems, of operations that linkgain lacks and incomplete ones
/// are skipped. Forms by NCCL's sources: from 2.24 as above; 2.23 "AllReduce: 8 Bytes -> Algo 1
/// proto 0 time 5.3", with numbers for names; 2.20 to 2.22 the same without the operation. Older
/// versions say nothing, and none speaks of sends and receives.
std::vector<TunedCall> parse_tuning_lines(std::string_view log);

/// Every file in `directory` whose name starts with `prefix`, in the order of their names.
std::vector<TunedCall> read_tuning_logs(const std::filesystem::path& directory,
                                        std::string_view prefix);

/// The plan of a case: that of the last call of its size and operation; default_plan() where there
/// is none. Calls without operation may be of any collective of that size: their plan counts where
/// they all have the same.
TransferPlan plan_of(const Case& c, const std::vector<TunedCall>& calls);

}  // namespace linkgain
