#pragma once

#include "linkgain/coordinator/measurement.hpp"
#include "linkgain/core/record.hpp"

namespace linkgain {

/// The part of a run's time that looking at wires and health may take before readings that can be
/// left out are.
inline constexpr double kAffordableEvidence = 0.02;

/// Has the settings' callbacks add to `cost` what they are told, from now on by the settings'
/// clock, which is set already. `cost` must outlive them.
void account_for_evidence(MeasurementSettings& settings, EvidenceCost& cost);

}  // namespace linkgain
