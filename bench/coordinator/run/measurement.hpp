#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/record/record.hpp"
#include "linkgain/run/job.hpp"
#include "linkgain/statistics/ratio.hpp"
#include "wire_count.hpp"

namespace linkgain {

/// CaseResult::stopped where only one variant ran.
inline constexpr std::string_view kNothingToCompare = "nothing to compare";

/// What all cases of a run have in common.
struct MeasurementSettings {
  Seconds sample_target{0.005};
  Seconds deadline{60.0};  ///< how long a job may be silent beyond the time its work takes
  double precision = 0.01;
  WireSettings wires;
  std::function<void(double seconds)>
      health_spent;                          ///< told what reading health took; may be empty
  std::function<Seconds()> clock;            ///< monotonic
  std::function<void(const Warning&)> warn;  ///< told of every job that is lost
  std::function<void(int round)> progress;   ///< told after every round; may be empty
};

/// Measures one case of one launch: opens it in every live job, samples rounds in balanced order
/// until `rule` says stop, verifies and closes. A job that is lost (it may also refuse what it had
/// opened) is reset and the others go on. Samples are appended as they come, so that they are there
/// even when this throws (Interrupted). `result` keeps what earlier launches found and gets its
/// variants at the first one.
void measure_case(std::vector<VariantJob>& jobs, CaseResult& result, std::vector<Sample>& samples,
                  int case_index, int launch, const StoppingRule& rule,
                  const MeasurementSettings& settings);

}  // namespace linkgain
