// Trains GPT-2 for a few steps and writes down all that another implementation needs to do the
// same and to be compared with it: not a test, scripts/validation/compare-pytorch runs it. See
// --help.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/gpt2/training_parameters.hpp"
#include "linkgain/model/training_model.hpp"
#include "linkgain/workloads/training_operation.hpp"
#include "worker/model/model_steps.hpp"
#ifdef LINKGAIN_HAVE_GPU
#include "linkgain/gpu/device.hpp"
#include "linkgain/model/gpu_model.hpp"
#endif

namespace linkgain::test {
namespace {

constexpr const char* kDescription =
    "Trains GPT-2 without dropout for some steps on the current GPU, with fp64 on the CPU, and\n"
    "writes to a folder:\n\n"
    "  index.json       dimensions, losses of the steps, and each tensor's name as in PyTorch's\n"
    "                   GPT2LMHeadModel, shape, and offset in the next three files, in elements\n"
    "  parameters.bin   before the first step\n"
    "  gradients.bin    of the first step's mean loss, before clipping\n"
    "  updated.bin      parameters after the last step\n"
    "  tokens.bin       int32, steps x batch x (length + 1): inputs are the first of a row,\n"
    "                   targets the last, `length` each\n\n"
    "Elements are float32, with fp64 float64, of this machine's byte order.";
constexpr const char* kExitStatus =
    "Exit status: 0, 2 a wrong option, 3 there is no such GPU, 1 another failure.";

struct Options {
  std::filesystem::path out;
  ModelSize model = ModelSize::gpt2;
  TrainingPrecision precision = TrainingPrecision::fp32;
  BatchShape shape{4, 0};
  std::int64_t steps = 10;
  double deviation = 0.0;
  std::string tokens;
  bool measures_products = true;
};

/// A rank that has no others; a training without communication asks nothing else of it.
class Alone : public TrainingCommunication {
 private:
  int do_rank() const override { return 0; }
  int do_ranks() const override { return 1; }
  CommunicationTicket do_all_reduce(const FlatMemory&, const ParameterRange&) override { fail(); }
  CommunicationTicket do_reduce_scatter(const FlatMemory&, const ParameterRange&) override {
    fail();
  }
  CommunicationTicket do_all_gather(const FlatMemory&, const ParameterRange&) override { fail(); }
  void do_wait(CommunicationTicket) override { fail(); }
  void do_progress() override {}

