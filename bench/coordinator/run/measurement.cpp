#include "measurement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkgain/cases/case_label.hpp"
#include "linkgain/record/limits.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/record/warning.hpp"

namespace linkgain {
namespace {

/// Says why in the result of a variant that no launch measured.
void note_loss(VariantResult& result) {
  if (!result.time && !result.skipped) result.skipped = Skip{SkipReason::job_lost};
}

/// Returns whether two trainings have the same matrix products, whatever they communicate.
bool multiply_alike(const TrainingParameters& one, const TrainingParameters& other) {
  return one.model == other.model && one.precision == other.precision &&
         one.samples == other.samples && one.length == other.length;
}

/// One case in one launch, from opening to closing.
class CaseRun {
 public:
  CaseRun(std::vector<VariantJob>& jobs, CaseResult& result, const CasePlace& place,
          const MeasurementSettings& settings)
      : jobs_(jobs),
        result_(result),
        place_(place),
        next_sequence_(place.samples_before),
        settings_(settings),
        sampled_(jobs.size()),
        handling_(static_cast<int>(jobs.size()),
                  seed_of(Order::opening, settings.plan.seed, place.launch, place.case_index)) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      traffic_.push_back(count_by(i, default_plan(result.definition)));
    }
  }

  void open() {
    for (const int index : handling_.next()) {
      const auto place = static_cast<std::size_t>(index);
      if (!jobs_[place].job) {
        note_loss(result_of(place));
      } else if (!is_cut()) {
        open_in(place);
      }
    }
  }

  void sample(int rounds) {
    const unsigned seed =
        seed_of(Order::rounds, settings_.plan.seed, place_.launch, place_.case_index);
    if (opened_.empty() && result_.stopped != StopReason::job_lost)
      result_.stopped = why_none_is_open();
    BalancedOrder order(std::max(1, static_cast<int>(opened_.size())), seed);
    for (int round = 0; round < rounds && !opened_.empty() && !is_cut(); ++round) {
      settings_.observer.sampled(place_.launch, result_.definition);
      if (sample_round(order, round)) continue;
      order = BalancedOrder(std::max(1, static_cast<int>(opened_.size())), seed);
    }
    if (cut_) return note_cut();
    if (opened_.empty() || result_.stopped == StopReason::job_lost) return;
    result_.stopped = is_compared() ? StopReason::out_of_rounds : StopReason::nothing_to_compare;
  }

  void finish() {
    keep_evidence();
    for (const int index : handling_.next()) {
      const auto found =
          std::ranges::find(opened_, static_cast<std::size_t>(index), &Opened::place);
      if (found == opened_.end()) continue;
      const Opened one = *found;
      Job& job = *jobs_[one.place].job;
      // A graph verifies all its operations at once.
      const double operations =
          std::max(protocol::kVerifiedOperations, one.reply.execution.operations_per_graph);
      const Seconds deadline{deadline_for(one, operations).value + time_for_memory().value};
      or_lose(one.place, [&] {
        if (sampled_[one.place]) {
          const Verification verification = job.verify(one.reply.handle, deadline);
          worked();
          verified(one.place, verification);
        }
        job.close(one.reply.handle, deadline);
      });
    }
  }

 private:
  struct Opened {
    std::size_t place;  ///< in jobs_
    protocol::OpenReply reply;
  };
  /// One variant's part of a round.
  struct Turn {
    int round;
    int position;
  };

  /// Names the case as the record of this job's machine does.
  std::string spoken_in(std::size_t place) const {
    return spoken_case(result_.definition, word_for_ranks(jobs_[place].hello.machine));
  }

  /// Notes a job's refusal; what earlier launches measured stands.
  void refused_by(std::size_t place, const JobRefused& refusal) {
    VariantResult& result = result_of(place);
    if (!result.time) {
      result.skipped = Skip{.refusal = refusal.what()};
      return;
    }
    settings_.observer.warn(
        {name_of(WarningCode::launch_refused),
         fmt::format("{} was refused in launch {} of variant {}: {}", spoken_in(place),
                     place_.launch + 1, result.variant, refusal.what()),
         refusal.advice()});
  }

