#include "linkgain/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "costs.hpp"
#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/path_validity.hpp"
#include "linkgain/process/signals.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/run/pace.hpp"
#include "linkgain/run/resumption.hpp"
#include "measurement.hpp"
#include "race_field.hpp"
#include "watches.hpp"

namespace linkgain {
namespace {

/// The part of a run's time that reading counters and health may take before readings that can be
/// left out are.
constexpr double kAffordableEvidence = 0.02;

/// Restarts of all jobs of a run: a variant that cannot live is not started for ever.
constexpr int kMostRestarts = 3;

/// Failed launches of a variant, one after the other, after which it is not started again.
constexpr int kMostFailedStarts = 3;

class Run : private RunCosts {
 public:
  Run(const RunPlan& plan, RunWorld& world, Record& record, JournalWriter& journal,
      RunProgress& progress)
      : RunCosts(record, plan.backend == BackendKind::nccl, world.now()),
        plan_(plan),
        world_(world),
        record_(record),
        journal_(journal),
        progress_(progress),
        settings_{plan, {}, *this},
        field_(plan.variants.size()),
        failed_starts_(plan.variants.size()),
        earlier_(head_of_earlier_part(record)),
        pace_(plan, *this),
        neighbours_(world, record, *this),
        host_(plan, world, record, *this),
        gpus_(world, record, *this),
        soak_(plan, world, record, *this) {
    settings_.traffic.counting = plan.backend == BackendKind::nccl;
    record_.settings.environment_in_force.resize(plan.variants.size());
    if (!earlier_) prepare_to_go_on(plan, record);
    world.while_waiting([this] { progress_.waiting(pace_); });
    keep_steps(pace_.order(), 0, plan.launches);
  }

  void execute() {
    host_.before_start();
    if (plan_.backend == BackendKind::nccl) neighbours_.before_start();
    gpus_.read_errors();
    host_.end_of_start_window();
    run_planned();
    if (plan_.is_soak) {
      // As many as there was time for; a run that lost a job may go on to measure all.
      if (!some_lost_) record_.settings.launches = std::max(1, count_launches(record_));
    } else if (plan_.race) {
      race();
    } else if (plan_.adds_launches) {
      add_launches();
    }
    neighbours_.at_end();
    journal_.take_place();  // where no job was left to start
    record_.status = some_lost_ ? RunStatus::job_lost : RunStatus::complete;
  }

  /// Judges what was measured, however the run ended. Once.
  void sum_up() {
    host_.tell();
    summarise(record_until_now());
  }

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

  /// Returns whether an earlier part of the run measured it.
  bool is_kept(int index, int launch, const std::vector<int>& variants) const {
    return earlier_ && is_measured(record_.cases[static_cast<std::size_t>(index)], launch, variants,
                                   pace_.rounds(index, launch));
  }

  bool is_kept(int launch) const {
    return std::ranges::all_of(
        pace_.order(), [&](int index) { return is_kept(index, launch, field_.variants()); });
  }

  /// Tells the pace what of these launches an earlier part of the run measured.
  void keep_steps(const std::vector<int>& cases, int first, int end) {
    for (int launch = first; launch < end; ++launch) {
      for (const std::vector<int>& variants : variants_at_once(plan_)) {
        for (const int index : cases) {
          if (is_kept(index, launch, variants)) pace_.keeps(index, launch);
        }
      }
    }
  }

  void run_planned() {
    for (int first = 0, end = 0; first < pace_.launches(); first = end) {
      if (first > 0 && all_gave_up()) return;
      if (plan_.is_soak) {
        if (!is_kept(first) && !soak_.begins(first)) return;
      } else if (first > 0 && pace_.out_of_budget()) {
        return leave_out(first);
      }
      end = std::min(pace_.launches(), first + group_size(plan_, first));
      run_group(first, end, pace_.order());
      if (first == 0 && plan_.schedule == Schedule::sequential) lower_launches();
    }
  }

  /// Leaves out the cases of this launch and all later ones, for which no budget is left.
  void leave_out(int number) {
    const std::vector<Launch> left = launches_of(number, number + 1, field_.variants());
    for (const int index : pace_.order()) {
      skip(left.front(), index, SkipReason::out_of_time);
    }
  }

  /// Adds launches for the cases that are worth it, as many at once as these are expected to need.
  void add_launches() {
    int done = plan_.launches;
    while (!all_gave_up()) {
      summarise(record_);
      const MoreLaunches more = launches_worth_adding(record_, plan_.launches, done);
      const int end =
          done + pace_.holds(more.cases, std::min(more.launches, group_size(plan_, done)));
      if (end == done) return;
      pace_.add_group(more.cases, end - done);
      keep_steps(more.cases, done, end);
      run_group(done, end, more.cases);
      done = end;
    }
  }

