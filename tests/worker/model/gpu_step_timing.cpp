// Times training steps of GPT-2 124M on the current GPU, without communication: not a test, as what
// it prints depends on the GPU. See --help.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu_models.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "support/memory_in_use.hpp"

namespace linkgain::test {
namespace {

constexpr const char* kDescription =
    "Times training steps of GPT-2 124M on the current GPU: a whole step as the median of some "
    "that\n"
    "are enqueued without waiting, from end to end, and its parts.";

struct Options {
  std::string precision;  ///< empty: all
  int steps = 20;
  BatchShape shape{4, 1024};
  double dropout = 0.1;
  bool measures_products = true;
  bool profiles = false;
};

/// Records the event on the stream that the model owns.
void mark(TrainingModel& model, gpu::Event& event) {
  event.record(static_cast<cudaStream_t>(model.stream()));
}

double milliseconds(const gpu::Event& start, const gpu::Event& stop) {
  return 1e3 * gpu::elapsed(start, stop).value;
}

/// Times every work of a step.
class Profile : public StepObserver {
 public:
  explicit Profile(std::unique_ptr<TrainingModel>& model) : model_(model) {}

  /// Begins to count; leaves out what was enqueued before.
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
      const double time = milliseconds(entry.start, entry.stop);
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
    gpu::Event start{};
    gpu::Event stop{};
  };

  void print_parts(double all, int steps) const {
    double products = 0.0;
    double attention = 0.0;
    for (const Entry& entry : entries_) {
      const double time = milliseconds(entry.start, entry.stop);
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
    mark(*model_, entries_.back().start);
  }
  void do_work_ends() override {
    if (is_on_) mark(*model_, entries_.back().stop);
  }

  std::unique_ptr<TrainingModel>& model_;
  bool is_on_ = false;
  std::vector<Entry> entries_;
};

/// Places in a step.
struct Marks {
  gpu::Event begin;
  gpu::Event forward_ended;
  gpu::Event backward_ended;
  gpu::Event end;
};

void enqueue_step(TrainingModel& model, const StepInput& input, int steps, Marks* marks) {
  OrderListener listener;
  const auto mark_end_of = [&](gpu::Event Marks::*part) {
    if (marks != nullptr) mark(model, marks->*part);
  };
  mark_end_of(&Marks::begin);
  model.begin_step(input);
  for (int i = 0; i < model.table().segments(); ++i) model.forward(i);
  mark_end_of(&Marks::forward_ended);
  run_backward(model, listener);
  mark_end_of(&Marks::backward_ended);
  run_norm(model);
  model.update(all_of(model), optimizer_step({}, input.step, steps));
  mark_end_of(&Marks::end);
}

/// Returns the median over the steps.
double part(const std::vector<Marks>& marks, gpu::Event Marks::*from, gpu::Event Marks::*to) {
  std::vector<double> times;
  for (const Marks& each : marks) times.push_back(milliseconds(each.*from, each.*to));
  return median(times);
}

/// Takes a step from the end of the one before, so that gaps between them count.
double whole_step(const std::vector<Marks>& marks) {
  std::vector<double> times{milliseconds(marks.front().begin, marks.front().end)};
  for (std::size_t i = 1; i < marks.size(); ++i) {
    times.push_back(milliseconds(marks[i - 1].end, marks[i].end));
  }
  return median(times);
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
  fmt::print("  step {:.3f} ms (mean {:.3f}): forward {:.3f}, backward {:.3f}, optimizer {:.3f}\n",
             whole_step(marks), mean, part(marks, &Marks::begin, &Marks::forward_ended),
             part(marks, &Marks::forward_ended, &Marks::backward_ended),
             part(marks, &Marks::backward_ended, &Marks::end));
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
  const Bytes before = memory_in_use();
  model = make_gpu_model(model_options);
  fmt::print("{}: {} x {} tokens, dropout {}\n", text_of(precision), options.shape.samples,
             options.shape.length, options.dropout);
  time_steps(*model, options);
  fmt::print("  memory: {:.0f} MiB stated, {:.0f} MiB taken beside {:.0f} MiB in use before\n",
             static_cast<double>(gpu_model_bytes(model_options).value) / 1048576,
             static_cast<double>(memory_in_use().value - before.value) / 1048576,
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

void add_options(CLI::App& app, Options& options) {
  app.add_option("--precision", options.precision, "fp32, tf32 or bf16 (default: all)");
  app.add_option("--steps", options.steps, "that are timed (20)")->check(CLI::Range(1, 100000));
  app.add_option("--batch", options.shape.samples, "sequences in a step (4)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--length", options.shape.length, "tokens of one (1024)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--dropout", options.dropout, "probability (0.1)")->check(CLI::Range(0.0, 0.99));
  app.add_flag("--first-choice{false}", options.measures_products,
               "cuBLASLt's first algorithm for each product instead of timing them");
  app.add_flag("--profile", options.profiles,
               "also time each kernel, with events around it (about a microsecond too much each)");
}

std::vector<kernels::TrainingPrecision> chosen(const Options& options) {
  std::vector<kernels::TrainingPrecision> all = precisions();
  if (options.precision.empty()) return all;
  std::erase_if(all, [&](auto each) { return text_of(each) != options.precision; });
  if (all.empty()) throw UsageError("this GPU has no precision " + options.precision);
  return all;
}

/// Returns the exit status.
int run(int argc, char** argv) {
  Options options;
  CLI::App app(kDescription, "gpu_step_timing");
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::usage);
  }
  std::string reason;
  if (gpu::device_count(&reason) == 0) throw MachineError("no GPU: " + reason);
  for (const kernels::TrainingPrecision precision : chosen(options)) {
    time_precision(precision, options);
  }
  return 0;
}

}  // namespace
}  // namespace linkgain::test

int main(int argc, char** argv) {
  try {
    return linkgain::test::run(argc, argv);
  } catch (const linkgain::Error& error) {
    fmt::print(stderr, "gpu_step_timing: {}\n", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "gpu_step_timing: {}\n", error.what());
    return 1;
  }
}