  void open_in(std::size_t place) {
    if (!uses_link(result_.definition) && jobs_[place].variant != 0) {
      result_of(place).skipped =
          Skip{.refusal = "uses no link between ranks, so one variant is enough"};
      return;
    }
    try {
      const protocol::OpenReply reply = jobs_[place].job->open(
          {case_name(result_.definition), settings_.plan.sample_target, settings_.traffic.counting,
           rested(), operations_before(place), products()},
          Seconds{settings_.plan.timeout.value + time_for_memory().value});
      worked();
      took(reply);
      if (reply.plan) {
        traffic_[place] = count_by(place, *reply.plan);
        settings_.observer.probing_took(reply.plan_cost);
      }
      result_of(place).execution = reply.execution;
      result_of(place).skipped.reset();
      opened_.push_back({place, reply});
    } catch (const JobRefused& refusal) {
      refused_by(place, refusal);
    } catch (const JobLost& loss) {
      lose(place, loss);
    }
  }

  /// Returns whether the case is cut; asked before another variant is opened or another batch
  /// begins.
  bool is_cut() {
    cut_ = cut_ || settings_.observer.out_of_budget();
    return cut_;
  }

  void note_cut() {
    for (std::size_t place = 0; place < jobs_.size(); ++place) {
      VariantResult& result = result_of(place);
      if (!sampled_[place] && !result.time && !result.skipped) {
        result.skipped = Skip{SkipReason::out_of_time};
      }
    }
    if (result_.stopped != StopReason::job_lost) result_.stopped = StopReason::out_of_time;
  }

  /// Runs a round; false when a job was lost. The others' part of the round is complete all the
  /// same, unless the budget ends in it.
  bool sample_round(BalancedOrder& order, int round) {
    const std::vector<Opened> opened = opened_;
    last_reading_.reset();
    const TrafficSettings& traffic = settings_.traffic;
    counts_round_ = traffic.counting && round == 0 &&
                    (place_.launch == 0 || settings_.observer.may_count_again());
    int position = 0;
    for (int index : order.next()) {
      if (is_cut()) break;
      const Opened& one = opened[static_cast<std::size_t>(index)];
      or_lose(one.place, [&] { sample_one(one, {round, position++}); });
    }
    return opened_.size() == opened.size();
  }

  void sample_one(const Opened& opened, const Turn& turn) {
    const std::int64_t operations = opened.reply.execution.operations_per_sample;
    const protocol::RunReply reply = run_batch(opened, operations);
    worked();
    settings_.observer.health_took(reply.health_time);
    Sample sample;
    sample.sequence = next_sequence_++;
    sample.variant = jobs_[opened.place].variant;
    sample.launch = place_.launch;
    sample.round = turn.round;
    sample.position = turn.position;
    sample.operations = operations;
    sample.times = reply.times;
    sample.health = reply.health;
    sample.loss = reply.loss;
    sample.unverified = true;
    if (!(sample.time().value > 0.0)) {
      throw JobLost(fmt::format("a batch of {} operations took no time on any rank", operations),
                    "linkgain and linkgain-bench must come from the same build");
    }
    sampled_[opened.place] = true;
    result_.samples.push_back(std::move(sample));
  }

  /// Runs a batch; some rounds' batches are counted, outside the time that is taken. In such a
  /// round nothing runs between one job's batch and the next one's.
  protocol::RunReply run_batch(const Opened& opened, std::int64_t operations) {
    Job& job = *jobs_[opened.place].job;
    const Seconds deadline = deadline_for(opened, static_cast<double>(operations));
    const protocol::Run run{opened.reply.handle, operations, rested()};
    if (!counts_round_) return job.run(run, deadline);
    const protocol::CountersReply before = last_reading_ ? *last_reading_ : read_counters(job);
    last_reading_.reset();
    protocol::RunReply reply = job.run(run, deadline);
    const protocol::CountersReply after = read_counters(job);
    traffic_[opened.place].add(before, after,
                               operations + opened.reply.execution.discarded_per_sample);
    if (settings_.traffic.same_gpus) last_reading_ = after;
    return reply;
  }

  protocol::CountersReply read_counters(Job& job) const {
    const double start = settings_.observer.now().value;
    protocol::CountersReply reply = job.counters(settings_.plan.timeout);
    settings_.observer.counting_took(Seconds{settings_.observer.now().value - start});
    return reply;
  }

