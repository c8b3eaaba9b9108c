#include "linkgain/coordinator/probes.hpp"

#include <fmt/format.h>

namespace linkgain {
namespace {

constexpr Seconds kFarewell{10.0};

}  // namespace

Probes::Probes(const RunPlan& plan, const ProbeWorld& world,
               const std::function<void(const Warning&)>& warn)
    : plan_(plan), world_(world), warn_(warn), plans_(plan.variants.size()) {}

void Probes::failed(int variant, const Error& error) {
  const std::string& name = plan_.variants[static_cast<std::size_t>(variant)].name;
  warn_({"no-probe",
         fmt::format("variant {}: the algorithms and protocols that NCCL takes were not found: {}",
                     name, error.what()),
         error.advice()});
}

void Probes::start(const std::vector<int>& variants) {
  if (!world_.start) return;
  for (int variant : variants) {
    try {
      started_.push_back({variant, world_.start(variant)});
    } catch (const JobLost& loss) {
      failed(variant, loss);
    } catch (const MachineError& error) {
      failed(variant, error);
    }
  }
}

void Probes::run(Started& probe) {
  probe.job->hello(plan_.deadline);
  for (const Case& c : plan_.cases) {
    try {
      probe.job->probe(c, plan_.deadline);
    } catch (const JobRefused&) {
      // The same refusal comes when the case is opened to be measured, and is kept then.
    }
  }
  probe.job->bye(kFarewell);
}

void Probes::finish() {
  for (Started& probe : started_) {
    try {
      run(probe);
      plans_[static_cast<std::size_t>(probe.variant)] = world_.read(probe.variant);
    } catch (const JobLost& loss) {
      failed(probe.variant, loss);
    } catch (const JobRefused& refusal) {
      failed(probe.variant, refusal);
    }
    probe.job.reset();
  }
  started_.clear();
}

TransferPlan Probes::plan_of(int variant, int case_index) const {
  const auto& found = plans_[static_cast<std::size_t>(variant)];
  const auto place = static_cast<std::size_t>(case_index);
  return place < found.size() ? found[place] : default_plan(plan_.cases[place]);
}

}  // namespace linkgain
