#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "linkgain/core/data_type.hpp"
#include "linkgain/core/operation.hpp"
#include "linkgain/core/units.hpp"

namespace linkgain {

/// How operations reach the GPU: one call each on a stream, or replayed from a captured graph.
enum class LaunchMode { stream, graph };

std::string_view name_of(LaunchMode launch);
LaunchMode parse_launch_mode(std::string_view name);

/// Two ranks of a point-to-point operation; `from` sends to `to`, and the other way too if `both`.
struct Pair {
  int from = 0;
  int to = 1;
  bool both = false;
  bool operator==(const Pair&) const = default;
};

/// An operation with all its parameters.
struct Case {
  OperationKind operation = OperationKind::all_reduce;
  DataType type = DataType::float32;
  /// Meaningful only where has_reduction(operation).
  Reduction reduction = Reduction::sum;
  /// nccl-tests' S: all_reduce the buffer of one rank, send_recv one message.
  Bytes size{};
  int ranks = 2;
  bool in_place = false;
  LaunchMode launch = LaunchMode::stream;
  /// send_recv only: absent means the ring (every rank sends to the next one).
  std::optional<Pair> pair;

  bool operator==(const Case&) const = default;

  std::int64_t elements() const { return size.value / size_of(type); }
};

/// The name used in records, reports and as Google Benchmark name:
/// `operation/type/reduction/size/npN` and then, only where not the default, `/inplace`, `/graph`,
/// `/pair=0-1`, `/both`. A field that the operation lacks is left out.
std::string case_name(const Case& c);

/// The name without its size: what cases of one curve share.
std::string curve_name(const Case& c);

/// Reads case_name()'s form back. Throws UsageError that names the field at fault.
Case parse_case_name(std::string_view name);

/// Throws UsageError where the parameters contradict each other: a size that is no multiple of the
/// element, a pair outside the ranks, in place where the operation has no such form.
void validate(const Case& c);

/// algbw and busbw in 1e9 bytes per second for one operation of `c` that took `time`.
double algorithm_bandwidth(const Case& c, Seconds time);
double bus_bandwidth(const Case& c, Seconds time);

}  // namespace linkgain
