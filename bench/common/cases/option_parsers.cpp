#include "linkgain/cases/option_parsers.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <set>
#include <span>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/help_text.hpp"

namespace linkgain {
namespace {

/// Returns a device or rank number; nothing if the text is none.
std::optional<int> small_number(std::string_view text) {
  constexpr int kMost = 9999;
  const auto number = whole_number<int>(text);
  return number && *number >= 0 && *number <= kMost ? number : std::nullopt;
}

/// What stands behind a number, and what the number is multiplied by.
struct Unit {
  std::string_view suffix;
  double factor;
};

/// Returns a number with the first of `units` that it ends with, one space between them allowed;
/// absent where the text is none.
std::optional<double> number_in(std::string_view text, std::span<const Unit> units) {
  const auto unit =
      std::ranges::find_if(units, [=](const Unit& each) { return text.ends_with(each.suffix); });
  if (unit == units.end()) return std::nullopt;
  std::string_view digits = text.substr(0, text.size() - unit->suffix.size());
  if (!unit->suffix.empty() && digits.ends_with(' ')) digits.remove_suffix(1);
  const auto number = whole_number<double>(digits);
  return number ? std::optional(*number * unit->factor) : std::nullopt;
}

/// Takes nccl-tests' names, as half, too.
DataType parse_type(std::string_view name) {
  const auto known = std::ranges::find(kValues<DataType>, name, nccl_tests_name);
  return known == kValues<DataType>.end() ? from_name<DataType>(name) : *known;
}

/// Returns what was asked for in the place of what was there.
TrainingSelection with_options(TrainingSelection selection, const TrainingSelection& asked) {
  if (!asked.models.empty()) selection.models = asked.models;
  if (!asked.strategies.empty()) selection.strategies = asked.strategies;
  if (!asked.precisions.empty()) selection.precisions = asked.precisions;
  if (asked.buckets) selection.buckets = asked.buckets;
  if (asked.bucket_mib) selection.bucket_mib = asked.bucket_mib;
  if (asked.samples) selection.samples = asked.samples;
  if (asked.length) selection.length = asked.length;
  if (asked.dropout) selection.dropout = asked.dropout;
  return selection;
}

/// Returns the options that were given, in the order of the help.
std::vector<std::string_view> options_of(const TrainingSelection& asked) {
  std::vector<std::string_view> options;
  const auto add = [&](bool is_given, std::string_view option) {
    if (is_given) options.push_back(option);
  };
  add(!asked.models.empty(), "--model-size");
  add(!asked.strategies.empty(), "--strategy");
  add(!asked.precisions.empty(), "--training-precision");
  add(asked.samples.has_value(), "--batch");
  add(asked.length.has_value(), "--sequence");
  add(asked.dropout.has_value(), "--dropout");
  add(asked.buckets.has_value(), "--buckets");
  add(asked.bucket_mib.has_value(), "--bucket-mb");
  return options;
}

/// Refuses an empty value: that of "$OUT" without such a variable would count as none given.
void require_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& values = option->results();
    if (!option->nonpositional() || std::ranges::find(values, "") == values.end()) continue;
    throw UsageError(fmt::format("{} has an empty value", option->get_name()),
                     "leave it out, or give one");
  }
}

