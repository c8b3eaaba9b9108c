#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/run/resumption.hpp"
#include "linkgain/run/run.hpp"
#include "support/fake_job.hpp"
#include "support/full_record.hpp"
#include "support/scratch_folder.hpp"

namespace linkgain::test {

/// The name of the first case.
inline constexpr const char* kFirst = "all_reduce/float32/sum/1KiB/np2";

/// A run of fake jobs: scripts for each variant and, where given, for a variant in one launch.
class RunBench : private RunWorld {
 public:
  explicit RunBench(std::vector<FakeScript> scripts) : scripts_(std::move(scripts)) {
    plan.backend = BackendKind::mpi;
    plan.profile = "quick";
    for (std::size_t i = 0; i < scripts_.size(); ++i) {
      plan.variants.push_back({"v" + std::to_string(i), {}});
    }
    set_cases({1024, 65536});
  }

  void set_cases(const std::vector<std::int64_t>& sizes) {
    plan.cases.clear();
    for (const std::int64_t size : sizes) {
      plan.cases.emplace_back();
      plan.cases.back().size = Bytes{size};
    }
  }

  /// Carries the plan out, as `linkgain run` does; what it throws goes on to the test.
  void execute() {
    record.settings.variants = plan.variants;
    record.settings.backend = plan.backend;
    record.settings.precision = plan.ci_width;
    record.settings.launches = plan.race ? plan.race->launches() : plan.launches;
    record.settings.race = plan.race;
    record.settings.schedule = plan.schedule;
    require_same_cases(plan, record);
    if (!record.cases.empty()) prepare_to_go_on(plan, record);
    JournalWriter journal(journal_path(), record);
    RunProgress progress;
    run(plan, *this, record, journal, progress);
  }

  std::filesystem::path journal_path() const { return folder_ / "journal.jsonl"; }

  FakeClock clock;
  RunPlan plan;
  Record record;
  /// "v0 in 0": what was started, in order.
  std::vector<std::string> started;
  std::map<std::pair<int, int>, FakeScript> script_of_launch;
  std::function<void(int variant, int launch)> before_start;
  std::function<Path(int variant, int launch)> path_of;
  Machine machine;                     ///< that jobs describe, where it has ranks
  std::map<int, std::string> nccl_of;  ///< of variants that have another library
  /// What look_at_gpus() sees; where it is not set there is no GPU.
  std::function<std::vector<GpuUse>(double now)> use_of_gpus;
  /// What load_of_host() reads; where it is not set the kernel tells nothing.
  std::function<HostLoad(double now, const std::vector<std::int64_t>& pids)> host_load;
  /// What error_counts_of_gpus() reads; where it is not set the driver tells nothing.
  std::function<ErrorCounts()> error_counts;
  std::vector<GpuFault> faults;  ///< that the driver tells after a loss
  std::deque<FakeTrace> traces;  ///< of the jobs in order of their start

 private:
  Seconds now() const override { return clock.now(); }
  std::vector<GpuUse> look_at_gpus() override {
    return use_of_gpus ? use_of_gpus(clock.now().value) : std::vector<GpuUse>{};
  }
  std::string why_not_all_gpus() const override { return use_of_gpus ? "" : "no NVML here"; }
  ErrorCounts error_counts_of_gpus(Seconds) override {
    return error_counts ? error_counts() : ErrorCounts{};
  }
  std::vector<GpuFault> faults_of_gpus(Seconds) override { return faults; }
  HostLoad load_of_host(const std::vector<std::int64_t>& pids) override {
    return host_load ? host_load(clock.now().value, pids) : HostLoad{};
  }
  void rest(Seconds time) override { clock.advance(time); }
  Path find_path(int variant, int launch, const protocol::HelloReply&, Algorithm) override {
    return path_of ? path_of(variant, launch) : Path::unknown;
  }
  std::unique_ptr<Job> start_job(int variant, int launch) override {
    started.push_back("v" + std::to_string(variant) + " in " + std::to_string(launch));
    if (before_start) before_start(variant, launch);
    const auto special = script_of_launch.find({variant, launch});
    FakeScript script = special == script_of_launch.end()
                            ? scripts_[static_cast<std::size_t>(variant)]
                            : special->second;
    script.hello.machine.host = "node1";
    if (!machine.ranks.empty()) script.hello.machine = machine;
    if (nccl_of.contains(variant)) {
      script.hello.machine.software.nccl_library = nccl_of.at(variant);
    }
    script.hello.environment = {{"OMPI_MCA_btl", "of v" + std::to_string(variant)}};
    return std::make_unique<FakeJob>(script, clock, traces.emplace_back());
  }

  std::vector<FakeScript> scripts_;
  const ScratchFolder folder_;
};

/// Measures all of it once more, as of a run that was ended and had no whole launch.
inline void end_and_go_on(RunBench& bench) {
  bench.record.status = RunStatus::interrupted;
  for (CaseResult& result : bench.record.cases) result.samples.clear();
  bench.started.clear();
  bench.execute();
}

/// Ignores the order in which samples were measured: a journal has them case by case.
inline bool same_but_for_order(std::vector<CaseResult> a, std::vector<CaseResult> b) {
  for (std::vector<CaseResult>* cases : {&a, &b}) {
    for (CaseResult& result : *cases) {
      for (Sample& sample : result.samples) sample.sequence = 0;
    }
  }
  return same(a, b);
}

}  // namespace linkgain::test
