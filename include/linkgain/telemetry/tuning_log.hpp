#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "linkgain/core/case.hpp"
#include "linkgain/core/evidence.hpp"

namespace linkgain {

/// One line of NCCL's TUNING log: "AllReduce: 1048576 Bytes -> Algo RING proto LL128 ...".
struct TunedCall {
  /// Absent in the logs of NCCL 2.20 to 2.22, which name none; it is then some collective.
  std::optional<OperationKind> operation;
  Bytes size;  ///< as NCCL counts it: the bytes of one rank's buffer for all_reduce
  TransferPlan plan;
  bool operator==(const TunedCall&) const = default;
};

/// Reads log text; lines of other subsystems, of operations that linkgain lacks and incomplete ones
/// are skipped. Forms by NCCL's sources: from 2.24 as above; 2.23 "AllReduce: 8 Bytes -> Algo 1
/// proto 0 time 5.3", with numbers for names; 2.20 to 2.22 the same without the operation. Older
/// versions say nothing, and none speaks of send_recv.
std::vector<TunedCall> parse_tuning_lines(std::string_view log);

/// Every file in `directory` whose name starts with `prefix`, in the order of their names.
std::vector<TunedCall> read_tuning_logs(const std::filesystem::path& directory,
                                        std::string_view prefix);

/// The plan of a case: that of the last call of its size and operation (a call without operation
/// counts for every one with a reduction); default_plan() where there is none.
TransferPlan plan_of(const Case& c, const std::vector<TunedCall>& calls);

}  // namespace linkgain
