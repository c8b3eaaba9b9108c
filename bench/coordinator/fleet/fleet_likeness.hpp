#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/hardware/machine.hpp"

namespace linkgain {

/// What must be alike in machines that are held against each other.
struct Likeness {
  /// Models, count, and how each pair of GPUs is joined; without GPUs the processor, which then
  /// carries the messages.
  std::string machine;
  /// NVLinks of each pair that they join, then those active of each GPU; absent where not known.
  std::vector<std::optional<int>> counts;
  auto operator<=>(const Likeness&) const = default;
};

Likeness likeness_of(const Machine& machine);

int unknown_counts(const Likeness& likeness);

/// Whether nothing that is known of both differs.
bool may_be_alike(const Likeness& a, const Likeness& b);

/// One thing that two machines of the same GPUs have otherwise.
struct MachineDifference {
  std::string what;   ///< "GPU0–GPU1", "GPU3"
  std::string own;    ///< "NV9", "17 active NVLinks"
  std::string usual;  ///< "NV18", "18"
};

/// Pairs first; what one of them does not tell is left out.
std::vector<MachineDifference> differences_of(const Machine& own, const Machine& usual);

/// "8 x NVIDIA H200"; without GPUs "4 ranks on AMD EPYC 9654".
std::string describe_machine(const Machine& machine);

/// What `own` has otherwise than `usual`, briefly: "NV17" where that is so of all its pairs, or
/// "GPU0–GPU1: NV9".
std::string describe_difference(const Machine& own, const Machine& usual);

/// "NV18" where all pairs have the same label, else empty.
std::string label_of_all_pairs(const Machine& machine);

}  // namespace linkgain
