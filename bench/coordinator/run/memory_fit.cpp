#include "memory_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/buffer_plan.hpp"

namespace linkgain {
namespace {

/// A job's context, communicator and graphs on its GPU beside the buffers.
constexpr std::int64_t kJobOverheadBytes = std::int64_t{1} << 30;
/// No memory holds a case of this size; the sums of several jobs still fit into 64 bits.
constexpr std::int64_t kBeyondAllMemory = std::int64_t{1} << 50;

std::string gibibytes(std::int64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

bool is_a_training(const Case& c) { return c.training.has_value(); }

/// Bytes that a case takes on the GPU that holds most of it, or on the host for all its ranks.
std::int64_t case_bytes(const Case& c, BackendKind backend) {
  const bool host = backend == BackendKind::mpi;
  if (c.training) return training_memory(*c.training) * (host ? c.ranks : 1);
  if (c.size.value >= kBeyondAllMemory) return host ? kBeyondAllMemory * c.ranks : kBeyondAllMemory;
  const BufferPlan buffers = plan_buffers(c, kLargestCache);
  return host ? total_bytes(c, buffers) : most_bytes(c, buffers);
}

/// What the cases of a plan are held against.
class MemoryFit {
 public:
  MemoryFit(const RunOptions& options, std::int64_t memory, RunPlan& plan)
      : options_(options),
        memory_(memory),
        plan_(plan),
        jobs_(static_cast<std::int64_t>(plan.variants.size())),
        at_once_(options.sequential == false ? jobs_ : 1),
        kind_(plan.backend == BackendKind::nccl ? "GPU" : "host") {}

  void leave_out();
  void choose_schedule();

 private:
  /// Bytes of one job with this case. Ranks on several hosts share them evenly.
  std::int64_t need(const Case& c) const {
    const std::int64_t bytes = case_bytes(c, plan_.backend);
    return plan_.backend == BackendKind::mpi ? bytes / plan_.hosts : bytes + kJobOverheadBytes;
  }

  bool fits(const Case& c, std::int64_t jobs) const { return need(c) * jobs <= memory_; }
  const Case& largest(const std::vector<Case>& cases) const;
  bool is_asked_for(const Case& c) const;
  std::string smaller_training(const Case& c, std::int64_t jobs) const;
  [[noreturn]] void refuse(const Case& c) const;
  Warning warning_of(const std::vector<Case>& left_out) const;

  const RunOptions& options_;
  std::int64_t memory_;
  RunPlan& plan_;
  std::int64_t jobs_;     ///< one for each variant
  std::int64_t at_once_;  ///< of these, that must hold a case together
  std::string_view kind_;
};

/// Of those of its size the first.
const Case& MemoryFit::largest(const std::vector<Case>& cases) const {
  return *std::max_element(cases.begin(), cases.end(),
                           [&](const Case& a, const Case& b) { return need(a) < need(b); });
}

bool MemoryFit::is_asked_for(const Case& c) const {
  if (!c.training) return !options_.sizes.empty();
  const auto& only = options_.operations;
  return std::find(only.begin(), only.end(), c.operation) != only.end() || options_.steps ||
         options_.tokens || !(options_.training == TrainingSelection{});
}

/// What would have a training like this one fit: options with which `jobs` fit together.
std::string MemoryFit::smaller_training(const Case& c, std::int64_t jobs) const {
  Case smaller = c;
  while (--smaller.training->samples >= 1) {
    if (fits(smaller, jobs)) return fmt::format("--batch {}", smaller.training->samples);
  }
  smaller.training->samples = 1;
  while ((smaller.training->length /= 2) >= 1) {
    if (!fits(smaller, jobs)) continue;
    return fmt::format("--batch 1 --sequence {}", smaller.training->length);
  }
  if (c.training->model == ModelSize::tiny) return "fewer ranks (--np)";
  return fmt::format("--model-size {}", name_of(ModelSize::tiny));
}

void MemoryFit::refuse(const Case& c) const {
  if (fits(c, 1)) {
    throw UsageError(
        fmt::format("the variants' jobs do not fit into memory together: each of {} needs {} for "
                    "{}, {} of {} memory are there",
                    jobs_, gibibytes(need(c)), case_name(c), gibibytes(memory_), kind_),
        c.training ? fmt::format("leave out --schedule paired, or train with {}",
                                 smaller_training(c, jobs_))
                   : "leave out --schedule paired, or measure smaller sizes with --sizes");
  }
  throw UsageError(fmt::format("{} needs {} of {} memory, {} are there",
                               c.training ? case_name(c) : readable_bytes(c.size),
                               gibibytes(need(c)), kind_, gibibytes(memory_)),
                   c.training ? fmt::format("train with {}", smaller_training(c, at_once_))
                              : "measure smaller sizes with --sizes");
}

void MemoryFit::leave_out() {
  const auto is_too_large = [&](const Case& c) { return !fits(c, at_once_); };
  std::vector<Case> all;
  std::vector<Case> asked_for;
  for (const Case& c : plan_.cases) {
    if (!is_too_large(c)) continue;
    all.push_back(c);
    if (is_asked_for(c)) asked_for.push_back(c);
  }
  if (all.empty()) return;
  if (!asked_for.empty()) refuse(largest(asked_for));
  if (all.size() == plan_.cases.size()) refuse(largest(all));
  std::erase_if(plan_.cases, is_too_large);
  if (std::none_of(plan_.cases.begin(), plan_.cases.end(), is_a_training)) plan_.training.reset();
  plan_.warnings.push_back(warning_of(all));
}

Warning MemoryFit::warning_of(const std::vector<Case>& left_out) const {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> names;
  for (const Case& c : left_out) {
    if (names.size() == kNamed) break;
    names.push_back(fmt::format("{} ({})", case_name(c), gibibytes(need(c))));
  }
  const std::size_t rest = left_out.size() - names.size();
  std::vector<std::string> advice;
  const auto training = std::find_if(left_out.begin(), left_out.end(), is_a_training);
  if (training != left_out.end()) {
    advice.push_back(fmt::format("measure the training with --only {} {}",
                                 name_of(training->operation),
                                 smaller_training(*training, at_once_)));
  }
  if (!std::all_of(left_out.begin(), left_out.end(), is_a_training)) {
    advice.emplace_back("ask for smaller sizes with --sizes");
  }
  return {
      "left-out",
      fmt::format("left out, because {} of {} memory do not hold {} with: {}{}", gibibytes(memory_),
                  kind_, at_once_ == 1 ? "a job" : fmt::format("{} jobs at once", at_once_),
                  fmt::join(names, ", "), rest > 0 ? fmt::format(" and {} more", rest) : ""),
      fmt::format("{}", fmt::join(advice, "; "))};
}

void MemoryFit::choose_schedule() {
  const Case& c = largest(plan_.cases);
  if (plan_.sequential || fits(c, jobs_)) return;
  plan_.sequential = true;
  plan_.warnings.push_back(
      {"sequential",
       fmt::format("the variants ran one after the other: memory is too short for all at once, of "
                   "which each takes up to {} of {} ({})",
                   gibibytes(need(c)), gibibytes(memory_), case_name(c)),
       c.training ? fmt::format("drift between them is not cancelled; train with {} to have them "
                                "in turn, or leave the training out with --only",
                                smaller_training(c, jobs_))
                  : "drift between them is not cancelled; measure smaller sizes with --sizes to "
                    "have them in turn"});
}

}  // namespace

void fit_memory(const RunOptions& options, const Site& site, RunPlan& plan) {
  const bool gpu = plan.backend == BackendKind::nccl;
  const std::optional<std::int64_t> memory = gpu ? site.gpu_memory_bytes : site.host_memory_bytes;
  if (!memory || plan.cases.empty()) return;
  MemoryFit fit(options, *memory, plan);
  fit.leave_out();
  fit.choose_schedule();
}

}  // namespace linkgain
