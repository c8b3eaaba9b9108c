#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "linkgain/record/evidence.hpp"
#include "linkgain/record/protocol.hpp"

namespace linkgain {

/// How batches are counted.
struct WireSettings {
  bool counting = false;       ///< the jobs have GPUs whose links could be counted
  bool several_hosts = false;  ///< ranks are on more than one
  /// Every job's ranks have the same GPUs, so that one job's reading serves the next one too.
  bool same_gpus = false;
  /// What is said where the library chose an algorithm and none is known.
  std::string_view why_no_algorithm = kNoAlgorithmNamed;
  std::function<void(double seconds)> asked;  ///< told what asking a job took; may be empty
  std::function<void(double seconds)> spent;  ///< told how long each reading took; may be empty
  /// Whether counting once more leaves the run's cost within bounds; may be empty: always.
  std::function<bool()> affordable;
};

/// What the links of one job's GPUs carried in the counted batches of a case. A reading takes about
/// a millisecond, so not every round is counted: where the share is judged the first, the
/// eleventh and every twentieth after that, so that a path that changes in between shows; elsewhere
/// the first. But for the first ones are left out while looking has cost more than a run may pay
/// for it.
class WireCount {
 public:
  WireCount(const Case& c, TransferPlan plan, const WireSettings& settings);

  static bool counts(const Case& c, int round);

  /// Readings of every rank just before and just after a batch of `operations`.
  void add(const protocol::CountersReply& before, const protocol::CountersReply& after,
           std::int64_t operations);

  /// Absent until something was counted.
  const std::optional<WireEvidence>& evidence() const { return evidence_; }

 private:
  Case case_;
  TransferPlan plan_;
  bool several_hosts_;
  std::string_view why_no_algorithm_;
  std::optional<WireEvidence> evidence_;
};

}  // namespace linkgain