  void took(const protocol::OpenReply& reply) const {
    RunObserver& observer = settings_.observer;
    observer.spent(&TimeSpent::buffers_s, reply.buffers_time);
    observer.spent(&TimeSpent::clocks_s, reply.clocks_time);
    observer.spent(&TimeSpent::first_operations_s, reply.first_operations_time);
    observer.spent(&TimeSpent::calibrating_s, reply.calibrating_time);
  }

  /// Returns whether every GPU of the run works in this case.
  bool takes_all_gpus() const {
    const Case& c = result_.definition;
    return settings_.traffic.same_gpus && (!c.pair || c.ranks == 2);
  }

  std::optional<Seconds> rested() const {
    return takes_all_gpus() ? settings_.observer.rested() : std::nullopt;
  }

  void worked() const {
    if (takes_all_gpus()) settings_.observer.worked();
  }

  /// Returns the operations of a sample of an earlier launch of this variant.
  std::optional<std::int64_t> operations_before(std::size_t place) {
    const VariantResult& result = result_of(place);
    return result.time ? std::optional(result.execution.operations_per_sample) : std::nullopt;
  }

  /// Returns the products of any variant: they are to be the same in all.
  std::vector<std::string> products() const {
    for (const Opened& opened : opened_) {
      if (!opened.reply.execution.products.empty()) return opened.reply.execution.products;
    }
    return place_.products;
  }

  /// Adds the evidence to what earlier launches counted.
  void keep_evidence() {
    for (std::size_t place = 0; place < jobs_.size(); ++place) {
      const std::optional<TrafficEvidence>& found = traffic_[place].evidence();
      std::optional<TrafficEvidence>& known = result_of(place).evidence;
      if (found) known = known ? combine(*known, *found) : *found;
    }
  }

  /// Notes a verification; what an earlier launch found wrong stands.
  void verified(std::size_t place, const Verification& verification) {
    auto& known = result_of(place).verification;
    if (!known || known->wrong == 0) known = verification;
    for (Sample& sample : result_.samples) {
      if (sample.launch == place_.launch && sample.variant == jobs_[place].variant) {
        sample.unverified = false;
      }
    }
  }

  /// Returns whether this launch sampled the first variant and another one.
  bool is_compared() const { return sampled_[0] && std::ranges::count(sampled_, true) > 1; }

  /// Says why no variant is open: where they run one after the other an earlier one may have been
  /// all there is to measure.
  StopReason why_none_is_open() const {
    const bool measured = std::ranges::any_of(
        result_.variants, [](const VariantResult& each) { return each.time.has_value(); });
    return measured ? StopReason::nothing_to_compare : StopReason::skipped;
  }

  /// Returns the time to allocate memory, to fill it, or to check it; the first operations are
  /// among it, however slow the path.
  Seconds time_for_memory() const {
    constexpr double kSlowestBytesPerSecond = 0.1e9;
    return Seconds{static_cast<double>(result_.definition.size.value) / kSlowestBytesPerSecond};
  }

  Seconds deadline_for(const Opened& opened, double operations) const {
    constexpr double kSlowdownAllowed = 20.0;
    const auto discarded = static_cast<double>(opened.reply.execution.discarded_per_sample);
    return Seconds{settings_.plan.timeout.value +
                   kSlowdownAllowed * (operations + discarded) * opened.reply.per_operation.value};
  }

  TrafficCount count_by(std::size_t place, const TransferPlan& plan) const {
    return {result_.definition, plan, settings_.traffic,
            jobs_[place].hello.machine.software.nccl_library.value_or("")};
  }

  VariantResult& result_of(std::size_t place) {
    return result_.variants.at(static_cast<std::size_t>(jobs_[place].variant));
  }

  void lose(std::size_t place, const Error& loss) {
    jobs_[place].job.reset();
    last_reading_.reset();
    std::erase_if(opened_, [place](const Opened& opened) { return opened.place == place; });
    result_.stopped = StopReason::job_lost;
    if (!sampled_[place]) note_loss(result_of(place));
    settings_.observer.warn({name_of(WarningCode::job_lost),
                             fmt::format("{}: {}", spoken_in(place), loss.what()), loss.advice()});
  }

