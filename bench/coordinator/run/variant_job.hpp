#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "linkgain/run/job.hpp"

namespace linkgain {

/// A variant and its resident job; the job is null before it is started and once it is lost.
struct VariantJob {
  int variant = 0;
  std::string name;
  std::unique_ptr<Job> job;
};

/// Ends all jobs at once, so that their ends overlap, and forgets them. `note` is told of each that
/// does not end as asked within the deadline.
void end_together(std::vector<VariantJob>& jobs, Seconds deadline,
                  const std::function<void(const std::string&)>& note);

}  // namespace linkgain
