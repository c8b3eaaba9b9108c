#include "linkgain/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "host_watch.hpp"
#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/path_validity.hpp"
#include "linkgain/process/signals.hpp"
#include "linkgain/record/limits.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/run/progress.hpp"
#include "measurement.hpp"
#include "neighbour_watch.hpp"

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

constexpr const char* kJobLost = "job-lost";

/// How often a variant's job was lost in a case, by case and variant.
using Losses = std::map<std::pair<int, int>, int>;

/// Takes the jobs that are not to measure a case out of a launch while it lives: of variants that
/// were lost in it twice. What hangs always would cost a deadline in every launch. Counts who is
/// lost meanwhile.
class KeptOut {
 public:
  KeptOut(std::vector<VariantJob>& jobs, int index, Losses& losses)
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
      if (measures_[i] && !jobs_[i].job) ++losses_[{index_, jobs_[i].variant}];
      if (taken_[i]) jobs_[i].job = std::move(taken_[i]);
    }
  }
  KeptOut(const KeptOut&) = delete;
  KeptOut& operator=(const KeptOut&) = delete;

 private:
  std::vector<VariantJob>& jobs_;
  int index_;
  Losses& losses_;
  std::vector<std::unique_ptr<Job>> taken_;
  std::vector<bool> measures_;
};

class Run : private RunObserver {
 public:
  Run(const RunPlan& plan, RunWorld& world, Record& record, JournalWriter& journal,
      RunProgress& progress);
  void execute();

 private:
  /// One job of each of some variants.
  struct Launch {
    int number;
    std::vector<VariantJob> jobs;
  };
  /// A job that did not start, and why.
  struct Missing {
    int variant;
    int launch;
    std::string text;
    std::string advice;
  };

  void run_planned();
  void leave_out(int number);
  void add_launches();
  void run_group(int first, int end, const std::vector<int>& cases);
  void run_jobs(int first, int end, const std::vector<int>& variants,
                const std::vector<int>& cases);
  std::vector<Launch> launches_of(int first, int end, const std::vector<int>& variants) const;
  void measure_group(std::vector<Launch>& group, const std::vector<int>& cases);
  void start(std::vector<Launch>& group, std::vector<Missing>& missing);
  void shake_hands(std::vector<Launch>& group, double started, std::vector<Missing>& missing);
  void give_up_missing(const std::vector<Launch>& group, const std::vector<Missing>& missing);
  bool on_same_gpus(const Launch& launch) const;
  void take_settings(const VariantJob& job);
  void write_head();
  void look_around();
  void measure_launch(Launch& launch, const std::vector<int>& cases);
  void measure(Launch& launch, int index);
  void keep(const Launch& launch, int index);
  void skip(const Launch& launch, int index, const std::string& reason, StopReason stopped);
  void lower_launches();
  bool all_gave_up() const;
  void locate(VariantResult& variant, const Case& c, Path by_transport) const;
  void measure_host_copies(std::vector<Launch>& group);

  Seconds now() const override { return world_.now(); }
  void note(const std::string& text) override { progress_.note(text); }
  void warn(const Warning& warning) override;
  void disturbed_since(int sequence) override;
  void probing_took(double seconds) override {
    if (cost_ != nullptr) cost_->probes_s += seconds;
  }
  void sampled() override { progress_.measuring(pace_, launch_, *measured_); }
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
  RunProgress& progress_;
  MeasurementSettings settings_;
  std::vector<int> all_variants_;
  std::vector<bool> gave_up_;  ///< by variant: not started again
  Losses losses_;
  bool some_lost_ = false;  ///< of all jobs
  std::optional<MachineError> first_problem_;
  bool machine_known_ = false;
  bool head_written_ = false;
  RunPace pace_;
  int launch_ = 0;
  const Case* measured_ = nullptr;  ///< in that launch, now
  NeighbourWatch neighbours_;
  HostWatch host_;
  EvidenceCost* cost_ = nullptr;  ///< the record's, where links can be counted
};

Run::Run(const RunPlan& plan, RunWorld& world, Record& record, JournalWriter& journal,
         RunProgress& progress)
    : plan_(plan),
      world_(world),
      record_(record),
      journal_(journal),
      progress_(progress),
      settings_{plan, {}, *this},
      all_variants_(plan.variants.size()),
      gave_up_(plan.variants.size()),
      pace_(plan, *this),
      neighbours_(world, record, *this),
      host_(plan, world, record, *this) {
  settings_.traffic.counting = plan.backend == BackendKind::nccl;
  if (settings_.traffic.counting) {
    cost_ = &record_.evidence_cost.emplace();
    cost_->health_s = 0.0;
  }
  std::iota(all_variants_.begin(), all_variants_.end(), 0);
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
  some_lost_ = some_lost_ || warning.code == kJobLost;
  record_.warnings.push_back(warning);
  if (head_written_) journal_.write_warning(warning);
  progress_.note(fmt::format("warning: {}", warning.text));
}

