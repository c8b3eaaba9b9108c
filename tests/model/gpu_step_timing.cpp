// Times training steps of GPT-2 124M on the current GPU, without communication: not a test, as what
// it prints depends on the GPU. See usage().
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_models.hpp"
#include "linkgain/core/units.hpp"
#include "linkgain/gpu/memory_work.hpp"

namespace linkgain {
namespace {

using namespace linkgain::testing;

void usage() {
  fmt::print(
      "usage: gpu_step_timing [--precision fp32|tf32|bf16] [--steps N] [--batch B] [--length T]\n"
      "                       [--dropout P] [--first-choice] [--profile]\n\n"
      "Times training steps of GPT-2 124M on the current GPU: a whole step as the median of N\n"
      "(20) that are enqueued without waiting, and its parts. --first-choice takes cuBLASLt's\n"
      "first algorithm for each product instead of timing them; --profile also times each kernel,\n"
      "with events around it (about a microsecond too much each).\n");
}

struct Options {
  std::vector<kernels::TrainingPrecision> precisions;
  int steps = 20;
  BatchShape shape{4, 1024};
  double dropout = 0.1;
  bool measures_products = true;
  bool profiles = false;
};

/// Event on a stream that the model owns.
class Mark {
 public:
  Mark() { gpu::check(cudaEventCreate(&event_)); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark() { cudaEventDestroy(event_); }

  void record(TrainingModel& model) {
    gpu::check(cudaEventRecord(event_, static_cast<cudaStream_t>(model.stream())));
  }
  double milliseconds_since(const Mark& start) const {
    float time = 0.0F;
    gpu::check(cudaEventElapsedTime(&time, start.event_, event_));
    return time;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Times every work of a step.
class Profile : public StepObserver {
 public:
  explicit Profile(std::unique_ptr<TrainingModel>& model) : model_(model) {}

  /// From now on; what was enqueued before is left out.
  void start() { is_on_ = true; }

  void print(int steps) {
    model_->synchronize();
    is_on_ = false;
    struct Sum {
      int calls = 0;
      double milliseconds = 0.0;
      double operations = 0.0;
      double bytes = 0.0;
    };
    std::map<std::string, Sum> sums;
    double all = 0.0;
    for (const Entry& entry : entries_) {
      Sum& sum = sums[entry.work.name];
      const double time = entry.stop->milliseconds_since(*entry.start);
      ++sum.calls;
      sum.milliseconds += time;
      sum.operations += entry.work.operations;
      sum.bytes += static_cast<double>(entry.work.memory.value);
      all += time;
    }
    std::vector<std::pair<std::string, Sum>> rows(sums.begin(), sums.end());
    std::ranges::sort(rows, [](const auto& a, const auto& b) {
      return a.second.milliseconds > b.second.milliseconds;
    });
    fmt::print("    {:>6} {:>8} {:>6}  {:>12}  {}\n", "calls", "ms/step", "share", "rate", "what");
    for (const auto& [name, sum] : rows) {
      std::string rate;
      if (sum.operations > 0.0) {
        rate = fmt::format("{:.1f} TFLOP/s", sum.operations / sum.milliseconds * 1e-9);
      } else if (sum.bytes > 0.0) {
        rate = fmt::format("{:.0f} GB/s", sum.bytes / sum.milliseconds * 1e-6);
      }
      fmt::print("    {:>6} {:>8.3f} {:>5.1f}%  {:>12}  {}\n", sum.calls / steps,
                 sum.milliseconds / steps, 100.0 * sum.milliseconds / all, rate, name);
    }
    print_parts(all, steps);
  }

 private:
  struct Entry {
    StepWork work;
    std::unique_ptr<Mark> start = std::make_unique<Mark>();
    std::unique_ptr<Mark> stop = std::make_unique<Mark>();
  };

  void print_parts(double all, int steps) const {
    double products = 0.0;
    double attention = 0.0;
    for (const Entry& entry : entries_) {
      const double time = entry.stop->milliseconds_since(*entry.start);
      if (entry.work.operations > 0.0) products += time;
      if (entry.work.name.starts_with("attention")) attention += time;
    }
    fmt::print(
        "    sum {:.3f} ms a step: products {:.3f}, attention {:.3f} ({:.1f} %), others {:.3f}\n",
        all / steps, products / steps, attention / steps, 100.0 * attention / all,
        (all - products - attention) / steps);
  }

  void do_work_begins(const StepWork& work) override {
    if (!is_on_) return;
    entries_.push_back({.work = work});
    entries_.back().start->record(*model_);
  }
  void do_work_ends() override {
    if (is_on_) entries_.back().stop->record(*model_);
  }

  std::unique_ptr<TrainingModel>& model_;
  bool is_on_ = false;
  std::vector<Entry> entries_;
};

/// Places in a step: its begin, the ends of forward and backward, and its own end.
struct Marks {
  std::vector<std::unique_ptr<Mark>> at;

  Marks() {
    for (int i = 0; i < 4; ++i) at.push_back(std::make_unique<Mark>());
  }
};

void enqueue_step(TrainingModel& model, const StepInput& input, int steps, Marks* marks) {
  OrderListener listener;
  const auto mark = [&](std::size_t place) {
    if (marks != nullptr) marks->at[place]->record(model);
  };
  mark(0);
  model.begin_step(input);
  for (int i = 0; i < model.table().segments(); ++i) model.forward(i);
  mark(1);
  run_backward(model, listener);
  mark(2);
  run_norm(model);
  model.update(all_of(model), optimizer_step({}, input.step, steps));
  mark(3);
}

void time_steps(TrainingModel& model, const Options& options) {
  const Gpt2Config config = gpt2_config(ModelSize::gpt2);
  constexpr int kWarmUp = 3;
  std::vector<std::vector<std::int32_t>> tokens;
  for (int step = 0; step < kWarmUp + options.steps; ++step) {
    tokens.push_back(generated_batch(config, {step, 0, 1}, options.shape));
  }
  const auto input = [&](int step) {
    return StepInput{.tokens = tokens[static_cast<std::size_t>(step)],
                     .step = step,
                     .first_sample = std::int64_t{options.shape.samples} * step};
  };
  for (int step = 0; step < kWarmUp; ++step) enqueue_step(model, input(step), 200, nullptr);
  const double first_loss = model.read_loss();
  std::vector<Marks> marks(static_cast<std::size_t>(options.steps));
  model.start_timing();
  for (int step = 0; step < options.steps; ++step) {
    enqueue_step(model, input(kWarmUp + step), 200, &marks[static_cast<std::size_t>(step)]);
  }
  const double mean = model.stop_timing().value * 1e3 / options.steps;
  const auto part = [&](std::size_t from, std::size_t to) {
    std::vector<double> times;
    for (const Marks& each : marks)
      times.push_back(each.at[to]->milliseconds_since(*each.at[from]));
    return median(times);
  };
  fmt::print("  step {:.3f} ms (mean {:.3f}): forward {:.3f}, backward {:.3f}, optimizer {:.3f}\n",
             part(0, 3), mean, part(0, 1), part(1, 2), part(2, 3));
  fmt::print("  loss {:.4f}, later {:.4f}\n", first_loss, model.read_loss());
}

void time_precision(kernels::TrainingPrecision precision, const Options& options) {
  std::unique_ptr<TrainingModel> model;
  Profile profile(model);
  GpuModelOptions model_options{.config = gpt2_config(ModelSize::gpt2),
                                .shape = options.shape,
                                .precision = precision,
                                .dropout = options.dropout,
                                .measures_products = options.measures_products};
  if (options.profiles) model_options.observer = &profile;
  gpu::check(cudaFree(nullptr));
  const Bytes before = gpu::memory_in_use();
  model = make_gpu_model(model_options);
  fmt::print("{}: {} x {} tokens, dropout {}\n", text_of(precision), options.shape.samples,
             options.shape.length, options.dropout);
  time_steps(*model, options);
  fmt::print("  memory: {:.0f} MiB stated, {:.0f} MiB taken beside {:.0f} MiB in use before\n",
             static_cast<double>(gpu_model_bytes(model_options).value) / 1048576,
             static_cast<double>(gpu::memory_in_use().value - before.value) / 1048576,
             static_cast<double>(before.value) / 1048576);
  if (!options.profiles) return;
  constexpr int kProfiled = 5;
  profile.start();
  const auto tokens = generated_batch(gpt2_config(ModelSize::gpt2), {}, options.shape);
  for (int step = 0; step < kProfiled; ++step) {
    enqueue_step(*model, {.tokens = tokens, .step = step}, 200, nullptr);
  }
  profile.print(kProfiled);
}

/// False where the arguments are not understood.
bool parse(int argc, char** argv, Options& options) {
  options.precisions = precisions();
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--profile") {
      options.profiles = true;
    } else if (name == "--first-choice") {
      options.measures_products = false;
    } else if (i + 1 == argc) {
      return false;
    } else if (const char* value = argv[++i]; name == "--steps") {
      options.steps = std::atoi(value);
    } else if (name == "--batch") {
      options.shape.samples = std::atoi(value);
    } else if (name == "--length") {
      options.shape.length = std::atoi(value);
    } else if (name == "--dropout") {
      options.dropout = std::atof(value);
    } else if (name == "--precision") {
      std::erase_if(options.precisions, [&](auto each) { return text_of(each) != value; });
    } else {
      return false;
    }
  }
  return options.steps > 0 && !options.precisions.empty();
}

int run(int argc, char** argv) {
  std::string reason;
  if (gpu::device_count(&reason) == 0) {
    fmt::print(stderr, "no GPU: {}\n", reason);
    return 3;
  }
  Options options;
  if (!parse(argc, argv, options)) {
    usage();
    return 2;
  }
  for (const kernels::TrainingPrecision precision : options.precisions)
    time_precision(precision, options);
  return 0;
}

}  // namespace
}  // namespace linkgain

int main(int argc, char** argv) {
  try {
    return linkgain::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
