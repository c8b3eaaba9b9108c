#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "measurement.hpp"

namespace linkgain {

/// How often a variant's job was lost in a case, by case and variant.
using JobLosses = std::map<std::pair<int, int>, int>;

/// Takes the jobs that are not to measure a case out of a launch while it lives: of variants that
/// were lost in it twice. What hangs always would cost a deadline in every launch. Counts who is
/// lost meanwhile.
class KeptOut {
 public:
  KeptOut(std::vector<VariantJob>& jobs, int index, JobLosses& losses)
      : jobs_(jobs), index_(index), losses_(losses) {
    for (VariantJob& job : jobs) {
      constexpr int kMostLosses = 2;
      const bool out = losses[{index, job.variant}] >= kMostLosses;
      taken_.push_back(out ? std::move(job.job) : nullptr);
      measures_.push_back(job.job != nullptr);
    }
  }
  ~KeptOut() {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (measures_[i] && !jobs_[i].job) {
        ++losses_[{index_, jobs_[i].variant}];
        jobs_[i].lost = true;
      }
      if (taken_[i]) jobs_[i].job = std::move(taken_[i]);
    }
  }
  KeptOut(const KeptOut&) = delete;
  KeptOut& operator=(const KeptOut&) = delete;

 private:
  std::vector<VariantJob>& jobs_;
  int index_;
  JobLosses& losses_;
  std::vector<std::unique_ptr<Job>> taken_;
  std::vector<bool> measures_;
};

}  // namespace linkgain