/// Of cases that are written down already the journal gets another line.
void Run::disturbed_since(int sequence) {
  for (std::size_t i = 0; i < record_.cases.size(); ++i) {
    CaseResult& result = record_.cases[i];
    bool news = false;
    for (Sample& sample : result.samples) {
      if (sample.disturbed || sample.sequence < sequence) continue;
      sample.disturbed = news = true;
    }
    if (!news) continue;
    summarise(result);
    if (head_written_) journal_.write_case(static_cast<int>(i), result);
  }
}

/// While none of our jobs works: for what others do.
void Run::look_around() {
  host_.hand_over();
  const std::size_t seen = record_.neighbours ? record_.neighbours->seen.size() : 0;
  neighbours_.hand_over();
  if (head_written_ && record_.neighbours && record_.neighbours->seen.size() > seen) write_head();
}

void Run::execute() {
  host_.before_start();
  if (plan_.backend == BackendKind::nccl) neighbours_.before_start();
  host_.end_of_start_window();
  run_planned();
  add_launches();
  neighbours_.at_end();
  host_.tell();
  record_.status = some_lost_ ? RunStatus::job_lost : RunStatus::complete;
}

void Run::run_planned() {
  const int at_once = launches_at_once(plan_);
  for (int first = 0; first < pace_.launches(); first += at_once) {
    if (first > 0 && all_gave_up()) return;
    if (first > 0 && pace_.out_of_budget()) return leave_out(first);
    run_group(first, std::min(pace_.launches(), first + at_once), pace_.order());
  }
}

/// The cases of this launch and all later ones, for which no budget is left.
void Run::leave_out(int number) {
  const std::vector<Launch> left = launches_of(number, number + 1, all_variants_);
  for (const int index : pace_.order()) {
    skip(left.front(), index, kBudgetUsedUp, StopReason::out_of_time);
  }
}

/// One after the other, for the cases that are worth it.
void Run::add_launches() {
  for (int done = plan_.launches; done < 2 * plan_.launches && !all_gave_up(); ++done) {
    summarise(record_);
    const std::vector<int> cases = cases_worth_more(record_, plan_.launches, done);
    if (cases.empty() || pace_.out_of_budget() || !pace_.holds(cases)) return;
    pace_.add_launch(cases);
    run_group(done, done + 1, cases);
  }
}

/// The launches from `first` until before `end`.
void Run::run_group(int first, int end, const std::vector<int>& cases) {
  if (plan_.schedule == Schedule::paired) return run_jobs(first, end, all_variants_, cases);
  BalancedOrder order(static_cast<int>(all_variants_.size()),
                      seed_of(Order::start, plan_.seed, first));
  for (const int variant : order.next()) run_jobs(first, end, {variant}, cases);
  if (first == 0) lower_launches();
}

/// Those of these variants, all up together.
void Run::run_jobs(int first, int end, const std::vector<int>& variants,
                   const std::vector<int>& cases) {
  std::vector<Launch> group = launches_of(first, end, variants);
  try {
    measure_group(group, cases);
  } catch (...) {
    for (Launch& launch : group) give_up(launch.jobs);
    throw;
  }
}

void Run::measure_group(std::vector<Launch>& group, const std::vector<int>& cases) {
  const double started = world_.now().value;
  const int first = group.front().number;
  pace_.starts_group();
  progress_.starting(pace_);
  std::vector<Missing> missing;
  start(group, missing);
  shake_hands(group, started, missing);
  give_up_missing(group, missing);
  pace_.started_group(world_.now().value - started);
  if (first == 0 && machine_known_) {
    measure_host_copies(group);
    write_head();
  }
  host_.resume();
  for (Launch& launch : group) {
    if (launch.number > 0 && launch.number >= pace_.launches()) break;
    measure_launch(launch, cases);
    if (launch.number == 0 && plan_.schedule == Schedule::paired) lower_launches();
  }
  host_.pause();
  look_around();
  std::vector<VariantJob> jobs;
  for (Launch& launch : group) {
    std::move(launch.jobs.begin(), launch.jobs.end(), std::back_inserter(jobs));
  }
  const double measured = world_.now().value;
  end_together(jobs, kShutdownTime, *this);
  pace_.ended_group(world_.now().value - measured);
}

