#include "linkgain/coordinator/run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkgain/coordinator/measurement.hpp"
#include "linkgain/coordinator/signals.hpp"

namespace linkgain {
namespace {

/// Measuring time that a case may take on average where no budget is given. CPUs' timings scatter
/// more than GPUs', so their rounds get longer.
constexpr Seconds kTimePerGpuCase{0.36};
constexpr Seconds kTimePerCpuCase{1.5};
/// Short runs may take this long in all, so that few cases get nearer to the precision asked for.
constexpr Seconds kTimeOfShortRun{10.0};
/// Part of a budget's share that goes into rounds; the rest is for opening, verifying and closing.
constexpr double kSampledShare = 0.85;
constexpr Seconds kFarewell{10.0};

class Run {
 public:
  Run(const RunPlan& plan, const RunWorld& world, Record& record, JournalWriter& journal,
      Progress& progress);
  void execute();

 private:
  void launch(int number, const std::vector<int>& variants);
  void start(int number, const std::vector<int>& variants);
  void greet(int number);
  void adopt(const VariantJob& job, const protocol::HelloReply& reply);
  void write_head();
  void measure(int index, int number);
  void keep(int index, int number);
  void skip(int index, const std::string& reason, const std::string& stopped);
  void lost(const VariantJob& job, const Error& error);
  bool all_gave_up() const;
  StoppingRule rule();
  bool out_of_budget() const;
  double seconds_left() const;
  double elapsed() const { return world_.clock().value - start_; }

