#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/help_text.hpp"
#include "linkgain/fleet/run_list.hpp"
#include "linkgain/predict/prediction_report.hpp"
#include "linkgain/record/journal.hpp"
#include "subcommand.hpp"

namespace linkgain {

/// What ranks of a training exchange.
enum class ExchangedType { bf16, fp16, fp32 };

template <>
inline constexpr auto kNames<ExchangedType> = names<ExchangedType>("type",
                                                                   {{ExchangedType::bf16, "bf16"},
                                                                    {ExchangedType::fp16, "fp16"},
                                                                    {ExchangedType::fp32, "fp32"}});

namespace {

constexpr const char* kPredictDescription =
    "Predict what a link is worth to a model\n"
    "By arithmetic, from the times of a run's all-reduces: a decoder that the GPUs share by tensor "
    "parallelism, or a training. The machine itself is not needed, and the model is not run.";

constexpr const char* kPredictFooter =
    "Examples:\n"
    "  linkgain predict node7 --model llama-3-8b --batch 8 --tokens-per-second 1900\n"
    "  linkgain predict node7 --params 7e9 --step-time 420ms --strategy fsdp --json";

/// A part of a model's shape that an option gives in the place of the model's own.
struct ShapeOption {
  const char* name;
  int ModelShape::*member;
  const char* help;
  const char* usual;
  int least = 1;
};

constexpr std::array kShapeOptions{
    ShapeOption{"--layers", &ModelShape::layers, "Layers", "the model's"},
    ShapeOption{"--hidden", &ModelShape::hidden, "Numbers of a token between layers",
                "the model's"},
    ShapeOption{"--heads", &ModelShape::heads, "Heads of queries", "the model's"},
    ShapeOption{"--kv-heads", &ModelShape::kv_heads, "Heads of keys and values",
                "the model's, or as many as of queries"},
    ShapeOption{"--head-size", &ModelShape::head_size, "Numbers of a head",
                "the model's, or hidden over heads"},
    ShapeOption{"--ffn", &ModelShape::ffn, "Inner numbers of the gated feed-forward",
                "the model's"},
    ShapeOption{"--vocabulary", &ModelShape::vocabulary,
                "Tokens of a vocabulary that is split over the GPUs; 0: it is not",
                "the model's, or 0", 0}};

using ShapeValues = std::array<std::optional<int>, kShapeOptions.size()>;

struct PredictOptions {
  ShapeValues shape{};
  std::optional<std::filesystem::path> record;  ///< absent: of the latest run
  OutputFormat format = OutputFormat::table;
  PredictionQuestion question;
  DecoderQuestion decoder;
  TrainingQuestion training;
  bool is_decoder = false;
  bool is_training = false;
};

CLI::Option* add_whole(CommandLine& line, const char* name, int& value, int most,
                       const std::string& help) {
  return line.app.add_option(name, value, help)
      ->check(CLI::Range(1, most))
      ->capture_default_str()
      ->type_name("N");
}

void add_speed(CommandLine& line, const char* name, std::optional<double>& speed,
               const std::string& help) {
  line.deferred
      .add(
          name, speed,
          [name](const std::string& text) { return parse_count(text, name, 1e-3, 1e9); }, help)
      ->type_name("N");
}

void declare_shape(CommandLine& line, ShapeValues& shape) {
  constexpr int kMost = 1 << 24;
  for (std::size_t i = 0; i < kShapeOptions.size(); ++i) {
    const ShapeOption& each = kShapeOptions[i];
    line.app.add_option(each.name, shape[i], each.help)
        ->check(CLI::Range(each.least, kMost))
        ->default_str(each.usual)
        ->type_name("N");
  }
}

void declare_decoder(CommandLine& line, PredictOptions& options) {
  line.app.option_defaults()->group(option_group::kDecoder);
  DecoderQuestion& decoder = options.decoder;
  constexpr int kMostTokens = 10'000'000;
  CLI::Option* const model =
      line.deferred
          .add("--model", decoder.model, find_model,
               fmt::format("A published model: {}", fmt::join(model_names(), ", ")))
          ->type_name("NAME");
  for (const std::string_view name : model_names()) line.words[model].emplace_back(name);
  add_whole(line, "--batch", decoder.batch, 100'000, "Sequences decoded together");
  add_whole(line, "--context", decoder.context, kMostTokens, "Tokens that each has behind it");
  add_whole(line, "--prompt", decoder.prompt, kMostTokens, "Tokens of a prompt");
  add_whole(line, "--chunk", decoder.chunk, kMostTokens, "Tokens of a prompt read at once")
      ->default_str("all");
  add_speed(line, "--tokens-per-second", decoder.tokens_per_second,
            "Speed of decoding as it is now, of all sequences together");
  add_speed(line, "--prompt-tokens-per-second", decoder.prompt_tokens_per_second,
            "Speed at which a prompt is read now");
}

void declare_training(CommandLine& line, PredictOptions& options) {
  line.app.option_defaults()->group(option_group::kTraining);
  TrainingQuestion& training = options.training;
  line.deferred
      .add(
          "--params", training.parameters,
          [](const std::string& text) { return parse_count(text, "--params", 1e5, 1e14); },
          "Parameters that are trained, as 7e9 or 7B")
      ->type_name("N");
  line.deferred
      .add(
          "--step-time", training.step,
          [](const std::string& text) {
            return parse_duration(text, "--step-time", Seconds{1e-4}, Seconds{86400.0});
          },
          "Time of a step as it is now, as 420ms")
      ->type_name("TIME");
  CLI::Option* const strategy = line.deferred
                                    .add("--strategy", training.strategy, from_name<Sharding>,
                                         listed(names_of(kValues<Sharding>), "or"), "ddp")
                                    ->type_name("NAME");
  for (const std::string_view name : names_of(kValues<Sharding>)) {
    line.words[strategy].emplace_back(name);
  }
  CLI::Option* const type =
      line.deferred
          .add(
              "--dtype", training.element_bytes,
              [](const std::string& text) {
                return from_name<ExchangedType>(text) == ExchangedType::fp32 ? 4.0 : 2.0;
              },
              "What ranks exchange: " + listed(names_of(kValues<ExchangedType>), "or"))
          ->default_str("fp32 by ddp, as autocast leaves gradients; else bf16")
          ->type_name("TYPE");
  for (const std::string_view name : names_of(kValues<ExchangedType>)) {
    line.words[type].emplace_back(name);
  }
}

void declare_path(CommandLine& line, PredictOptions& options) {
  line.app.option_defaults()->group(option_group::kWhere);
  line.app.add_option("--on", options.question.on, "Variant under which the given speed was seen")
      ->default_str("the record's first")
      ->type_name("NAME");
  CLI::Option* const reducer =
      line.deferred
          .add("--by", options.question.reducer, from_name<Reducer>,
               "What reduces on the link: " + listed(names_of(kValues<Reducer>), "or"), "nccl")
          ->type_name("NAME");
  for (const std::string_view name : names_of(kValues<Reducer>)) {
    line.words[reducer].emplace_back(name);
  }
  line.app.add_option("--tp", options.question.ranks, "GPUs that share the model or the training")
      ->check(CLI::Range(2, kMostRanks))
      ->default_str("those of the record")
      ->type_name("N");
}

/// Refuses an option that the question asked for does not have.
void refuse_of_group(const CLI::App& app, const char* group, std::string_view of) {
  for (const CLI::Option* each : app.get_options()) {
    if (each->get_group() != group || each->count() == 0) continue;
    throw UsageError(fmt::format("{} is of a {}, which is not asked for", each->get_name(), of));
  }
}

/// Finds out which of the two is asked for, and fills in what follows from the rest.
void complete(PredictOptions& options) {
  ModelShape& model = options.decoder.model;
  for (std::size_t i = 0; i < kShapeOptions.size(); ++i) {
    if (options.shape[i]) model.*kShapeOptions[i].member = *options.shape[i];
  }
  options.is_decoder = model.layers > 0 || model.hidden > 0;
  options.is_training = options.training.parameters > 0.0 || options.training.step.value > 0.0;
  if (options.is_decoder == options.is_training) {
    throw UsageError(options.is_decoder ? "a decoder and a training are two questions"
                                        : "predict what? No model is named, and no training",
                     "give --model NAME, or --params N and --step-time TIME");
  }
  if (options.is_training) {
    if (!(options.training.parameters > 0.0)) throw UsageError("--params is missing");
    if (!(options.training.step.value > 0.0)) throw UsageError("--step-time is missing");
    return;
  }
  validate(model);
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  if (model.head_size == 0 && model.heads > 0) model.head_size = model.hidden / model.heads;
}

void declare(CommandLine& line, PredictOptions& options) {
  line.app
      .add_option("record", options.record,
                  "record.json, a run's folder or label, best of run --profile inference; the "
                  "latest run in results/ if none is given")
      ->type_name(kRecordValue);
  declare_decoder(line, options);
  declare_shape(line, options.shape);
  declare_training(line, options);
  declare_path(line, options);
  line.app.option_defaults()->group(option_group::kOutput);
  line.app.get_help_ptr()->group(option_group::kOutput);
  add_document_format(line, options.format);
  line.deferred.then([&options, &app = line.app] {
    complete(options);
    if (options.is_training) refuse_of_group(app, option_group::kDecoder, "decoder");
    if (options.is_decoder) refuse_of_group(app, option_group::kTraining, "training");
  });
}

/// Carries out `linkgain predict`: prints the answer. Throws UsageError where the record or the
/// question allows none.
int carry_out(const PredictOptions& options) {
  PredictionQuestion question = options.question;
  if (options.is_decoder) question.decoder = options.decoder;
  if (options.is_training) question.training = options.training;
  const Record record = read_record(options.record ? find_run(*options.record) : latest_run());
  const Prediction prediction = predict(record, question);
  fmt::print("{}", options.format == OutputFormat::json
                       ? to_json(prediction)
                       : in_format(options.format, prediction_report(prediction), "Prediction"));
  return static_cast<int>(ExitCode::success);
}

const Registration kPredictRegistration(Subcommand<PredictOptions>{"predict",
                                                                   kPredictDescription,
                                                                   {},
                                                                   kPredictFooter,
                                                                   {.in_help = 9, .in_list = 9},
                                                                   declare,
                                                                   carry_out});

}  // namespace
}  // namespace linkgain
