#pragma once

#include <string_view>
#include <vector>

#include "linkgain/cases/case.hpp"
#include "linkgain/record/evidence.hpp"

namespace linkgain {

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

/// The plan of a case: that of the last call of its size and operation; default_plan() where there
/// is none.
TransferPlan plan_of(const Case& c, const std::vector<TunedCall>& calls);

}  // namespace linkgain