/// Adds the options that choose trainings.
void add_training_options(DeferredOptions& deferred, SelectionOptions& options) {
  CLI::App& app = deferred.app();
  app.option_defaults()->group(option_group::kTraining);
  TrainingSelection& training = options.training;
  deferred.add_list("--model-size", training.models, from_name<ModelSize>, "gpt2 (124M) or tiny")
      ->default_str("gpt2; mpi: tiny")
      ->type_name("SIZE,...");
  deferred
      .add_list("--strategy", training.strategies, from_name<TrainingStrategy>,
                "ddp, zero2, zero3; the step without communication is measured beside them")
      ->default_str("ddp")
      ->type_name("NAME,...");
  deferred
      .add_list("--training-precision", training.precisions, from_name<TrainingPrecision>,
                "fp32, tf32, bf16 (mpi: fp64)")
      ->default_str("run: bf16,fp32; bench: fp32; mpi: fp64")
      ->type_name("NAME,...");
  app.add_option("--batch", training.samples, "Sequences of each rank")
      ->default_str("4")
      ->type_name("B");
  app.add_option("--sequence", training.length, "Tokens of a sequence")
      ->default_str("1024 of gpt2")
      ->type_name("T");
  deferred
      .add(
          "--dropout", training.dropout,
          [](const std::string& text) { return parse_share(text, "--dropout", 0.0, 0.99); },
          "Probability of dropout, as 10% or 0.1")
      ->default_str("0.1")
      ->type_name("SHARE");
  deferred
      .add("--buckets", training.buckets, from_name<BucketRule>,
           "Gradients in buckets as PyTorch groups them now (current) or did in 2020 (legacy)")
      ->default_str("current")
      ->type_name("RULE");
  app.add_option("--bucket-mb", training.bucket_mib, "Size of a bucket in MiB, 0.01 to 4096")
      ->default_str("PyTorch's 1 and 25")
      ->type_name("MIB");
  app.add_option("--steps", options.steps, "Steps in all; for linkgain run a multiple of 10")
      ->default_str("200")
      ->type_name("N");
  app.add_option("--tokens", options.tokens, "Token file, as scripts/text-to-tokens makes it")
      ->default_str("generated tokens")
      ->type_name("FILE");
}

[[noreturn]] void refuse(std::string_view text, std::string_view reason) {
  throw UsageError(
      fmt::format("sizes '{}': {} (a list 8,64K,1G, a size sweep 8:1G:x4 with a factor "
                  "from 2, or 1M:64M:+1M)",
                  text, reason));
}

void add(std::set<Bytes>& sizes, Bytes size, std::string_view text) {
  sizes.insert(size);
  if (sizes.size() > static_cast<std::size_t>(kMaxSweepSizes)) {
    refuse(text, fmt::format("more than {} sizes", kMaxSweepSizes));
  }
}

std::int64_t parse_factor(std::string_view digits, std::string_view text) {
  const auto factor = whole_number<std::int64_t>(digits);
  if (factor && *factor >= 2) return *factor;
  refuse(text, fmt::format("the factor '{}' is no whole number from 2", digits));
}

/// Says "8:1G:x2" of "8-1G", "8..1G" and "8:1G", which name two sizes; empty of all else.
std::string meant_sweep(std::string_view item) {
  for (const std::string_view between : {"-", "..", ":"}) {
    const std::size_t at = item.find(between);
    if (at == std::string_view::npos || at == 0) continue;
    const std::string_view end = item.substr(at + between.size());
    try {
      parse_bytes(item.substr(0, at));
      parse_bytes(end);
      return fmt::format("{}:{}:x2", item.substr(0, at), end);
    } catch (const UsageError&) {
      continue;
    }
  }
  return {};
}

/// Adds begin, every step below `end`, and `end`.
void add_sweep(std::set<Bytes>& sizes, const std::vector<std::string>& parts,
               std::string_view text) {
  const Bytes begin = parse_bytes(parts[0]);
  const Bytes end = parse_bytes(parts[1]);
  if (begin > end) {
    refuse(text, fmt::format("{} is above {}, a size sweep must rise", parts[0], parts[1]));
  }
  const std::string_view step = parts[2];
  const bool times = step.starts_with('x');
  if (!times && !step.starts_with('+')) {
    refuse(text, fmt::format("the step '{}' begins with neither x nor +", step));
  }
  const std::int64_t amount =
      times ? parse_factor(step.substr(1), text) : parse_bytes(step.substr(1)).value;
  std::int64_t value = begin.value;
  // The bound is rearranged so that no step overflows.
  while (value < end.value) {
    add(sizes, Bytes{value}, text);
    const bool beyond = times ? value > end.value / amount : value > end.value - amount;
    value = beyond ? end.value : (times ? value * amount : value + amount);
  }
  add(sizes, end, text);
}

}  // namespace