/// One job of each of these variants in each launch, not started yet.
std::vector<Run::Launch> Run::launches_of(int first, int end,
                                          const std::vector<int>& variants) const {
  std::vector<Launch> group;
  for (int number = first; number < end; ++number) {
    group.push_back({number, {}});
    for (const int variant : variants) {
      group.back().jobs.push_back(
          {variant, plan_.variants[static_cast<std::size_t>(variant)].name, nullptr});
    }
  }
  return group;
}

/// All at once, so that their start-up overlaps, in random order, so that none has the first or the
/// last place oftener.
void Run::start(std::vector<Launch>& group, std::vector<Missing>& missing) {
  const std::size_t variants = group.front().jobs.size();
  BalancedOrder order(static_cast<int>(group.size() * variants),
                      seed_of(Order::start, plan_.seed, group.front().number));
  for (const int index : order.next()) {
    const auto place = static_cast<std::size_t>(index);
    const int number = group[place / variants].number;
    VariantJob& job = group[place / variants].jobs[place % variants];
    if (gave_up_[static_cast<std::size_t>(job.variant)]) continue;
    try {
      job.job = world_.start_job(job.variant, number);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      missing.push_back({job.variant, number, error.what(), error.advice()});
    }
  }
}

/// All have the deadline from their common start on.
void Run::shake_hands(std::vector<Launch>& group, double started, std::vector<Missing>& missing) {
  constexpr double kLeast = 1.0;
  for (Launch& launch : group) {
    for (VariantJob& job : launch.jobs) {
      if (!job.job) continue;
      const double left = plan_.timeout.value - (world_.now().value - started);
      try {
        job.hello = job.job->hello(Seconds{std::max(kLeast, left)});
        neighbours_.add_own(job.hello.machine);
        host_.add_own(job.hello.machine);
        take_settings(job);
      } catch (const Interrupted&) {
        throw;
      } catch (const Error& error) {
        missing.push_back({job.variant, launch.number, error.what(), error.advice()});
        job.job.reset();
      }
    }
  }
}

/// A variant of which no job started is not started again, and said once.
void Run::give_up_missing(const std::vector<Launch>& group, const std::vector<Missing>& missing) {
  for (const Missing& each : missing) {
    const auto place = static_cast<std::size_t>(each.variant);
    if (gave_up_[place]) continue;
    if (!first_problem_) first_problem_.emplace(each.text, each.advice);
    const std::string& name = plan_.variants[place].name;
    const bool some_up = std::any_of(group.begin(), group.end(), [&](const Launch& launch) {
      return std::any_of(launch.jobs.begin(), launch.jobs.end(), [&](const VariantJob& job) {
        return job.variant == each.variant && job.job;
      });
    });
    gave_up_[place] = !some_up;
    const std::string which =
        some_up ? fmt::format("variant {}, launch {}", name, each.launch + 1) : "variant " + name;
    warn({kJobLost, fmt::format("{}: {}", which, each.text), each.advice});
  }
  if (!machine_known_ && all_gave_up()) throw *first_problem_;
}

bool Run::on_same_gpus(const Launch& launch) const {
  return std::all_of(launch.jobs.begin(), launch.jobs.end(), [&](const VariantJob& job) {
    return !job.job || same_gpus(job.hello.machine, record_.machine);
  });
}

void Run::take_settings(const VariantJob& job) {
  const protocol::HelloReply& reply = job.hello;
  const auto variant = static_cast<std::size_t>(job.variant);
  record_.settings.environment_in_force[variant] = reply.environment;
  record_.settings.software_in_force.resize(plan_.variants.size());
  record_.settings.software_in_force[variant] = reply.machine.software;
  if (machine_known_) return;
  record_.machine = reply.machine;
  settings_.traffic.several_hosts = !on_one_host(reply.machine);
  machine_known_ = true;
  const std::string launches =
      plan_.launches == 1 ? "" : fmt::format(", {} launches of each", plan_.launches);
  progress_.note(fmt::format("{}: {}, {} cases{}, variants up", record_.machine.host,
                             describe_ranks(record_.machine), plan_.cases.size(), launches));
}

