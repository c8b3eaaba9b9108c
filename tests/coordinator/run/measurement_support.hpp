#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measurement.hpp"
#include "support/fake_job.hpp"

namespace linkgain::test {

inline constexpr const char* kCase = "all_reduce/float32/sum/1KiB/np2";

/// Jobs on one clock, and what measuring a case in them gave.
class Bench : private RunObserver {
 public:
  explicit Bench(const std::vector<FakeScript>& scripts) : traces(scripts.size()) {
    result.definition = parse_case_name(kCase);
    for (std::size_t i = 0; i < scripts.size(); ++i) {
      const std::string name = "v" + std::to_string(i);
      jobs.push_back(
          {static_cast<int>(i), name, std::make_unique<FakeJob>(scripts[i], clock, traces[i])});
      result.variants.emplace_back();
      result.variants.back().variant = name;
    }
  }

  void measure(int launch = 0) { measure_case(jobs, result, {0, launch, 0}, rounds, settings); }

  std::vector<Sample> of_variant(int variant) const {
    std::vector<Sample> found;
    for (const Sample& sample : result.samples) {
      if (sample.variant == variant) found.push_back(sample);
    }
    return found;
  }

  FakeClock clock;
  std::deque<FakeTrace> traces;  ///< of the jobs; declared before them, for they write to it
  std::vector<VariantJob> jobs;
  CaseResult result;
  std::vector<Warning> warnings;
  int rounds = 20;
  RunPlan plan;
  std::function<bool()> affordable = [] { return true; };
  std::optional<Seconds> budget;
  MeasurementSettings settings{plan, {}, *this};

 private:
  Seconds now() const override { return clock.now(); }
  void warn(const Warning& warning) override { warnings.push_back(warning); }
  bool may_count_again() const override { return affordable(); }
  bool out_of_budget() const override { return budget && clock.now() >= *budget; }
};

}  // namespace linkgain::test
