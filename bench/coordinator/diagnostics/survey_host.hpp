#pragma once

#include "linkgain/diagnostics/survey.hpp"

namespace linkgain {

/// The host's side of a survey. `gpus`: PCI addresses of the GPUs.
HostSurvey survey_host(const SurveySources& sources, const std::vector<std::string>& gpus);

/// What is installed and set; the worker is left out.
SoftwareSurvey survey_software(const SurveySources& sources);

}  // namespace linkgain
