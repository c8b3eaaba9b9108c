#pragma once

#include <optional>
#include <vector>

#include "linkgain/protocol/protocol.hpp"
#include "linkgain/runtime/session.hpp"

/// What ranks tell rank 0. All collective; the results mean something on rank 0 only.
namespace linkgain {

std::vector<RankInfo> gather_ranks(Session& session, const RankInfo& own);

/// One rank's figures of a batch.
struct RankBatch {
  std::optional<double> seconds_per_operation;
  std::optional<double> loss;
  Health health;
  double health_seconds = 0.0;  ///< what reading it took
};

/// Gathers a batch's results: the loss is the mean over the ranks that have one, what reading
/// health took that of the slowest.
protocol::RunReply gather_run(Session& session, const RankBatch& own);

protocol::CountersReply gather_counters(Session& session, const LinkCounters& own,
                                        const AbsentCounters& why);

protocol::HostCopyReply gather_host_copy(Session& session, const std::optional<HostCopyRates>& own);

/// Gathers sums of elements, the largest error, and the first wrong element of the lowest rank that
/// has one.
Verification gather_verification(Session& session, const Verification& own);

/// Returns this rank's execution, with the form of the lowest rank that has one, on every rank: in
/// some operations a rank takes no part.
Execution shared_execution(Session& session, Execution own);

}  // namespace linkgain
