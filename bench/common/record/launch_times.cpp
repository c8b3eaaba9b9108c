#include "linkgain/record/launch_times.hpp"

namespace linkgain {

LaunchTimes launch_times(const Record& record, const CaseResult& result, std::size_t variant) {
  const auto place = static_cast<int>(&result - record.cases.data());
  LaunchTimes times;
  for (const Sample& sample : record.samples) {
    if (sample.case_index != place || sample.variant != static_cast<int>(variant)) continue;
    times[sample.launch].push_back(sample.time().value);
  }
  return times;
}

}  // namespace linkgain