  /// Does a step in a job; one that refuses it, too, is lost to the case.
  void or_lose(std::size_t place, const auto& step) {
    try {
      step();
    } catch (const JobLost& loss) {
      lose(place, loss);
    } catch (const JobRefused& refusal) {
      lose(place, refusal);
    }
  }

  std::vector<VariantJob>& jobs_;
  CaseResult& result_;
  CasePlace place_;
  int next_sequence_;
  const MeasurementSettings& settings_;
  std::vector<Opened> opened_;
  std::vector<bool> sampled_;          ///< in this launch, by place
  bool cut_ = false;                   ///< not all of it was begun within the budget
  BalancedOrder handling_;             ///< of opening and verifying
  std::vector<TrafficCount> traffic_;  ///< this launch's, by place
  /// The counters after the round's last batch, where no job has run since.
  bool counts_round_ = false;
  std::optional<protocol::CountersReply> last_reading_;
};

/// Keeps of each GPU's PCIe link what is more: an idle GPU may have trained it down.
void keep_highest_links(const Machine& seen, Machine& machine) {
  for (std::size_t i = 0; i < std::min(seen.ranks.size(), machine.ranks.size()); ++i) {
    const std::optional<GpuInfo>& busy = seen.ranks[i].gpu;
    std::optional<GpuInfo>& kept = machine.ranks[i].gpu;
    if (!busy || !kept) continue;
    kept->pcie_generation = std::max(kept->pcie_generation, busy->pcie_generation);
    kept->pcie_width = std::max(kept->pcie_width, busy->pcie_width);
  }
}

}  // namespace

void give_up(std::vector<VariantJob>& jobs) noexcept {
  for (VariantJob& job : jobs) {
    if (job.job) job.job->give_up();
  }
}

bool on_same_gpus(const std::vector<VariantJob>& jobs, const Machine& machine) {
  return std::ranges::all_of(jobs, [&](const VariantJob& job) {
    return !job.job || same_gpus(job.hello.machine, machine);
  });
}

void end_together(std::vector<VariantJob>& jobs, Seconds deadline, RunObserver& observer) {
  const auto each = [&](const auto& step) {
    for (VariantJob& job : jobs) {
      try {
        if (job.job) step(*job.job);
      } catch (const JobLost& loss) {
        observer.warn({name_of(WarningCode::job_ended_badly), loss.what(), loss.advice()});
        job.job.reset();
      } catch (...) {
        give_up(jobs);
        throw;
      }
    }
  };
  each([=](Job& job) { job.ask_to_end(deadline); });
  // The deadline of all, however many hang. They end beside each other, for which many jobs take
  // longer.
  constexpr double kForEach = 0.5;
  const Deadline end(Seconds{deadline.value + kForEach * static_cast<double>(jobs.size())});
  each([&](Job& job) { job.wait_for_end(end.remaining()); });
  jobs.clear();
}

KeptOut::KeptOut(std::vector<VariantJob>& jobs, int index, JobLosses& losses,
                 const std::function<bool(int)>& races)
    : jobs_(jobs), index_(index), losses_(losses) {
  for (VariantJob& job : jobs) {
    constexpr int kMostLosses = 2;
    const bool out = losses[{index, job.variant}] >= kMostLosses || !races(job.variant);
    taken_.push_back(out ? std::move(job.job) : nullptr);
    measures_.push_back(job.job != nullptr);
  }
}

KeptOut::~KeptOut() {
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (measures_[i] && !jobs_[i].job) {
      ++losses_[{index_, jobs_[i].variant}];
      jobs_[i].lost = true;
    }
    if (taken_[i]) jobs_[i].job = std::move(taken_[i]);
  }
}

unsigned seed_of(Order order, unsigned run_seed, int launch, int case_index) {
  return run_seed + static_cast<unsigned>(order) * 0x85ebca77U +
         static_cast<unsigned>(launch) * 0xc2b2ae3dU + static_cast<unsigned>(case_index) * 7919U;
}