/// To what the budget holds, by the time of the first launch's cases.
void Run::lower_launches() {
  if (!pace_.lower_launches()) return;
  warn({"fewer-launches",
        fmt::format("{} launches instead of {}: the budget of {:g} s holds no more",
                    pace_.launches(), plan_.launches, plan_.budget->value),
        "give more time with --budget, or measure less with --only and --sizes"});
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
void Run::skip(const Launch& launch, int index, const std::string& reason, StopReason stopped) {
  CaseResult& result = record_.cases[static_cast<std::size_t>(index)];
  for (const VariantJob& job : launch.jobs) {
    VariantResult& variant = result.variants[static_cast<std::size_t>(job.variant)];
    if (!variant.time && !variant.skipped) variant.skipped = reason;
  }
  const bool ended = result.stopped && result.stopped != StopReason::nothing_to_compare;
  const bool cut =
      stopped == StopReason::out_of_time && (result.stopped == StopReason::out_of_rounds ||
                                             result.stopped == StopReason::launches_differ);
  if (!ended || cut) result.stopped = stopped;
  if (head_written_) journal_.write_case(index, result);
}

/// Which path the variant took, and how near to that path's limit it came.
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
void Run::measure_host_copies(std::vector<Launch>& group) {
  if (plan_.backend != BackendKind::nccl || has_host_copies(record_.machine)) return;
  for (Launch& launch : group) {
    for (VariantJob& job : launch.jobs) {
      if (!job.job) continue;
      try {
        return read_host_copies(*job.job, plan_.timeout, record_.machine, *this);
      } catch (const JobLost& loss) {
        warn({kJobLost, fmt::format("variant {}: {}", job.name, loss.what()), loss.advice()});
        job.job.reset();
      }
    }
  }
}

/// Brings the case's numbers up to date and writes them down.
void Run::keep(const Launch& launch, int index) {
  neighbours_.mark_samples();
  CaseResult& result = record_.cases[static_cast<std::size_t>(index)];
  summarise(result);
  // Where the variants run one after the other no rule can stop them.
  if (!result.ratios.empty() && result.stopped == StopReason::nothing_to_compare) {
    result.stopped = StopReason::out_of_rounds;
  }
  for (const VariantJob& job : launch.jobs) {
    VariantResult& variant = result.variants[static_cast<std::size_t>(job.variant)];
    if (variant.skipped) continue;
    const Algorithm algorithm =
        variant.evidence ? algorithm_called(variant.evidence->plan.algorithm) : Algorithm::unnamed;
    const std::optional<Path> own = own_path(record_.machine, result.definition, variant.execution);
    locate(variant, result.definition,
           own ? *own : world_.find_path(job.variant, launch.number, job.hello, algorithm));
  }
  journal_.write_case(index, result);
}

void Run::measure_launch(Launch& launch, const std::vector<int>& cases) {
  settings_.traffic.same_gpus = on_same_gpus(launch);
  for (const int index : cases) {
    if (!pace_.admits(index)) {
      skip(launch, index, kBudgetUsedUp, StopReason::out_of_time);
    } else if (pace_.rounds(index, launch.number) > 0) {
      measure(launch, index);
    }
  }
}

void Run::measure(Launch& launch, int index) {
  KeptOut kept_out(launch.jobs, index, losses_);
  const bool any = std::any_of(launch.jobs.begin(), launch.jobs.end(),
                               [](const VariantJob& job) { return job.job != nullptr; });
  if (!any) return skip(launch, index, kJobWasLost, StopReason::job_lost);
  if (pace_.out_of_budget()) return skip(launch, index, kBudgetUsedUp, StopReason::out_of_time);
  CaseResult& result = record_.cases[static_cast<std::size_t>(index)];
  const double before = world_.now().value;
  const int samples_before = count_samples(record_);
  look_around();
  launch_ = launch.number;
  measured_ = &result.definition;
  progress_.measuring(pace_, launch_, *measured_);
  try {
    measure_case(launch.jobs, result, {index, launch.number, samples_before},
                 pace_.rounds(index, launch.number), settings_);
  } catch (const Interrupted&) {
    keep(launch, index);
    throw;
  }
  keep(launch, index);
  double batches = 0.0;
  for (const Sample& sample : result.samples) {
    if (sample.sequence < samples_before) continue;
    batches += sample.time().value * static_cast<double>(sample.operations);
  }
  pace_.finished(index, launch.number, world_.now().value - before, batches);
  progress_.finished(pace_, launch.number, result);
}

}  // namespace

void run(const RunPlan& plan, RunWorld& world, Record& record, JournalWriter& journal,
         RunProgress& progress) {
  try {
    Run(plan, world, record, journal, progress).execute();
  } catch (...) {
    summarise(record);
    throw;
  }
  summarise(record);
}

}  // namespace linkgain
