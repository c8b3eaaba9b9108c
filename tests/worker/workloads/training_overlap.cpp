#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/timing/warm_up.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpt2/training_parameters.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/model/gpu_model.hpp"
#include "linkgain/runtime/session.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "linkgain/workloads/training_operation.hpp"
#include "nccl/api.hpp"
#include "nccl/nccl_calls.hpp"
#include "overlap_parts.hpp"
#include "support/gpu_rank_program.hpp"
#include "timed_communication.hpp"

// Says how far a training's exposed communication is from what the bucket model gives, and why: not
// a test, as what it prints depends on the GPUs. Started by mpirun. See usage().
namespace linkgain::test {
namespace {

/// Events on two streams of the current device, which must outlive it. Events are used again.
class GpuLaneMarks : public LaneMarks {
 public:
  GpuLaneMarks(cudaStream_t model, cudaStream_t communication)
      : model_(model), communication_(communication) {}

 private:
  std::size_t do_put(Lane lane) override {
    if (used_ == events_.size()) events_.emplace_back();
    events_[used_].record(lane == Lane::model ? model_ : communication_);
    return used_++;
  }

  void do_hold_communication(std::size_t mark) override { events_[mark].hold(communication_); }

  std::vector<double> do_read() override {
    std::vector<double> times;
    for (std::size_t i = 0; i < used_; ++i) {
      events_[i].synchronize();
      times.push_back(gpu::elapsed(events_[0], events_[i]).value);
    }
    used_ = 0;
    return times;
  }

  cudaStream_t model_;
  cudaStream_t communication_;
  std::vector<gpu::Event> events_;
  std::size_t used_ = 0;
};

constexpr double kSettling = 3e3;  // us: the host enqueues a round of all-reduces meanwhile

std::unique_ptr<TrainingModel> make_model(kernels::TrainingPrecision precision) {
  GpuModelOptions options;
  options.config = gpt2_config(ModelSize::gpt2);
  options.shape = {4, 1024};
  options.precision = precision;
  return make_gpu_model(options);
}

/// Makes a training so long that the learning rate hardly falls.
TrainingSettings long_training() {
  TrainingSettings settings;
  settings.steps = 1 << 20;
  return settings;
}

/// What is done in turn: training with some operations left out, or operations without training.
struct Arm {
  StepMode mode;
  bool is_training = true;
  std::vector<double> times{};   ///< of a step, of the slowest rank, one for each block
  std::vector<double> marked{};  ///< numbers_of() all watched steps of this rank
};

/// One precision on this rank; all ranks call the same.
class OverlapMeasurement {
 public:
  OverlapMeasurement(Session& session, ncclComm_t communicator,
                     kernels::TrainingPrecision precision, gpu::StreamPriority priority)
      : session_(session),
        model_(make_model(precision)),
        stream_(static_cast<cudaStream_t>(model_->stream())),
        inner_(make_nccl_training_communication(communicator, stream_, priority)),
        marks_(stream_, static_cast<cudaStream_t>(inner_->stream())),
        communication_(new TimedCommunication(std::move(inner_), marks_)),
        run_({std::move(model_), std::unique_ptr<TrainingCommunication>(communication_),
              generated_tokens(gpt2_config(ModelSize::gpt2).vocabulary, 101)},
             long_training()) {
    const std::size_t buckets = run_.plan().buckets.size();
    // All, all but the last, the last, none; watched all and none; and all without training.
    arms_ = {Arm{{}},
             Arm{{.first = 0, .last = buckets - 1}},
             Arm{{.first = buckets - 1}},
             Arm{{.last = 0}},
             Arm{{.last = 0, .is_watched = true}},
             Arm{{.is_watched = true}},
             Arm{{.is_watched = true}, false}};
  }

  /// Blocks of kStepsPerBlock of each arm in turn, then in reverse, `turns` times.
  OverlapFindings measure(int turns) {
    run_block(arms_[kAll]);  // connects
    for (Arm& arm : arms_) run_block(arm);
    for (Arm& arm : arms_) {
      arm.times.clear();
      arm.marked.clear();
    }
    for (int turn = 0; turn < turns; ++turn) {
      for (std::size_t i = 0; i < arms_.size(); ++i) {
        run_block(arms_[turn % 2 == 0 ? i : arms_.size() - 1 - i]);
      }
    }
    return findings();
  }

  std::vector<Bytes> sizes() {
    std::vector<Bytes> sizes;
    for (const GradientBucket& bucket : run_.plan().buckets) {
      sizes.push_back(run_.model().gradients().bytes_of(bucket.range));
    }
    return sizes;
  }

 private:
  static constexpr std::size_t kAll = 0;
  static constexpr std::size_t kWithoutTail = 1;
  static constexpr std::size_t kTail = 2;
  static constexpr std::size_t kNone = 3;
  static constexpr std::size_t kWatchedNone = 4;
  static constexpr std::size_t kWatchedAll = 5;
  static constexpr std::size_t kAlone = 6;

