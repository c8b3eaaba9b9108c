#pragma once

#include "linkgain/record/record.hpp"
#include "measurement.hpp"

namespace linkgain {

/// The part of a run's time that reading counters and health may take before readings that can be
/// left out are. What asking NCCL for algorithms took does not count: leaving readings out wins
/// nothing back of it.
inline constexpr double kAffordableEvidence = 0.02;

/// Has the settings' callbacks add to `cost` what they are told, from now on by the settings'
/// clock, which is set already. `cost` must outlive them.
void account_for_evidence(MeasurementSettings& settings, EvidenceCost& cost);

}  // namespace linkgain
