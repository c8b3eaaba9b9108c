#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "linkgain/core/evidence.hpp"

namespace linkgain {

/// How batches are counted.
struct WireSettings {
  bool counting = false;       ///< the jobs have GPUs whose links could be counted
  bool several_hosts = false;  ///< ranks are on more than one
  std::function<TransferPlan(int variant, int case_index)> plan_of;
};

/// What the links of one job's GPUs carried in the counted batches of a case. A reading takes about
/// a millisecond, so the first rounds are counted and not all; one where the share is not judged.
class WireCount {
 public:
  WireCount(const Case& c, TransferPlan plan, bool several_hosts);

  static bool counts(const Case& c, int round);

  /// Readings of every rank just before and just after a batch of `operations`.
  void add(const std::vector<LinkCounters>& before, const std::vector<LinkCounters>& after,
           std::int64_t operations);

  /// Absent until something was counted.
  const std::optional<WireEvidence>& evidence() const { return evidence_; }

 private:
  Case case_;
  TransferPlan plan_;
  bool several_hosts_;
  std::optional<WireEvidence> evidence_;
};

}  // namespace linkgain
