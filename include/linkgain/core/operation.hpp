#pragma once

#include <array>
#include <string_view>

namespace linkgain {

/// What is measured. Names are those of the field; see name_of().
enum class OperationKind { all_reduce, send_recv };

inline constexpr std::array kOperations{OperationKind::all_reduce, OperationKind::send_recv};

std::string_view name_of(OperationKind operation);

/// Throws UsageError with the nearest name where `name` is no operation.
OperationKind parse_operation(std::string_view name);

/// Whether the operation combines elements, so that a case of it has a reduction.
bool has_reduction(OperationKind operation);

/// What algbw (bytes over time) is multiplied with to compare with the hardware's rate.
/// all_reduce: 2(n-1)/n, the bytes each rank of n must send per byte reduced; send_recv: 1.
/// Source: nccl-tests' doc/PERFORMANCE.md, which also defines the size S of each operation.
double bus_bandwidth_factor(OperationKind operation, int ranks);

}  // namespace linkgain