  [[noreturn]] static void fail() { throw std::logic_error("there is nobody to communicate with"); }
};

std::unique_ptr<TrainingModel> make_model(const Options& options) {
  const Gpt2Config config = gpt2_config(options.model);
  if (options.precision == TrainingPrecision::fp64) {
    return make_reference_model({.config = config, .shape = options.shape, .dropout = 0.0});
  }
#ifdef LINKGAIN_HAVE_GPU
  std::string reason;
  if (gpu::device_count(&reason) == 0) throw MachineError("no GPU: " + reason);
  return make_gpu_model({.config = config,
                         .shape = options.shape,
                         .precision = precision_on_gpu(options.precision),
                         .dropout = 0.0,
                         .measures_products = options.measures_products});
#else
  throw MachineError("this build has no GPU", "take --precision fp64 with --model tiny");
#endif
}

std::unique_ptr<TokenSource> make_tokens(const Options& options) {
  const int vocabulary = gpt2_config(options.model).vocabulary;
  return options.tokens.empty() ? generated_tokens(vocabulary, 11)
                                : read_token_file(options.tokens, vocabulary);
}

template <typename T>
void write_file(const std::filesystem::path& path, const std::vector<T>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
  file.close();
  if (!file) throw UsageError(fmt::format("cannot write {}", path.string()));
}

void write_elements(const Options& options, const char* name, const std::vector<double>& values) {
  if (options.precision == TrainingPrecision::fp64) {
    write_file(options.out / name, values);
  } else {
    write_file(options.out / name, std::vector<float>(values.begin(), values.end()));
  }
}

void write_tokens(const Options& options) {
  const std::unique_ptr<TokenSource> source = make_tokens(options);
  const auto batch = static_cast<std::size_t>(options.shape.tokens() + options.shape.samples);
  std::vector<std::int32_t> tokens(batch * static_cast<std::size_t>(options.steps));
  for (std::int64_t step = 0; step < options.steps; ++step) {
    read_batch(*source, {step, 0, 1}, options.shape,
               std::span(tokens).subspan(batch * static_cast<std::size_t>(step), batch));
  }
  write_file(options.out / "tokens.bin", tokens);
}

nlohmann::ordered_json tensors_of(const ParameterTable& table) {
  auto tensors = nlohmann::ordered_json::array();
  for (const ParameterTensor& tensor : table.tensors()) {
    auto shape = nlohmann::ordered_json::array({tensor.rows, tensor.columns});
    if (tensor.rows == 1) shape.erase(0);
    tensors.push_back(
        {{"name", tensor.name}, {"shape", std::move(shape)}, {"offset", tensor.offset}});
  }
  return tensors;
}

void write_index(const Options& options, const ParameterTable& table,
                 const std::vector<double>& losses) {
  const Gpt2Config& config = table.config();
  const nlohmann::ordered_json index{
      {"format", 1},
      {"model",
       {{"vocabulary", config.vocabulary},
        {"positions", config.positions},
        {"channels", config.channels},
        {"layers", config.layers},
        {"heads", config.heads}}},
      {"precision", name_of(options.precision)},
      {"element_type", options.precision == TrainingPrecision::fp64 ? "float64" : "float32"},
      {"samples", options.shape.samples},
      {"length", options.shape.length},
      {"steps", options.steps},
      {"losses", losses},
      {"tensors", tensors_of(table)}};
  std::ofstream file(options.out / "index.json");
  file << index.dump(1) << '\n';
  file.close();
  if (!file) throw UsageError(fmt::format("cannot write to {}", options.out.string()));
}

/// Writes the index last: if it is there, the other files are complete.
void dump(const Options& options) {
  std::filesystem::create_directories(options.out);
  std::filesystem::remove(options.out / "index.json");
  TrainingSettings settings;
  settings.strategy = TrainingStrategy::none;
  settings.steps = options.steps;
  TrainingRun run({make_model(options), std::make_unique<Alone>(), make_tokens(options)}, settings);
  if (options.deviation > 0.0) roughen(run.model(), options.deviation);
  write_tokens(options);
  write_elements(options, "parameters.bin", parameters_of(run.model()));
  std::vector<double> losses;
  for (std::int64_t step = 0; step < options.steps; ++step) {
    run.run_step(step);
    losses.push_back(run.read_loss());
    if (step == 0) {
      write_elements(options, "gradients.bin", gradients_of(run.model()));
    }
  }
  write_elements(options, "updated.bin", parameters_of(run.model()));
  write_index(options, run.model().table(), losses);
}

void add_options(CLI::App& app, Options& options) {
  app.footer(kExitStatus);
  app.add_option("--out", options.out, "folder that is made and written to")->required();
  app.add_option_function<std::string>(
         "--model", [&](const std::string& name) { options.model = from_name<ModelSize>(name); },
         "gpt2 or tiny (gpt2)")
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--precision",
         [&](const std::string& name) { options.precision = from_name<TrainingPrecision>(name); },
         "fp32, tf32, bf16 or fp64 (fp32)")
      ->type_name("NAME");
  app.add_option("--batch", options.shape.samples, "sequences in a step (4)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--length", options.shape.length,
                 "tokens of one (as many as the model has places)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--steps", options.steps, "how many (10)")->check(CLI::Range(1, 1000000));
  app.add_option("--deviation", options.deviation,
                 "above 0 the first parameters are not GPT-2's but all random with this deviation, "
                 "around 1 for the weights of LayerNorms and around 0 for all others (0)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--tokens", options.tokens,
                 "file of scripts/text-to-tokens; generated if not given");
  app.add_flag("--first-choice{false}", options.measures_products,
               "cuBLASLt's first algorithm for each product instead of the fastest");
}

/// Returns the exit status.
int run(int argc, char** argv) {
  Options options;
  CLI::App app(kDescription, "training_dump");
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::usage);
  }
  if (options.shape.length == 0) options.shape.length = gpt2_config(options.model).positions;
  dump(options);
  return 0;
}

}  // namespace
}  // namespace linkgain::test

int main(int argc, char** argv) {
  try {
    return linkgain::test::run(argc, argv);
  } catch (const linkgain::Error& error) {
    fmt::print(stderr, "training_dump: {}\n", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "training_dump: {}\n", error.what());
    return 1;
  }
}
