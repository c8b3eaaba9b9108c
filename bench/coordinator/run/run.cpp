#include "linkgain/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkgain/analysis/path_validity.hpp"
#include "linkgain/process/signals.hpp"
#include "linkgain/record/limits.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/run/progress.hpp"
#include "measurement.hpp"

namespace linkgain {
namespace {

/// The part of a run's time that reading counters and health may take before readings that can be
/// left out are. What asking NCCL for algorithms took does not count: leaving readings out wins
/// nothing back of it.
constexpr double kAffordableEvidence = 0.02;

/// Of each GPU's PCIe link what is more: an idle GPU may have trained it down.
void keep_highest_links(const Machine& seen, Machine& machine) {
  for (std::size_t i = 0; i < std::min(seen.ranks.size(), machine.ranks.size()); ++i) {
    const std::optional<GpuInfo>& busy = seen.ranks[i].gpu;
    std::optional<GpuInfo>& kept = machine.ranks[i].gpu;
    if (!busy || !kept) continue;
    kept->pcie_generation = std::max(kept->pcie_generation, busy->pcie_generation);
    kept->pcie_width = std::max(kept->pcie_width, busy->pcie_width);
  }
}

/// Whether some rank's copies between pinned host memory and its GPU are known.
bool has_host_copies(const Machine& machine) {
  return std::any_of(machine.ranks.begin(), machine.ranks.end(),
                     [](const RankInfo& rank) { return rank.host_copy.has_value(); });
}

/// Has all ranks of a job measure them and enters them into the machine, with the PCIe links as
/// they are just after, where that is more than before. Where the job refuses, `observer` is told.
/// Throws JobLost.
void read_host_copies(Job& job, Seconds deadline, Machine& machine, RunObserver& observer) {
  try {
    const auto rates = job.host_copy(deadline);
    for (std::size_t i = 0; i < std::min(rates.size(), machine.ranks.size()); ++i) {
      machine.ranks[i].host_copy = rates[i];
    }
  } catch (const JobRefused& refusal) {
    observer.warn(
        {"no-host-copy",
         fmt::format("the rate of pinned host copies was not measured: {}", refusal.what()),
         refusal.advice()});
  }
  if (!has_host_copies(machine)) return;
  try {
    keep_highest_links(job.hello(deadline).machine, machine);
  } catch (const JobRefused& refusal) {
    observer.warn(
        {"idle-pcie-links",
         fmt::format("PCIe links were read while GPUs were idle alone: {}", refusal.what()),
         refusal.advice()});
  }
}

class Run : private RunObserver {
 public:
  Run(const RunPlan& plan, RunWorld& world, Record& record, JournalWriter& journal,
      Progress& progress);
  void execute();

 private:
  void launch(int number, const std::vector<int>& variants);
  void start(int number, const std::vector<int>& variants);
  bool greet();
  bool on_same_gpus() const;
  void adopt(const VariantJob& job, const protocol::HelloReply& reply);
  void write_head();
  void measure(int index, int number);
  void keep(int index, int number);
  void skip(int index, const std::string& reason, StopReason stopped);
  void lost(const VariantJob& job, const Error& error);
  bool all_gave_up() const;
  void locate(VariantResult& variant, const Case& c, Path by_transport) const;
  void measure_host_copies();

  Seconds now() const override { return world_.now(); }
  void note(const std::string& text) override { progress_.note(text); }
  void warn(const Warning& warning) override;
  void round_finished(const Case& c, int round) override;
  void probing_took(double seconds) override {
    if (cost_ != nullptr) cost_->probes_s += seconds;
  }
  void counting_took(double seconds) override {
    if (cost_ != nullptr) cost_->counters_s += seconds;
  }
  void health_took(double seconds) override {
    if (cost_ != nullptr) *cost_->health_s += seconds;
  }
  bool may_count_again() const override {
    if (cost_ == nullptr) return true;
    return cost_->counters_s + *cost_->health_s <= kAffordableEvidence * pace_.elapsed();
  }

