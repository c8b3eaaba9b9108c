#pragma once

#include <optional>
#include <string_view>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// What a run must be given more of for a ratio to come as close as was asked for.
enum class Remedy {
  time,   ///< the budget ended sampling, or the rounds that a case other than a training may have
  steps,  ///< a training ran all that were asked for
  launches,  ///< they differ: each counts once, however much time it has
};

/// The option that gives more of it: "--budget", "--steps", "--launches".
std::string_view option_of(Remedy remedy);

/// The remedy for a case that did not converge. Absent where it did, where it has no ratio, and
/// where the run broke off (a job lost, an interrupt).
std::optional<Remedy> remedy_for(const CaseResult& result);

}  // namespace linkgain
