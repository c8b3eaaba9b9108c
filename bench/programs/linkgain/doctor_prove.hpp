#pragma once

#include "linkgain/diagnostics/survey.hpp"
#include "linkgain/process/signals.hpp"

namespace linkgain {

/// `linkgain doctor --prove`: climbs the rungs between all pairs of GPUs by jobs of two
/// linkgain-bench, several pairs at a time, and puts what came of it into `survey`, whose worker
/// and mpirun were asked before. A job that hangs is ended after 10 s. Throws Interrupted.
void survey_delivery(Survey& survey, const SignalWatch& watch);

}  // namespace linkgain