std::vector<int> parse_gpus(std::string_view text) {
  std::vector<int> gpus;
  for (const std::string& part : split(text, ',')) {
    const std::optional<int> number = small_number(part);
    if (!number) {
      throw UsageError(fmt::format("--gpus '{}': '{}' is no GPU number", text, part),
                       "give CUDA device numbers such as 0,1");
    }
    gpus.push_back(*number);
  }
  if (gpus.empty()) throw UsageError("--gpus names no GPU", "give CUDA device numbers such as 0,1");
  return gpus;
}

Pair parse_pair(std::string_view text) {
  const std::vector<std::string> parts = split(text, '-');
  const std::optional<int> from = parts.size() == 2 ? small_number(parts[0]) : std::nullopt;
  const std::optional<int> to = parts.size() == 2 ? small_number(parts[1]) : std::nullopt;
  if (!from || !to) throw UsageError(fmt::format("--pair '{}' is not two ranks such as 0-1", text));
  return {*from, *to, false};
}

int parse_root(std::string_view text) {
  const std::optional<int> root = small_number(text);
  if (!root) throw UsageError(fmt::format("--root '{}' is no rank", text), "give ranks as 0,1");
  return *root;
}

int parse_hidden(std::string_view text) {
  const std::optional<int> hidden = small_number(text);
  if (hidden && *hidden >= kLeastHidden && *hidden <= kMostHidden && *hidden % kLeastHidden == 0) {
    return *hidden;
  }
  throw UsageError(
      fmt::format("--hidden '{}' is no multiple of {} up to {}", text, kLeastHidden, kMostHidden),
      "give the length of a model's rows, as 4096,8192");
}

double parse_share(std::string_view text, std::string_view option, double least, double most) {
  static constexpr std::array kUnits{Unit{"%", 0.01}, Unit{"", 1.0}};
  const std::optional<double> share = number_in(text, kUnits);
  if (share && *share >= least && *share <= most) return *share;
  throw UsageError(
      fmt::format("{} '{}' is no share of {} % to {} %", option, text, 100.0 * least, 100.0 * most),
      "give it as 5% or 0.05");
}

double parse_count(std::string_view text, std::string_view option, double least, double most) {
  static constexpr std::array kUnits{Unit{"k", 1e3}, Unit{"M", 1e6}, Unit{"B", 1e9},
                                     Unit{"T", 1e12}, Unit{"", 1.0}};
  const std::optional<double> count = number_in(text, kUnits);
  if (count && *count >= least && *count <= most) return *count;
  throw UsageError(fmt::format("{} '{}' is no number of {:g} to {:g}", option, text, least, most),
                   "give it as 350M, 7e9 or 7B");
}

Seconds parse_duration(std::string_view text, std::string_view option, Seconds least,
                       Seconds most) {
  static constexpr std::array kUnits{Unit{"ms", 1e-3},  Unit{"s", 1.0},    Unit{"m", 60.0},
                                     Unit{"min", 60.0}, Unit{"h", 3600.0}, Unit{"", 1.0}};
  const std::optional<double> seconds = number_in(text, kUnits);
  if (seconds && *seconds >= least.value && *seconds <= most.value) return Seconds{*seconds};
  throw UsageError(
      fmt::format("{} '{}' is no duration of {} s to {} s", option, text, least.value, most.value),
      "give it as 300 (seconds), 90s, 5m or 8h");
}

Tolerance parse_tolerance(std::string_view text, std::string_view option) {
  const double share = parse_share(text, option, 0.001, 0.99);
  return {-share, share};
}

std::vector<std::string> words_to_parse(int argc, const char* const* argv) {
  std::vector<std::string> words;
  bool of_a_command = false;  // behind -- the words are another program's
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    of_a_command = of_a_command || word == "--";
    const bool without_value =
        !of_a_command && word.starts_with("--") && word.find('=') == word.size() - 1;
    if (without_value) word.pop_back();
    words.push_back(std::move(word));
    if (without_value) words.emplace_back();
  }
  std::ranges::reverse(words);
  return words;
}

