#include "variant_job.hpp"

#include <fmt/format.h>

namespace linkgain {

void end_together(std::vector<VariantJob>& jobs, Seconds deadline,
                  const std::function<void(const std::string&)>& note) {
  for (const auto step : {&Job::ask_to_end, &Job::wait_for_end}) {
    for (VariantJob& job : jobs) {
      try {
        if (job.job) ((*job.job).*step)(deadline);
      } catch (const JobLost& loss) {
        note(fmt::format("warning: {}", loss.what()));
        job.job.reset();
      }
    }
  }
  jobs.clear();
}

}  // namespace linkgain
