#include "evidence_cost.hpp"

namespace linkgain {

void account_for_evidence(MeasurementSettings& settings, EvidenceCost& cost) {
  cost.health_s = 0.0;
  settings.wires.asked = [&cost](double seconds) { cost.probes_s += seconds; };
  settings.wires.spent = [&cost](double seconds) { cost.counters_s += seconds; };
  settings.health_spent = [&cost](double seconds) { *cost.health_s += seconds; };
  settings.wires.affordable = [&cost, clock = settings.clock, start = settings.clock()] {
    const double spent = cost.counters_s + *cost.health_s;
    return spent <= kAffordableEvidence * (clock().value - start.value);
  };
}

}  // namespace linkgain