  const RunPlan& plan_;
  const RunWorld& world_;
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
  double start_;
  double measured_ = 0.0;  ///< seconds spent on finished steps
  int step_ = 0;
  int steps_;
};

Run::Run(const RunPlan& plan, const RunWorld& world, Record& record, JournalWriter& journal,
         Progress& progress)
    : plan_(plan),
      world_(world),
      record_(record),
      journal_(journal),
      progress_(progress),
      hellos_(plan.variants.size()),
      gave_up_(plan.variants.size(), false),
      start_(world.clock().value) {
  const int passes = plan.sequential ? static_cast<int>(plan.variants.size()) : 1;
  steps_ = static_cast<int>(plan.cases.size()) * plan.launches * passes;
  settings_.sample_target = plan.sample_target;
  settings_.deadline = plan.deadline;
  settings_.precision = plan.precision;
  settings_.clock = world.clock;
  settings_.warn = [this](const Warning& warning) {
    record_.warnings.push_back(warning);
    if (head_written_) journal_.write_warning(warning);
    progress_.note(fmt::format("warning: {}", warning.text));
  };
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

void Run::execute() {
  std::vector<int> all;
  for (std::size_t i = 0; i < plan_.variants.size(); ++i) all.push_back(static_cast<int>(i));
  for (int number = 0; number < plan_.launches; ++number) {
    if (number > 0 && (out_of_budget() || all_gave_up())) break;
    if (!plan_.sequential) {
      launch(number, all);
      continue;
    }
    for (int variant : all) launch(number, {variant});
  }
  const bool lost = std::find(gave_up_.begin(), gave_up_.end(), true) != gave_up_.end();
  record_.status = lost ? "job lost" : "complete";
}

void Run::launch(int number, const std::vector<int>& variants) {
  start(number, variants);
  greet(number);
  for (std::size_t i = 0; i < record_.cases.size(); ++i) measure(static_cast<int>(i), number);
  for (VariantJob& job : jobs_) {
    try {
      if (job.job) job.job->bye(kFarewell);
    } catch (const JobLost& loss) {
      progress_.note(fmt::format("warning: {}", loss.what()));
    }
  }
  jobs_.clear();
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

void Run::greet(int number) {
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
  if (any && number == 0) write_head();
  if (!head_written_ && all_gave_up()) throw *first_problem_;
}

void Run::lost(const VariantJob& job, const Error& error) {
  gave_up_[static_cast<std::size_t>(job.variant)] = true;
  if (!first_problem_) first_problem_.emplace(error.what(), error.advice());
  settings_.warn(
      {"job-lost", fmt::format("variant {}: {}", job.name, error.what()), error.advice()});
}

void Run::adopt(const VariantJob& job, const protocol::HelloReply& reply) {
  const auto place = static_cast<std::size_t>(job.variant);
  hellos_[place] = reply;
  record_.settings.environment_in_force[place] = reply.environment;
  if (machine_known_) return;
  record_.machine = reply.machine;
  machine_known_ = true;
  progress_.note(fmt::format("{}: {}, {} cases, variants up", record_.machine.host,
                             describe_ranks(record_.machine), plan_.cases.size()));
}

/// One variant after the other, the head is written again with what each adds.
void Run::write_head() {
  journal_.write_head(record_);
  if (head_written_) return;
  head_written_ = true;
  for (const Warning& warning : record_.warnings) journal_.write_warning(warning);
}

bool Run::all_gave_up() const {
  return std::find(gave_up_.begin(), gave_up_.end(), false) == gave_up_.end();
}

bool Run::out_of_budget() const { return plan_.budget && elapsed() >= plan_.budget->value; }

double Run::seconds_left() const {
  if (step_ == 0) return -1.0;
  const double by_pace = measured_ / step_ * (steps_ - step_);
  return plan_.budget ? std::min(by_pace, plan_.budget->value - elapsed()) : by_pace;
}

/// What earlier cases left of their time is there for later ones.
StoppingRule Run::rule() {
  const double per_case =
      std::max((plan_.backend == BackendKind::mpi ? kTimePerCpuCase : kTimePerGpuCase).value,
               kTimeOfShortRun.value / steps_);
  StoppingRule::Limits limits;
  limits.precision = plan_.precision;
  limits.most_time = Seconds{std::max(per_case, per_case * (step_ + 1) - measured_)};
  if (plan_.budget) {
    const double share = (plan_.budget->value - elapsed()) / std::max(1, steps_ - step_);
    limits.most_time = Seconds{std::max(0.0, kSampledShare * share)};
  }
  return StoppingRule(limits);
}

/// Notes why this launch's variants were not measured, where no earlier launch measured them.
void Run::skip(int index, const std::string& reason, const std::string& stopped) {
  CaseResult& result = record_.cases[static_cast<std::size_t>(index)];
  for (const VariantJob& job : jobs_) {
    VariantResult& variant = result.variants[static_cast<std::size_t>(job.variant)];
    if (!variant.time && !variant.skipped) variant.skipped = reason;
  }
  if (result.stopped.empty() || result.stopped == kNothingToCompare) result.stopped = stopped;
  if (head_written_) journal_.write_case(index, result, record_.samples);
}

/// Brings the case's numbers up to date and writes them down.
void Run::keep(int index, int number) {
  CaseResult& result = record_.cases[static_cast<std::size_t>(index)];
  summarise(result, record_.samples, index);
  // Where the variants run one after the other no rule can stop them.
  if (!result.ratios.empty() && result.stopped == kNothingToCompare) {
    result.stopped = "out of rounds";
  }
  settle(result, plan_.precision);
  for (const VariantJob& job : jobs_) {
    const auto place = static_cast<std::size_t>(job.variant);
    VariantResult& variant = result.variants[place];
    if (variant.skipped) continue;
    const Path found = world_.find_path(job.variant, number, hellos_[place]);
    if (found != Path::unknown) variant.path = found;
  }
  journal_.write_case(index, result, record_.samples);
}

void Run::measure(int index, int number) {
  const bool any = std::any_of(jobs_.begin(), jobs_.end(), [](const auto& j) { return !!j.job; });
  if (!any) return skip(index, "the job was lost", "job lost");
  if (out_of_budget()) return skip(index, "the time budget was used up", "out of time");
  CaseResult& result = record_.cases[static_cast<std::size_t>(index)];
  const double before = world_.clock().value;
  settings_.progress = [&](int round) {
    progress_.measuring(step_ + 1, steps_, result.definition, round, seconds_left());
  };
  try {
    measure_case(jobs_, result, record_.samples, index, number, rule(), settings_);
  } catch (const Interrupted&) {
    keep(index, number);
    throw;
  }
  for (const VariantJob& job : jobs_) {
    if (!job.job) gave_up_[static_cast<std::size_t>(job.variant)] = true;
  }
  keep(index, number);
  measured_ += world_.clock().value - before;
  ++step_;
  progress_.finished(step_, steps_, result);
}

}  // namespace

void run(const RunPlan& plan, const RunWorld& world, Record& record, JournalWriter& journal,
         Progress& progress) {
  Run(plan, world, record, journal, progress).execute();
}

}  // namespace linkgain