std::string describe_conversion_error(const std::string& error) {
  static constexpr std::string_view kValue = ": Value ";
  static constexpr std::string_view kRange = " not in range ";
  const std::size_t value_at = error.find(kValue);
  const std::size_t range_at = error.rfind(kRange);
  if (value_at < range_at && range_at != std::string::npos) {
    const std::size_t begin = value_at + kValue.size();
    return fmt::format("{} {} is outside {}", error.substr(0, value_at),
                       error.substr(begin, range_at - begin),
                       error.substr(range_at + kRange.size()));
  }
  static constexpr std::string_view kMissing = ": 1 required ";
  if (const std::size_t end = error.find(kMissing); end != std::string::npos) {
    return fmt::format("{} needs a value", error.substr(0, end));
  }
  static constexpr std::string_view kBefore = "Could not convert: ";
  const std::size_t equals = error.find(" = ");
  if (!error.starts_with(kBefore) || equals == std::string::npos) return error;
  const std::string option = error.substr(kBefore.size(), equals - kBefore.size());
  const std::string value = error.substr(equals + 3);
  double number = 0.0;
  const char* const last = value.data() + value.size();
  const auto [end, failure] = std::from_chars(value.data(), last, number);
  if (end != last || failure == std::errc::invalid_argument) {
    return fmt::format("{} {} is no number", option, value);
  }
  const bool whole = failure == std::errc{} && number == std::floor(number);
  return fmt::format("{} {} is {}", option, value, whole ? "out of range" : "no whole number");
}

std::string describe_parse_error(const CLI::ParseError& error,
                                 const std::vector<std::string>& strays) {
  const bool is_stray = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (!is_stray || strays.empty()) return describe_conversion_error(error.what());
  const auto option =
      std::ranges::find_if(strays, [](const std::string& stray) { return stray.starts_with('-'); });
  if (option == strays.end()) return fmt::format("'{}' is no option", strays.front());
  return fmt::format("unknown option '{}'", option->substr(0, option->find('=')));
}

CLI::Option* DeferredOptions::add_text(const char* name, const std::string& help,
                                       const std::string& usual,
                                       std::function<void(const std::string&)> read) {
  const auto text = std::make_shared<std::string>(usual);
  CLI::Option* const option = app_.add_option(name, *text, help);
  option->default_str(usual);
  then([=, read = std::move(read)] {
    if (!text->empty()) read(*text);
  });
  return option;
}

CLI::Option* DeferredOptions::add_texts(const char* name, const std::string& help,
                                        std::function<void(const std::vector<std::string>&)> read) {
  const auto texts = std::make_shared<std::vector<std::string>>();
  CLI::Option* const option = app_.add_option(name, *texts, help)->delimiter(',');
  then([=, read = std::move(read)] { read(*texts); });
  return option;
}

void DeferredOptions::read() const {
  require_values(app_);
  for (const std::function<void()>& step : steps_) step();
}

void add_job_options(DeferredOptions& deferred, SelectionOptions& options) {
  CLI::App& app = deferred.app();
  app.option_defaults()->group(option_group::kWhere);
  deferred.add("--backend", options.backend, parse_backend, "nccl (GPUs) or mpi (CPU memory)")
      ->type_name("NAME");
  deferred
      .add("--gpus", options.gpus, parse_gpus,
           "CUDA device of each rank, as 0,1; on several hosts: of each rank of a host")
      ->default_str("every GPU, up to 8")
      ->type_name("LIST");
  app.option_defaults()->group(option_group::kWhat);
  deferred
      .add_list("--only", options.operations, parse_operation, "Operations: " + operation_names())
      ->type_name("OP,...");
}