  /// Runs the later stages of a race, each with what those before left in it.
  void race() {
    const RaceStages& race = *plan_.race;
    const int jobs = launches_at_once(plan_) * static_cast<int>(plan_.variants.size());
    int done = race.screening;
    for (const auto& [stage, launches] : {std::pair(RaceStage::choosing, race.choosing),
                                          std::pair(RaceStage::confirming, race.confirming)}) {
      if (all_gave_up()) return;
      const std::vector<int> cases = field_.enter(record_, stage);
      if (cases.empty()) return progress_.note("no candidate is left");
      progress_.note(fmt::format("{} of {} candidates are left, in {}",
                                 field_.variants().size() - 1, plan_.variants.size() - 1,
                                 counted(std::ssize(cases), "case", "cases")));
      pace_.add_group(cases, launches);
      const int end = done + launches;
      const int at_once = std::max<int>(1, jobs / static_cast<int>(field_.variants().size()));
      for (int first = done; first < end; first += at_once) {
        run_group(first, std::min(end, first + at_once), cases);
      }
      done = end;
    }
  }

  /// Runs the launches from `first` until before `end`, shuffled if one variant's alone is up.
  void run_group(int first, int end, const std::vector<int>& cases) {
    if (plan_.schedule == Schedule::paired) return run_jobs(first, end, field_.variants(), cases);
    const unsigned seed = seed_of(Order::start, plan_.seed, first);
    for (const auto& [place, time] : shuffled_order(field_.variants().size(), end - first, seed)) {
      if (time > 0 && all_gave_up()) return;
      if (time > 0 && out_of_budget()) return leave_out(first + time);
      const int variant = field_.variants()[static_cast<std::size_t>(place)];
      run_jobs(first + time, first + time + 1, {variant}, cases);
    }
  }

  /// Runs the jobs of these variants, all up together.
  void run_jobs(int first, int end, const std::vector<int>& variants,
                const std::vector<int>& cases) {
    std::vector<Launch> group = launches_of(first, end, variants);
    std::erase_if(group, [&](const Launch& launch) {
      return std::ranges::all_of(
          cases, [&](int index) { return is_kept(index, launch.number, variants); });
    });
    if (group.empty()) return pace_.leaves_group_out();
    try {
      measure_group(group, cases);
    } catch (...) {
      for (Launch& launch : group) give_up(launch.jobs);
      throw;
    }
  }

