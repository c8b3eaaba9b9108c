#include "linkgain/record/convergence.hpp"

#include <stdexcept>

namespace linkgain {

std::string_view option_of(Remedy remedy) {
  switch (remedy) {
    case Remedy::time:
      return "--budget";
    case Remedy::steps:
      return "--steps";
    case Remedy::launches:
      return "--launches";
  }
  throw std::invalid_argument("no such remedy");
}

std::optional<Remedy> remedy_for(const CaseResult& result) {
  const bool ended_early =
      result.stopped == StopReason::job_lost || result.stopped == StopReason::interrupted;
  if (result.ratios.empty() || result.converged || ended_early) return std::nullopt;
  if (result.stopped == StopReason::launches_differ) return Remedy::launches;
  const bool ran_all_steps =
      result.definition.training && result.stopped != StopReason::out_of_time;
  return ran_all_steps ? Remedy::steps : Remedy::time;
}

}  // namespace linkgain