  const RunPlan& plan_;
  RunWorld& world_;
  Record& record_;
  JournalWriter& journal_;
  Progress& progress_;
  MeasurementSettings settings_;
  std::vector<VariantJob> jobs_;
  std::vector<protocol::HelloReply> hellos_;  ///< by variant, of the current launch
  std::vector<bool> gave_up_;                 ///< by variant: not started again
  std::optional<MachineError> first_problem_;
  bool machine_known_ = false;
  bool head_written_ = false;
  RunPace pace_;
  EvidenceCost* cost_ = nullptr;  ///< the record's, where links can be counted
};

Run::Run(const RunPlan& plan, RunWorld& world, Record& record, JournalWriter& journal,
         Progress& progress)
    : plan_(plan),
      world_(world),
      record_(record),
      journal_(journal),
      progress_(progress),
      settings_{plan, {}, *this},
      hellos_(plan.variants.size()),
      gave_up_(plan.variants.size()),
      pace_(plan, *this) {
  settings_.wires.counting = plan.backend == BackendKind::nccl;
  if (settings_.wires.counting) {
    cost_ = &record_.evidence_cost.emplace();
    cost_->health_s = 0.0;
  }
  record_.settings.environment_in_force.resize(plan.variants.size());
  for (const Case& c : plan.cases) {
    CaseResult result;
    result.definition = c;
    for (const Variant& variant : plan.variants) {
      result.variants.emplace_back();
      result.variants.back().variant = variant.name;
    }
    record_.cases.push_back(std::move(result));
  }
}

void Run::warn(const Warning& warning) {
  record_.warnings.push_back(warning);
  if (head_written_) journal_.write_warning(warning);
  progress_.note(fmt::format("warning: {}", warning.text));
}

void Run::round_finished(const Case& c, int round) {
  progress_.measuring(pace_.step() + 1, pace_.steps(), c, round, pace_.seconds_left());
}

void Run::execute() {
  std::vector<int> all;
  for (std::size_t i = 0; i < plan_.variants.size(); ++i) all.push_back(static_cast<int>(i));
  for (int number = 0; number < plan_.launches; ++number) {
    if (number > 0 && (pace_.out_of_budget() || all_gave_up())) break;
    if (!plan_.sequential) {
      launch(number, all);
      continue;
    }
    for (int variant : all) launch(number, {variant});
  }
  const bool lost = std::count(gave_up_.begin(), gave_up_.end(), true) > 0;
  record_.status = lost ? RunStatus::job_lost : RunStatus::complete;
}

void Run::launch(int number, const std::vector<int>& variants) {
  start(number, variants);
  const bool any = greet();
  if (number == 0 && any) measure_host_copies();
  if (number == 0 && any) write_head();
  for (std::size_t i = 0; i < record_.cases.size(); ++i) measure(static_cast<int>(i), number);
  end_together(jobs_, kFarewell, *this);
}

/// All at once, so that their start-up overlaps.
void Run::start(int number, const std::vector<int>& variants) {
  jobs_.clear();
  for (int variant : variants) {
    const auto place = static_cast<std::size_t>(variant);
    jobs_.push_back({variant, plan_.variants[place].name, nullptr});
    if (gave_up_[place]) continue;
    try {
      jobs_.back().job = world_.start_job(variant, number);
    } catch (const JobLost& loss) {
      lost(jobs_.back(), loss);
    } catch (const MachineError& error) {
      lost(jobs_.back(), error);
    }
  }
}

/// Whether any job of the launch is up.
bool Run::greet() {
  bool any = false;
  for (VariantJob& job : jobs_) {
    if (!job.job) continue;
    try {
      adopt(job, job.job->hello(plan_.deadline));
      any = true;
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      lost(job, error);
      job.job.reset();
    }
  }
  settings_.wires.same_gpus = on_same_gpus();
  if (!any && !head_written_ && all_gave_up()) throw *first_problem_;
  return any;
}

bool Run::on_same_gpus() const {
  return std::all_of(jobs_.begin(), jobs_.end(), [&](const VariantJob& job) {
    const auto place = static_cast<std::size_t>(job.variant);
    return !job.job || same_gpus(hellos_[place].machine, record_.machine);
  });
}

void Run::lost(const VariantJob& job, const Error& error) {
  gave_up_[static_cast<std::size_t>(job.variant)] = true;
  if (!first_problem_) first_problem_.emplace(error.what(), error.advice());
  warn({"job-lost", fmt::format("variant {}: {}", job.name, error.what()), error.advice()});
}

void Run::adopt(const VariantJob& job, const protocol::HelloReply& reply) {
  const auto place = static_cast<std::size_t>(job.variant);
  hellos_[place] = reply;
  record_.settings.environment_in_force[place] = reply.environment;
  if (machine_known_) return;
  record_.machine = reply.machine;
  settings_.wires.several_hosts = !on_one_host(reply.machine);
  const std::optional<std::string>& nccl = reply.machine.software.nccl_library;
  if (nccl && !has_log_switch(*nccl)) settings_.wires.why_no_algorithm = kCallsNotLogged;
  machine_known_ = true;
  const std::string launches =
      plan_.launches == 1 ? "" : fmt::format(", {} launches of each", plan_.launches);
  progress_.note(fmt::format("{}: {}, {} cases{}, variants up", record_.machine.host,
                             describe_ranks(record_.machine), plan_.cases.size(), launches));
}

void Run::write_head() {
  journal_.write_head(record_);
  if (head_written_) return;
  head_written_ = true;
  for (const Warning& warning : record_.warnings) journal_.write_warning(warning);
}

bool Run::all_gave_up() const {
  return std::find(gave_up_.begin(), gave_up_.end(), false) == gave_up_.end();
}

/// Notes why this launch's variants were not measured, where no earlier launch measured them.
void Run::skip(int index, const std::string& reason, StopReason stopped) {
  CaseResult& result = record_.cases[static_cast<std::size_t>(index)];
  for (const VariantJob& job : jobs_) {
    VariantResult& variant = result.variants[static_cast<std::size_t>(job.variant)];
    if (!variant.time && !variant.skipped) variant.skipped = reason;
  }
  if (!result.stopped || result.stopped == StopReason::nothing_to_compare) result.stopped = stopped;
  if (head_written_) journal_.write_case(index, result);
}

/// Which road the variant took, and how near to that road's limit it came.
void Run::locate(VariantResult& variant, const Case& c, Path by_transport) const {
  if (c.training && !uses_link(c)) return;  // nothing was carried
  const Path found =
      variant.evidence ? path_by_evidence(by_transport, *variant.evidence) : by_transport;
  if (found != Path::unknown) variant.path = found;
  const std::optional<Limit> limit = limit_of(record_.machine, c, variant.path);
  // One message after the other never fills a link: its share would say nothing.
  if (!limit || !variant.busbw || needs_pair(c.operation)) return;
  variant.fraction_of_limit = *variant.busbw / limit->gb_per_s;
  variant.limit = limit->what;
}

/// Once in a run, in the first job that is up.
void Run::measure_host_copies() {
  if (plan_.backend != BackendKind::nccl || has_host_copies(record_.machine)) return;
  for (VariantJob& job : jobs_) {
    if (!job.job) continue;
    try {
      return read_host_copies(*job.job, plan_.deadline, record_.machine, *this);
    } catch (const JobLost& loss) {
      lost(job, loss);
      job.job.reset();
    }
  }
}

/// Brings the case's numbers up to date and writes them down.
void Run::keep(int index, int number) {
  CaseResult& result = record_.cases[static_cast<std::size_t>(index)];
  summarise(result);
  // Where the variants run one after the other no rule can stop them.
  if (!result.ratios.empty() && result.stopped == StopReason::nothing_to_compare) {
    result.stopped = StopReason::out_of_rounds;
  }
  settle(result, plan_.precision);
  for (const VariantJob& job : jobs_) {
    const auto place = static_cast<std::size_t>(job.variant);
    VariantResult& variant = result.variants[place];
    if (variant.skipped) continue;
    const std::string algorithm = variant.evidence ? variant.evidence->plan.algorithm : "";
    const std::optional<Path> own = own_path(record_.machine, result.definition, variant.execution);
    locate(variant, result.definition,
           own ? *own : world_.find_path(job.variant, number, hellos_[place], algorithm));
  }
  journal_.write_case(index, result);
}

void Run::measure(int index, int number) {
  const bool any = std::any_of(jobs_.begin(), jobs_.end(), [](const auto& j) { return !!j.job; });
  if (!any) return skip(index, kJobWasLost, StopReason::job_lost);
  if (pace_.out_of_budget()) return skip(index, kBudgetUsedUp, StopReason::out_of_time);
  CaseResult& result = record_.cases[static_cast<std::size_t>(index)];
  const double before = world_.now().value;
  const int samples_before = count_samples(record_);
  try {
    measure_case(jobs_, result, {index, number, samples_before}, pace_.rule(result.definition),
                 settings_);
  } catch (const Interrupted&) {
    keep(index, number);
    throw;
  }
  for (const VariantJob& job : jobs_) {
    if (!job.job) gave_up_[static_cast<std::size_t>(job.variant)] = true;
  }
  keep(index, number);
  pace_.finished(result.definition, world_.now().value - before);
  progress_.finished(pace_.step(), pace_.steps(), result);
}

}  // namespace

void run(const RunPlan& plan, RunWorld& world, Record& record, JournalWriter& journal,
         Progress& progress) {
  Run(plan, world, record, journal, progress).execute();
}

}  // namespace linkgain
