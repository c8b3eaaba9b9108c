#include "linkgain/run/probes.hpp"

#include <fmt/format.h>

namespace linkgain {

Probes::Probes(const RunPlan& plan, const ProbeWorld& world,
               const std::function<void(const Warning&)>& warn)
    : plan_(plan), world_(world), warn_(warn), plans_(plan.variants.size()) {}

template <typename Step>
void Probes::for_each(Step step) {
  std::erase_if(started_, [&](Started& probe) {
    const auto failed = [&](const Error& error) {
      failures_[probe.variant] = {
          "no-probe",
          fmt::format("variant {}: the algorithms and protocols that NCCL takes were not found: {}",
                      plan_.variants[static_cast<std::size_t>(probe.variant)].name, error.what()),
          error.advice()};
      return true;
    };
    try {
      step(probe);
    } catch (const JobLost& loss) {
      return failed(loss);
    } catch (const JobRefused& refusal) {
      return failed(refusal);
    } catch (const MachineError& error) {
      return failed(error);
    }
    return false;
  });
}

void Probes::start(const std::vector<int>& variants) {
  if (!world_.start) return;
  for (int variant : variants) started_.push_back({variant, nullptr, false});
  for_each([&](Started& probe) { probe.job = world_.start(probe.variant); });
}

void Probes::run_cases(Job& job) const {
  job.hello(plan_.deadline);
  for (const Case& c : plan_.cases) {
    if (is_training(c.operation)) continue;  // the log would speak of its buckets
    try {
      job.probe(c, plan_.deadline);
    } catch (const JobRefused&) {
      // The same refusal comes when the case is opened to be measured, and is kept then.
    }
  }
  job.ask_to_end(kFarewell);
}

void Probes::run() {
  for_each([&](Started& probe) {
    if (!probe.over) run_cases(*probe.job);
    probe.over = true;
  });
}

void Probes::finish(const std::vector<bool>& gave_up) {
  run();
  for_each([&](Started& probe) {
    probe.job->wait_for_end(kFarewell);
    plans_[static_cast<std::size_t>(probe.variant)] = world_.read(probe.variant);
  });
  started_.clear();
  for (const auto& [variant, warning] : failures_) {
    if (!gave_up[static_cast<std::size_t>(variant)]) warn_(warning);
  }
  failures_.clear();
}

TransferPlan Probes::plan_of(int variant, int case_index) const {
  const auto& found = plans_[static_cast<std::size_t>(variant)];
  const auto place = static_cast<std::size_t>(case_index);
  return place < found.size() ? found[place] : default_plan(plan_.cases[place]);
}

}  // namespace linkgain