std::vector<std::string> products_before(const Record& record, const Case& c) {
  if (!c.training) return {};
  for (const CaseResult& result : record.cases) {
    const std::optional<TrainingParameters>& other = result.definition.training;
    if (!other || !multiply_alike(*other, *c.training)) continue;
    for (const VariantResult& variant : result.variants) {
      if (!variant.execution.products.empty()) return variant.execution.products;
    }
  }
  return {};
}

void measure_case(std::vector<VariantJob>& jobs, CaseResult& result, const CasePlace& place,
                  int rounds, const MeasurementSettings& settings) {
  const bool lost_before = result.stopped == StopReason::job_lost;
  result.stopped = StopReason::interrupted;
  result.converged = false;
  CaseRun run(jobs, result, place, settings);
  double last = settings.observer.now().value;
  const auto spent = [&](double TimeSpent::*what) {
    const double before = std::exchange(last, settings.observer.now().value);
    settings.observer.spent(what, Seconds{last - before});
  };
  run.open();
  spent(&TimeSpent::opening_s);
  run.sample(rounds);
  spent(&TimeSpent::sampling_s);
  run.finish();
  spent(&TimeSpent::verifying_s);
  if (lost_before) result.stopped = StopReason::job_lost;
  summarise(result);
}

Seconds time_of_batches(const CaseResult& result, int first) {
  Seconds time;
  for (const Sample& sample : result.samples) {
    if (sample.sequence < first) continue;
    time.value += sample.time().value * static_cast<double>(sample.operations);
  }
  return time;
}

void locate(VariantResult& variant, const Case& c, const Machine& machine, Path by_transport) {
  if (c.training && !uses_link(c)) return;  // nothing was carried
  const Path found =
      variant.evidence ? path_by_evidence(by_transport, *variant.evidence) : by_transport;
  if (found != Path::unknown) variant.path = found;
  note_limit(variant, c, machine);
}

TrafficCount::TrafficCount(const Case& c, TransferPlan plan, const TrafficSettings& settings,
                           std::string_view nccl)
    : case_(c),
      plan_(std::move(plan)),
      several_hosts_(settings.several_hosts),
      why_no_algorithm_(nccl.empty() || has_log_switch(nccl) ? kNoAlgorithmNamed
                                                             : kCallsNotLogged) {}

void TrafficCount::add(const protocol::CountersReply& before, const protocol::CountersReply& after,
                       std::int64_t operations) {
  std::vector<LinkCounters> growths;
  for (std::size_t rank = 0; rank < std::min(before.ranks.size(), after.ranks.size()); ++rank) {
    growths.push_back(growth(before.ranks[rank], after.ranks[rank]));
  }
  TrafficEvidence found =
      assess(case_, plan_, operations, growths, several_hosts_, why_no_algorithm_);
  if (!found.nvlink_sent && !after.reason.empty()) found.reason += ": " + after.reason;
  const bool pcie = found.pcie_sent && found.pcie_received;
  if (!pcie && !after.pcie_reason.empty()) found.pcie_reason += ": " + after.pcie_reason;
  evidence_ = evidence_ ? combine(*evidence_, found) : found;
}

bool has_host_copies(const Machine& machine) {
  return std::ranges::any_of(machine.ranks,
                             [](const RankInfo& rank) { return rank.host_copy.has_value(); });
}

void read_host_copies(Job& job, Seconds deadline, Machine& machine, RunObserver& observer) {
  try {
    const auto rates = job.host_copy(deadline);
    for (std::size_t i = 0; i < std::min(rates.size(), machine.ranks.size()); ++i) {
      machine.ranks[i].host_copy = rates[i];
    }
  } catch (const JobRefused& refusal) {
    observer.warn(
        {name_of(WarningCode::no_host_copy),
         fmt::format("the rate of pinned host copies was not measured: {}", refusal.what()),
         refusal.advice()});
  }
  if (!has_host_copies(machine)) return;
  try {
    keep_highest_links(job.hello(deadline).machine, machine);
  } catch (const JobRefused& refusal) {
    observer.warn(
        {name_of(WarningCode::idle_pcie_links),
         fmt::format("PCIe links were read while GPUs were idle alone: {}", refusal.what()),
         refusal.advice()});
  }
}

}  // namespace linkgain
