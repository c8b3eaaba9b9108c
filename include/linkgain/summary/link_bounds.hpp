#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/summary/run_summary.hpp"

namespace linkgain {

/// The NVLink that a run did without.
struct UnusedLink {
  std::string why;                   ///< "These GPUs have no NVLink bridge."
  std::string name;                  ///< "a bridge for NVIDIA GeForce RTX 3090"
  std::optional<double> gb_per_s{};  ///< one way; absent where it is not known
};

/// One case that was measured without NVLink, and the time below which no link can bring it.
struct LinkBound {
  const CaseSummary* of = nullptr;
  bool is_training = false;
  Seconds now{};
  Seconds least{};
};

/// What a link could save of a run at most, by arithmetic.
struct LinkBounds {
  UnusedLink link;
  std::vector<LinkBound> bounds;  ///< of the largest size of each operation, and of every training
};

/// Bounds what the link that would have joined these GPUs could save; absent where a case took
/// NVLink, without two GPUs of one host, and where no case can be bounded. `summary` must outlive
/// the bounds.
std::optional<LinkBounds> link_bounds(const RunSummary& summary);

}  // namespace linkgain
