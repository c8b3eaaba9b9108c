#pragma once

#include <cstdint>

#include "linkgain/base/units.hpp"
#include "linkgain/runtime/operation.hpp"
#include "linkgain/runtime/session.hpp"

/// How long operations take and how many make a sample. All collective, the same on every rank.
namespace linkgain {

/// As many whole granules as fit the target, at least one.
std::int64_t operations_for(double target, double per_operation, std::int64_t granularity);

/// Seconds per operation from a batch near the target's length. All ranks see the same maximum, so
/// all choose the same batches.
double calibrate(Session& session, Operation& operation, Seconds target);

/// Seconds of one operation by the clock of the host, the slowest rank's.
double time_once(Session& session, Operation& operation);

}  // namespace linkgain