void add_selection_options(DeferredOptions& deferred, SelectionOptions& options) {
  CLI::App& app = deferred.app();
  app.option_defaults()->group(option_group::kWhat);
  deferred
      .add("--sizes", options.sizes, parse_sizes,
           "Bytes: 8:1G:x4 (times 4), 1M:64M:+1M (plus 1 MiB), or a list 8,64K,1G; suffixes are "
           "binary")
      ->type_name("SIZES");
  deferred.add_list("--type", options.types, parse_type, "Element types, as float32,bfloat16")
      ->default_str("float32")
      ->type_name("TYPE,...");
  deferred
      .add_list("--reduction", options.reductions, from_name<Reduction>,
                "sum, prod, min, max, avg, mulsum")
      ->default_str("sum")
      ->type_name("RED,...");
  deferred
      .add_list("--pattern", options.patterns, from_name<Pattern>,
                "send_recv and copies: ring, one-way, both-ways")
      ->type_name("PATTERN,...");
  deferred
      .add("--pair", options.pair, parse_pair,
           "Ranks of one-way and both-ways, of ping_pong and of latencies")
      ->default_str("every pair; ping_pong, latencies: 0-1")
      ->type_name("A-B");
  deferred
      .add_list("--root", options.roots, parse_root,
                "Ranks of broadcast, reduce, gather, scatter, all_to_one and one_to_all")
      ->default_str("0")
      ->type_name("R,...");
  deferred
      .add_list("--buffers", options.buffers, from_name<Buffers>,
                "plain, allocated (by NCCL), registered (with it), symmetric (its windows)")
      ->default_str("plain")
      ->type_name("KIND,...");
  deferred
      .add_list("--hidden", options.hidden, parse_hidden,
                "all_reduce as in a decoder: in bfloat16, between a matrix product and a norm with "
                "rows of H elements; product_norm is these two alone")
      ->default_str("none; product_norm: 4096")
      ->type_name("H,...");
  app.add_flag("--in-place", options.in_place, "In place, if an operation has that form");
  app.add_flag("--kernels", options.kernels,
               "linkgain's own CUDA kernels, too, if there is one (all_reduce, copies)");
  app.option_defaults()->group(option_group::kHow);
  deferred
      .add_list("--launch-mode", options.launch_modes, from_name<LaunchChoice>,
                "stream, graph, or auto: graph below 1 MiB, stream from there on (mpi: stream)")
      ->default_str("auto")
      ->type_name("MODE,...");
  add_training_options(deferred, options);
}

Selection with_options(Selection selection, const SelectionOptions& options) {
  selection.asked_for = {.types = !options.types.empty(),
                         .reductions = !options.reductions.empty(),
                         .in_place = options.in_place,
                         .launches = !options.launch_modes.empty(),
                         .patterns = !options.patterns.empty(),
                         .buffers = !options.buffers.empty(),
                         .kernels = options.kernels,
                         .hidden = !options.hidden.empty(),
                         .training = options_of(options.training)};
  if (!options.hidden.empty()) {
    selection.hidden = options.hidden;
    selection.types = {DataType::bfloat16};
    selection.sizes = decoder_sizes(options.hidden);
  }
  if (!options.sizes.empty()) selection.sizes = options.sizes;
  if (!options.types.empty()) selection.types = options.types;
  if (!options.reductions.empty()) selection.reductions = options.reductions;
  if (!options.launch_modes.empty()) selection.launches = options.launch_modes;
  if (!options.patterns.empty()) selection.patterns = options.patterns;
  if (!options.roots.empty()) selection.roots = options.roots;
  if (!options.buffers.empty()) selection.buffers = options.buffers;
  if (options.in_place) selection.in_place = {true};
  if (options.kernels) selection.kernels = {false, true};
  selection.training = with_options(selection.training, options.training);
  // Ways that were asked for without a pair are meant for every pair.
  if (options.pair || !options.patterns.empty()) selection.pair = options.pair;
  return selection;
}

std::vector<Bytes> parse_sizes(std::string_view text) {
  if (text.empty()) refuse(text, "nothing given");
  std::set<Bytes> sizes;
  for (const std::string& item : split(text, ',')) {
    const std::vector<std::string> parts = split(item, ':');
    if (const std::string sweep = meant_sweep(item); !sweep.empty()) {
      refuse(text, fmt::format("'{}' is no size sweep: did you mean {}?", item, sweep));
    } else if (parts.size() == 1) {
      add(sizes, parse_bytes(parts[0]), text);
    } else if (parts.size() == 3) {
      add_sweep(sizes, parts, text);
    } else {
      refuse(text, fmt::format("'{}' is neither a size nor a size sweep begin:end:step", item));
    }
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace linkgain