  /// Makes one job of each of these variants in each launch, not started yet.
  std::vector<Launch> launches_of(int first, int end, const std::vector<int>& variants) const {
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

  void measure_group(std::vector<Launch>& group, const std::vector<int>& cases) {
    const double started = world_.now().value;
    pace_.starts_group();
    progress_.starting(pace_);
    std::vector<Missing> missing;
    start(group, missing);
    shake_hands(group, started, missing);
    tell_missing(group, missing);
    const Seconds start_time{world_.now().value - started};
    pace_.started_group(start_time.value);
    all_started(start_time);
    accept(group);
    const bool is_first = machine_known_ && !std::exchange(described_, true);
    if (is_first) measure_host_copies(group);
    if (is_first || plan_.is_soak) journal_.write_head(record_until_now());
    host_.resume();
    try {
      for (Launch& launch : group) {
        if (launch.number > 0 && launch.number >= pace_.launches()) break;
        measure_launch(launch, cases);
        if (gpus_.read_errors()) journal_.write_head(record_until_now());
        if (launch.number == 0 && plan_.schedule == Schedule::paired) lower_launches();
      }
    } catch (...) {
      host_.pause();  // while the jobs are there, whose counts it reads
      throw;
    }
    host_.pause();
    look_around();
    std::vector<VariantJob> jobs;
    for (Launch& launch : group) {
      std::move(launch.jobs.begin(), launch.jobs.end(), std::back_inserter(jobs));
    }
    const double measured = world_.now().value;
    end_together(jobs, std::min(kShutdownTime, plan_.timeout), *this);
    const Seconds end_time{world_.now().value - measured};
    pace_.ended_group(end_time.value);
    spent(&TimeSpent::ending_s, end_time);
  }

  /// Starts all at once, to overlap, in random order, so that none is the first or last oftener.
  void start(std::vector<Launch>& group, std::vector<Missing>& missing) {
    const std::size_t variants = group.front().jobs.size();
    BalancedOrder order(static_cast<int>(group.size() * variants),
                        seed_of(Order::start, plan_.seed, group.front().number));
    for (const int index : order.next()) {
      const auto place = static_cast<std::size_t>(index);
      const int number = group[place / variants].number;
      VariantJob& job = group[place / variants].jobs[place % variants];
      if (gave_up(job.variant)) continue;
      try {
        job.job = world_.start_job(job.variant, number);
      } catch (const Interrupted&) {
        throw;
      } catch (const Error& error) {
        missing.push_back({job.variant, number, error.what(), error.advice()});
      }
    }
  }

  /// Waits for all jobs' hello. All have the deadline from their common start on, and time to
  /// start: ranks count from then.
  void shake_hands(std::vector<Launch>& group, double started, std::vector<Missing>& missing) {
    constexpr double kLeast = 1.0;
    constexpr double kToStart = 3.0;
    for (Launch& launch : group) {
      for (VariantJob& job : launch.jobs) {
        if (!job.job) continue;
        const double left = kToStart + plan_.timeout.value - (world_.now().value - started);
        try {
          handshake(job, Seconds{std::max(kLeast, left)});
        } catch (const Interrupted&) {
          throw;
        } catch (const Error& error) {
          missing.push_back({job.variant, launch.number, error.what(), error.advice()});
          job.job.reset();
        }
      }
    }
  }

  /// Counts variants of which no job is up. Of one that is not started again one loss is told.
  void tell_missing(const std::vector<Launch>& group, const std::vector<Missing>& missing) {
    for (std::size_t i = 0; i < group.front().jobs.size(); ++i) {
      if (std::ranges::any_of(group,
                              [i](const Launch& each) { return each.jobs[i].job != nullptr; }))
        continue;
      const bool all = std::ssize(group) == plan_.launches;  // which leaves nothing to start
      failed_starts_[static_cast<std::size_t>(group.front().jobs[i].variant)] +=
          all ? kMostFailedStarts : static_cast<int>(group.size());
    }
    std::set<int> given_up;
    for (const Missing& each : missing) {
      if (!first_problem_) first_problem_.emplace(each.text, each.advice);
      const bool out = gave_up(each.variant);
      if (out && !given_up.insert(each.variant).second) continue;
      warn({name_of(WarningCode::job_lost),
            fmt::format("variant {}{}: {}",
                        plan_.variants[static_cast<std::size_t>(each.variant)].name,
                        out ? "" : fmt::format(", launch {}", each.launch + 1), each.text),
            each.advice});
    }
    if (!machine_known_ && std::ranges::count(failed_starts_, 0) == 0) throw *first_problem_;
  }

  /// Throws UsageError where these are no jobs to go on with: until they are, nothing is written.
  void accept(const std::vector<Launch>& group) {
    for (const Launch& launch : group) {
      for (const VariantJob& job : launch.jobs) {
        if (earlier_ && job.job) require_same_job(*earlier_, job.variant, job.hello);
      }
    }
    if (machine_known_) begin_part(plan_, record_, journal_, progress_);
    if (machine_known_ && plan_.race && !field_.is_entered()) {
      field_.enter(record_, RaceStage::screening);
      note_excluded(field_, record_);
    }
    if (plan_.is_soak) soak_.note_begin(group.front().number);
  }

  /// Waits for the hello of a job that was started and takes what it says of itself.
  void handshake(VariantJob& job, Seconds deadline) {
    job.hello = job.job->hello(deadline);
    const protocol::HelloReply& reply = job.hello;
    neighbours_.add_own(reply.machine);
    host_.add_own(reply.machine);
    started(reply);
    const auto variant = static_cast<std::size_t>(job.variant);
    failed_starts_[variant] = 0;
    record_.settings.software_in_force.resize(plan_.variants.size());
    take_in_force(record_.settings, variant, reply, earlier_.has_value());
    if (machine_known_) return;
    if (!earlier_ || record_.machine.ranks.empty()) record_.machine = reply.machine;
    settings_.traffic.several_hosts = !on_one_host(reply.machine);
    machine_known_ = true;
    const std::string launches =
        plan_.launches == 1 ? "" : fmt::format(", {} launches of each", plan_.launches);
    progress_.note(fmt::format("{}: {}, {}{}, variants up", record_.machine.host,
                               describe_ranks(record_.machine),
                               counted(std::ssize(plan_.cases), "case", "cases"), launches));
  }

  /// Looks for what others do, while none of our jobs works.
  void look_around() {
    host_.hand_over();
    const std::size_t seen = record_.neighbours ? record_.neighbours->seen.size() : 0;
    neighbours_.hand_over();
    if (record_.neighbours && record_.neighbours->seen.size() > seen) {
      journal_.write_head(record_until_now());
    }
  }

  void measure_launch(Launch& launch, const std::vector<int>& cases) {
    settings_.traffic.same_gpus = on_same_gpus(launch.jobs, record_.machine);
    std::vector<int> variants;
    for (const VariantJob& job : launch.jobs) variants.push_back(job.variant);
    for (const int index : cases) {
      if (is_kept(index, launch.number, variants)) continue;
      if (!pace_.admits(index)) {
        skip(launch, index, SkipReason::out_of_time);
      } else if (pace_.rounds(index, launch.number) > 0) {
        start_lost(launch);
        measure(launch, index);
      }
      tell_of_journal();
    }
  }

  /// Starts jobs that were lost in an earlier case anew for this one: as of a case of its own, the
  /// samples of a launch are still of one process.
  void start_lost(Launch& launch) {
    for (VariantJob& job : launch.jobs) {
      if (!std::exchange(job.lost, false) || restarts_ == kMostRestarts || pace_.out_of_budget()) {
        continue;
      }
      ++restarts_;
      progress_.note(fmt::format("the job of variant {} is started again, {} of {} times", job.name,
                                 restarts_, kMostRestarts));
      start_again(job, launch.number);
    }
  }

  void start_again(VariantJob& job, int launch) {
    try {
      job.job = world_.start_job(job.variant, launch);
      handshake(job, plan_.timeout);
      settings_.traffic.same_gpus =
          settings_.traffic.same_gpus && same_gpus(job.hello.machine, record_.machine);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      job.job.reset();
      warn({name_of(WarningCode::job_lost),
            fmt::format("variant {}, started again: {}", job.name, error.what()), error.advice()});
    }
  }

  /// Says once that there is no journal: what is measured stays in memory and goes into the record.
  void tell_of_journal() {
    if (!journal_.failure() || std::exchange(journal_told_, true)) return;
    warn(*journal_.failure());
  }

  void measure(Launch& launch, int index) {
    KeptOut kept_out(launch.jobs, index, losses_,
                     [&](int variant) { return field_.races(index, variant); });
    const bool any =
        std::ranges::any_of(launch.jobs, [](const VariantJob& job) { return job.job != nullptr; });
    if (!any) return skip(launch, index, SkipReason::job_lost);
    if (pace_.out_of_budget()) return skip(launch, index, SkipReason::out_of_time);
    CaseResult& result = record_.cases[static_cast<std::size_t>(index)];
    const double before = world_.now().value;
    const int samples_before = count_samples(record_);
    look_around();
    sampled(launch.number, result.definition);
    try {
      measure_case(
          launch.jobs, result,
          {index, launch.number, samples_before, products_before(record_, result.definition)},
          pace_.rounds(index, launch.number), settings_);
    } catch (const Interrupted&) {
      keep(launch, index);
      throw;
    }
    keep(launch, index);
    pace_.finished(index, launch.number, world_.now().value - before,
                   time_of_batches(result, samples_before).value);
    progress_.finished(pace_, launch.number, result);
  }

  /// Brings the case's numbers up to date and writes them down.
  void keep(const Launch& launch, int index) {
    neighbours_.mark_samples();
    CaseResult& result = record_.cases[static_cast<std::size_t>(index)];
    summarise(result);
    gpus_.look_at_health(result);
    // Where the variants run one after the other no rule can stop them.
    if (!result.ratios.empty() && result.stopped == StopReason::nothing_to_compare) {
      result.stopped = StopReason::out_of_rounds;
    }
    for (const VariantJob& job : launch.jobs) {
      VariantResult& variant = result.variants[static_cast<std::size_t>(job.variant)];
      if (variant.skipped) continue;
      const Algorithm algorithm = variant.evidence
                                      ? algorithm_called(variant.evidence->plan.algorithm)
                                      : Algorithm::unnamed;
      const std::optional<Path> own =
          own_path(record_.machine, result.definition, variant.execution);
      locate(variant, result.definition, record_.machine,
             own ? *own : world_.find_path(job.variant, launch.number, job.hello, algorithm));
    }
    journal_.extend_case(record_until_now(), index);
  }

  /// Notes why this launch's variants were not measured, where no earlier launch measured them.
  void skip(const Launch& launch, int index, SkipReason reason) {
    CaseResult& result = record_.cases[static_cast<std::size_t>(index)];
    for (const VariantJob& job : launch.jobs) {
      VariantResult& variant = result.variants[static_cast<std::size_t>(job.variant)];
      if (!variant.time && !variant.skipped) variant.skipped = Skip{reason};
    }
    const bool lost = reason == SkipReason::job_lost;
    const bool ended = result.stopped && result.stopped != StopReason::nothing_to_compare;
    const bool cut = !lost && (result.stopped == StopReason::out_of_rounds ||
                               result.stopped == StopReason::launches_differ);
    if (!ended || cut) result.stopped = lost ? StopReason::job_lost : StopReason::out_of_time;
    journal_.extend_case(record_until_now(), index);
  }

  /// Lowers the launches to what the budget holds, by the time of the first launch's cases.
  void lower_launches() {
    if (plan_.is_soak || !pace_.lower_launches()) return;
    warn(warning_of(WarningCode::fewer_launches,
                    fmt::format("{} launches instead of {}: the budget of {:g} s holds no more",
                                pace_.launches(), plan_.launches, plan_.budget->value)));
  }

  /// Returns whether it is not started again.
  bool gave_up(int variant) const {
    return failed_starts_[static_cast<std::size_t>(variant)] >= kMostFailedStarts;
  }

  bool all_gave_up() const {
    return std::ranges::all_of(field_.variants(), [this](int variant) { return gave_up(variant); });
  }

  /// Measures copies of the host once in a run, in the first job that is up.
  void measure_host_copies(std::vector<Launch>& group) {
    if (plan_.backend != BackendKind::nccl || has_host_copies(record_.machine)) return;
    for (Launch& launch : group) {
      for (VariantJob& job : launch.jobs) {
        if (!job.job) continue;
        try {
          return read_host_copies(*job.job, plan_.timeout, record_.machine, *this);
        } catch (const JobLost& loss) {
          warn({name_of(WarningCode::job_lost),
                fmt::format("variant {}: {}", job.name, loss.what()), loss.advice()});
          job.job.reset();
        }
      }
    }
  }

  Seconds now() const override { return world_.now(); }
  void note(const std::string& text) override { progress_.note(text); }

  void warn(const Warning& said) override {
    const bool lost = is(said, WarningCode::job_lost);
    some_lost_ = some_lost_ || lost;
    const Warning warning =
        lost ? explained(said, said.text, world_.faults_of_gpus(gpus_.begun())) : said;
    record_.warnings.push_back(warning);
    journal_.write_warning(warning);
    progress_.note(fmt::format("warning: {}", warning.text));
  }

  /// Marks these samples; cases that are written down already get another line of the journal.
  void disturbed_since(int sequence) override {
    for (std::size_t i = 0; i < record_.cases.size(); ++i) {
      CaseResult& result = record_.cases[i];
      bool news = false;
      for (Sample& sample : result.samples) {
        if (sample.disturbed || sample.sequence < sequence) continue;
        sample.disturbed = news = true;
      }
      if (!news) continue;
      summarise(result);
      journal_.write_case(static_cast<int>(i), result);
    }
  }

  void sampled(int launch, const Case& c) override { progress_.measuring(pace_, launch, c); }
  bool may_count_again() const override { return looking_costs_within(kAffordableEvidence); }
  /// Returns whether the budget is used up; a soak's launches keep to it as wholes.
  bool out_of_budget() const override { return !plan_.is_soak && pace_.out_of_budget(); }

  const RunPlan& plan_;
  RunWorld& world_;
  Record& record_;
  JournalWriter& journal_;
  RunProgress& progress_;
  MeasurementSettings settings_;
  RaceField field_;
  std::vector<int> failed_starts_;  ///< by variant: launches since the last one that was up
  int restarts_ = 0;
  JobLosses losses_;
  bool some_lost_ = false;  ///< of all jobs
  std::optional<MachineError> first_problem_;
  bool machine_known_ = false;
  /// Head of what an earlier part of the run left; absent where this is all of it.
  std::optional<Record> earlier_;
  bool described_ = false;     ///< what is found once, by the first jobs that are up
  bool journal_told_ = false;  ///< that it could not be written
  RunPace pace_;
  NeighbourWatch neighbours_;
  HostWatch host_;
  GpuWatch gpus_;
  SoakPace soak_;
};

}  // namespace

void run(const RunPlan& plan, RunWorld& world, Record& record, JournalWriter& journal,
         RunProgress& progress) {
  Run measuring(plan, world, record, journal, progress);
  try {
    measuring.execute();
  } catch (...) {
    measuring.sum_up();
    throw;
  }
  measuring.sum_up();
}

}  // namespace linkgain