  /// Runs a block of steps and discards the first one.
  void run_block(Arm& arm) {
    session_.barrier();
    if (arm.is_training) {
      train(arm.mode);
      run_.model().start_timing();
      for (int i = 0; i < kStepsPerBlock; ++i) train(arm.mode);
      arm.times.push_back(session_.max(run_.model().stop_timing().value / kStepsPerBlock));
    } else {
      for (int i = 0; i <= kStepsPerBlock; ++i) reduce_alone(arm.mode);
      run_.synchronize();
    }
    if (!arm.mode.is_watched) return;
    const std::vector<StepTimes> steps = communication_->read();
    const std::vector<double> numbers = numbers_of(std::span(steps).subspan(1));
    arm.marked.insert(arm.marked.end(), numbers.begin(), numbers.end());
  }

  void train(const StepMode& mode) {
    communication_->begin_step(mode);
    run_.run_step(next_step_++);
    communication_->end_step();
  }

  /// Performs all operations of a step in their order, so that each finds the caches as others
  /// leave them; the host has enqueued them when the first one starts. What it leaves of the
  /// gradients nobody reads.
  void reduce_alone(const StepMode& mode) {
    gpu::check(kernels::warm_up(stream_, kSettling));
    communication_->begin_step(mode);
    std::vector<CommunicationTicket> tickets;
    for (const GradientBucket& bucket : run_.plan().buckets) {
      tickets.push_back(communication_->all_reduce(run_.model().gradients(), bucket.range));
    }
    for (const CommunicationTicket ticket : tickets) communication_->wait(ticket);
    communication_->end_step();
  }

  /// Returns the steps of all ranks on rank 0; none elsewhere.
  std::vector<RankSteps> gathered(const Arm& arm) {
    const std::vector<double> all = session_.gather(arm.marked);
    std::vector<RankSteps> ranks;
    for (std::size_t from = 0; from < all.size(); from += arm.marked.size()) {
      ranks.push_back(
          steps_of(std::span(all).subspan(from, arm.marked.size()), run_.plan().buckets.size()));
    }
    return ranks;
  }

  OverlapFindings findings() {
    return {.step = median(arms_[kAll].times),
            .step_without = median(arms_[kNone].times),
            .step_without_tail = median(arms_[kWithoutTail].times),
            .step_of_tail = median(arms_[kTail].times),
            .with = gathered(arms_[kWatchedAll]),
            .without = gathered(arms_[kWatchedNone]),
            .alone = gathered(arms_[kAlone])};
  }

  Session& session_;
  std::unique_ptr<TrainingModel> model_;  ///< gone to run_
  cudaStream_t stream_;
  std::unique_ptr<TrainingCommunication> inner_;  ///< gone to communication_
  GpuLaneMarks marks_;
  TimedCommunication* communication_;  ///< run_'s
  TrainingRun run_;
  std::vector<Arm> arms_;
  std::int64_t next_step_ = 0;
};

/// Prints what may matter of the environment; on rank 0.
void print_settings(const OverlapOptions& options) {
  fmt::print("NCCL {}, stream of communication with {} priority", nccl_library_version(),
             options.has_usual_priority ? "usual" : "the highest");
  for (char** each = environ; *each != nullptr; ++each) {
    if (std::string_view(*each).starts_with("NCCL_")) fmt::print(", {}", *each);
  }
  fmt::print("\n");
}

void run(Session& session, const OverlapOptions& options) {
  take_gpu(session);
  const Communicator communicator = make_communicator(session);
  if (session.is_root()) print_settings(options);
  std::ofstream csv;
  if (session.is_root() && !options.csv.empty()) {
    csv.open(options.csv);
    csv << overlap_csv_header();
  }
  for (const kernels::TrainingPrecision precision : options.precisions) {
    const std::string name = text_of(precision);
    if (precision == kernels::TrainingPrecision::bf16 && !gpu::has_bfloat16()) continue;
    OverlapMeasurement measurement(
        session, communicator.get(), precision,
        options.has_usual_priority ? gpu::StreamPriority::usual : gpu::StreamPriority::highest);
    const OverlapFindings findings = measurement.measure(options.turns(kStepsPerBlock));
    if (!session.is_root()) continue;
    fmt::print("\n{}", overlap_text(name, findings, measurement.sizes()));
    std::fflush(stdout);
    csv << overlap_csv(name, findings);
  }
  if (session.is_root() && !options.csv.empty() && !csv.flush()) {
    throw MachineError("cannot write " + options.csv);
  }
}

}  // namespace
}  // namespace linkgain::test

int main(int argc, char** argv) {
  try {
    linkgain::Session session(argc, argv);
    const auto options = linkgain::test::parse_overlap_options({argv + 1, argv + argc});
    if (options && session.ranks() > 1) {
      return linkgain::test::run_or_end_all(session,
                                            [&] { linkgain::test::run(session, *options); });
    }
    if (session.is_root()) fmt::print("{}", linkgain::test::overlap_usage());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
