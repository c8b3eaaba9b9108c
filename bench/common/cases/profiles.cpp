#include "linkgain/cases/profiles.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/option_parsers.hpp"

/// What the profiles contain.
namespace linkgain {
namespace {

Selection size_sweep(OperationKind operation, std::string_view sizes) {
  Selection selection;
  selection.operations = {operation};
  selection.sizes = parse_sizes(sizes);
  return selection;
}

std::vector<DataType> types_of(BackendKind backend) {
  std::vector<DataType> types;
  for (const DataType type : kValues<DataType>) {
    if (supports(backend, type)) types.push_back(type);
  }
  return types;
}

std::vector<Reduction> reductions_of(BackendKind backend) {
  std::vector<Reduction> reductions;
  for (const Reduction reduction : kValues<Reduction>) {
    if (supports(backend, reduction)) reductions.push_back(reduction);
  }
  return reductions;
}

/// Returns every type with every reduction at one size in the latency range and one in the
/// bandwidth range.
Selection all_types(BackendKind backend) {
  Selection selection = size_sweep(OperationKind::all_reduce, "64K,16M");
  selection.types = types_of(backend);
  selection.reductions = reductions_of(backend);
  return selection;
}

/// Returns our own all-reduce kernels for the types of 16 bits, which stand beside NCCL's of
/// all_types().
Selection short_kernels() {
  Selection selection = size_sweep(OperationKind::all_reduce, "64K,16M");
  selection.types = {DataType::float16, DataType::bfloat16};
  selection.kernels = {true};
  return selection;
}

/// Returns every pair of ranks, each way alone and both at once.
Selection pair_matrix(BackendKind backend) {
  Selection pairs =
      size_sweep(OperationKind::send_recv, backend == BackendKind::nccl ? "256M" : "64M");
  pairs.patterns = {Pattern::one_way, Pattern::both_ways};
  return pairs;
}

/// Returns copies between the first two ranks, each way alone and both at once, by copy engine.
Selection usual_copies(OperationKind operation, std::string_view sizes) {
  Selection copies = size_sweep(operation, sizes);
  copies.patterns = {Pattern::one_way, Pattern::both_ways};
  copies.pair = Pair{};
  return copies;
}

Selection all_pairs_of(OperationKind operation, std::string_view sizes,
                       std::vector<Pattern> patterns) {
  Selection pairs = size_sweep(operation, sizes);
  pairs.patterns = std::move(patterns);
  if (is_copy(operation)) pairs.kernels = {false, true};
  return pairs;
}

/// Returns what works on memory of the GPUs: curves between two of them, every pair, one against
/// all, and the copies to and from the host.
std::vector<Selection> memory_work() {
  const std::vector<Pattern> both{Pattern::one_way, Pattern::both_ways};
  std::vector<Selection> all;
  for (const OperationKind operation : {OperationKind::copy_push, OperationKind::copy_pull}) {
    all.push_back(usual_selection(operation, BackendKind::nccl));
    all.push_back(all_pairs_of(operation, "256M", both));
  }
  for (const OperationKind operation : {OperationKind::latency, OperationKind::load_latency}) {
    all.push_back(usual_selection(operation, BackendKind::nccl));
    all.push_back(all_pairs_of(operation, operation == OperationKind::latency ? "8" : "2M",
                               {Pattern::one_way}));
  }
  for (const OperationKind operation :
       {OperationKind::all_to_one, OperationKind::one_to_all, OperationKind::host_to_device,
        OperationKind::device_to_host}) {
    Selection copies = size_sweep(operation, "256M");
    copies.kernels = {false, true};
    all.push_back(copies);
  }
  return all;
}

/// Returns both at every size, so that each has a whole curve.
std::vector<LaunchChoice> launches_of(BackendKind backend) {
  if (!supports(backend, LaunchMode::graph)) return {LaunchChoice::stream};
  return {LaunchChoice::stream, LaunchChoice::graph};
}

/// Adds registered and symmetric memory; the plain one is measured anyway, and to NCCL memory that
/// it only allocated differs from that under graph capture alone.
void add_buffers(std::vector<Selection>& all, OperationKind operation, BackendKind backend,
                 std::string_view two_sizes) {
  Selection selection = size_sweep(operation, two_sizes);
  selection.buffers.clear();
  for (const Buffers buffers : {Buffers::registered, Buffers::symmetric}) {
    if (supports(backend, buffers)) selection.buffers.push_back(buffers);
  }
  if (!selection.buffers.empty()) all.push_back(selection);
}

/// Adds what an operation beside the default profile's can be: a size sweep by stream and graph,
/// and at a few sizes every type, reduction, place, root and kind of memory.
void add_operation(std::vector<Selection>& all, OperationKind operation, BackendKind backend) {
  const bool gpu = backend == BackendKind::nccl;
  const std::string_view two_sizes = gpu ? "64K,256M" : "64K,16M";
  const bool latency = operation == OperationKind::ping_pong;
  Selection sizes = size_sweep(operation, gpu ? "16:1G:x64" : "16:64M:x64");
  if (latency) sizes = usual_selection(operation, backend);
  sizes.launches = launches_of(backend);
  Selection types = size_sweep(operation, "64K");
  types.types = types_of(backend);
  all.insert(all.end(), {sizes, types});
  if (has_reduction(operation)) {
    Selection reductions = size_sweep(operation, "64K");
    reductions.reductions = reductions_of(backend);
    all.push_back(reductions);
  }
  if (supports_in_place(operation)) {
    Selection in_place = size_sweep(operation, two_sizes);
    in_place.in_place = {true};
    all.push_back(in_place);
  }
  if (has_root(operation)) {
    Selection root = size_sweep(operation, two_sizes);
    root.roots = {1};
    all.push_back(root);
  }
  add_buffers(all, operation, backend, latency ? "8,64K" : two_sizes);
}

/// Takes own work leniently: a profile is not refused for what some of its operations cannot do.
ProfilePlan with_lenient_own_work(ProfilePlan plan) {
  for (Selection& selection : plan.selections) {
    selection.where_possible =
        std::ranges::all_of(selection.operations, [](OperationKind operation) {
          return works_on_memory(operation) || is_training(operation);
        });
  }
  return plan;
}

/// Returns the training in the precision in which people train, and in the guide's.
Selection usual_training(BackendKind backend) {
  Selection selection;
  selection.operations = {OperationKind::gpt2_step};
  if (backend == BackendKind::nccl) {
    selection.training.precisions = {TrainingPrecision::bf16, TrainingPrecision::fp32};
  }
  return selection;
}

/// Returns every strategy in every precision: the guide's claim that links matter more the more
/// often ranks synchronise.
Selection all_trainings(BackendKind backend) {
  Selection selection = usual_training(backend);
  selection.training.strategies = {TrainingStrategy::ddp, TrainingStrategy::zero2,
                                   TrainingStrategy::zero3};
  if (backend == BackendKind::nccl) {
    selection.training.precisions = {TrainingPrecision::fp32, TrainingPrecision::tf32,
                                     TrainingPrecision::bf16};
  }
  return selection;
}

/// Returns every power of two, as a change of protocol is found between neighbouring sizes.
Selection every_power_of_two(BackendKind backend) {
  Selection reduce = size_sweep(OperationKind::all_reduce,
                                backend == BackendKind::nccl ? "16:1G:x2" : "16:64M:x2");
  reduce.launches = launches_of(backend);
  return reduce;
}

ProfilePlan full_plan(BackendKind backend) {
  ProfilePlan plan;
  plan.launches = 8;
  plan.budget = Seconds{900};
  Selection reduce = usual_selection(OperationKind::all_reduce, backend);
  Selection exchange = usual_selection(OperationKind::send_recv, backend);
  reduce.launches = exchange.launches = launches_of(backend);
  reduce.in_place = {false, true};
  if (backend == BackendKind::nccl) reduce.kernels = {false, true};
  plan.selections = {all_trainings(backend),      reduce,
                     every_power_of_two(backend), exchange,
                     pair_matrix(backend),        all_types(backend)};
  if (backend == BackendKind::nccl) {
    plan.selections.push_back(short_kernels());
    const std::vector<Selection> memory = memory_work();
    plan.selections.insert(plan.selections.end(), memory.begin(), memory.end());
  }
  for (const OperationKind operation : kOperations) {
    if (!calls_library(operation)) continue;
    const bool in_default =
        operation == OperationKind::all_reduce || operation == OperationKind::send_recv;
    if (in_default) {
      add_buffers(plan.selections, operation, backend, "64K,256M");
    } else {
      add_operation(plan.selections, operation, backend);
    }
  }
  return plan;
}

/// Plans what is run before and after a bridge is fitted: what it changes most, in as many launches
/// as tell small changes, within a minute.
ProfilePlan bridge_plan(BackendKind backend) {
  const bool gpu = backend == BackendKind::nccl;
  ProfilePlan plan;
  plan.launches = 8;
  plan.budget = Seconds{50};
  plan.selections = {size_sweep(OperationKind::all_reduce, gpu ? "8,1M,256M" : "8,1M,64M"),
                     size_sweep(OperationKind::send_recv, gpu ? "256M" : "64M")};
  if (gpu) plan.selections.push_back(usual_copies(OperationKind::copy_push, "256M"));
  return plan;
}

/// Plans what models that are split over the GPUs send: sums of bfloat16 for a token of each of 1,
/// 8 and 64 sequences and for prompts, by NCCL, in its symmetric memory too, and by our own
/// kernels, between a product and a norm and back to back; and these two alone. Without GPUs as
/// many bytes back to back.
ProfilePlan inference_plan(BackendKind backend) {
  ProfilePlan plan;
  plan.launches = 4;
  plan.adds_launches = false;
  std::set<Bytes> sizes;
  for (const int hidden : {2048, 4096, 8192}) {
    Selection in_decoder = size_sweep(OperationKind::all_reduce, "8");
    in_decoder.hidden = {hidden};
    in_decoder.types = {DataType::bfloat16};
    in_decoder.buffers = {Buffers::plain, Buffers::symmetric};
    in_decoder.kernels = {false, true};
    in_decoder.sizes.clear();
    for (const int tokens : kDecoderTokens) {
      in_decoder.sizes.push_back({std::int64_t{2} * hidden * tokens});
    }
    sizes.insert(in_decoder.sizes.begin(), in_decoder.sizes.end());
    Selection alone = in_decoder;
    alone.operations = {OperationKind::product_norm};
    alone.buffers = {Buffers::plain};
    if (backend == BackendKind::mpi) continue;
    plan.selections.insert(plan.selections.end(), {in_decoder, alone});
  }
  Selection back_to_back = size_sweep(OperationKind::all_reduce, "8");
  back_to_back.sizes = {sizes.begin(), sizes.end()};
  if (backend == BackendKind::mpi) {
    plan.selections.push_back(back_to_back);
    return plan;
  }
  back_to_back.types = {DataType::bfloat16};
  back_to_back.launches = {LaunchChoice::graph};
  back_to_back.kernels = {false, true};
  plan.selections.push_back(back_to_back);
  return plan;
}

/// Returns what every link carries, once large and once small, again and again: each pair of GPUs
/// has a time of its own, by which a link that degrades is found.
ProfilePlan soak_plan(BackendKind backend) {
  const bool gpu = backend == BackendKind::nccl;
  ProfilePlan plan;
  plan.budget = Seconds{3600};
  Selection pairs = size_sweep(OperationKind::send_recv, gpu ? "256M" : "4M");
  pairs.patterns = {Pattern::both_ways};
  plan.selections = {size_sweep(OperationKind::all_reduce, gpu ? "8,256M" : "8,4M"), pairs};
  if (gpu) {
    Selection copies = size_sweep(OperationKind::copy_push, "256M");
    copies.patterns = {Pattern::both_ways};
    plan.selections.push_back(copies);
  }
  return plan;
}

constexpr const char* kAdvice = "see linkgain run --help: its options without -- are the file's";

/// Returns where a character first stands outside quotes, as CLI11 has them; npos if it does not.
std::size_t find_unquoted(std::string_view text, char wanted) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == wanted) return i;
    if (text[i] != '"' && text[i] != '\'') continue;
    std::size_t end = text.find(text[i], i + 1);
    while (end != std::string_view::npos && text[end - 1] == '\\') {
      end = text.find(text[i], end + 1);
    }
    if (end != std::string_view::npos) i = end;
  }
  return std::string_view::npos;
}

/// Reads the next line without its comment.
bool next_line(std::istream& stream, std::string& line) {
  if (!std::getline(stream, line)) return false;
  line = CLI::detail::trim_copy(line.substr(0, find_unquoted(line, '#')));
  if (line.starts_with(';')) line.clear();
  return true;
}

/// Returns the file's text without comments and with a line for each list. CLI11 finds comments in
/// quotes and none in lists, takes a list that does not end for one without its last character, and
/// an option without a value for 0.
std::string plain_text(const std::string& text, const std::filesystem::path& file) {
  std::istringstream stream(text);
  std::string plain;
  int number = 0;
  for (std::string line; next_line(stream, line); plain += line + "\n") {
    const int first = ++number;
    const std::size_t equals = line.find('=');
    const bool is_section = line.starts_with('[') && line.ends_with(']');
    if (is_section || equals == std::string::npos) continue;
    const std::string name = CLI::detail::trim_copy(line.substr(0, equals));
    const auto refuse = [&](const char* what) {
      throw UsageError(fmt::format("{}, line {}: {} has {}", file.string(), first, name, what),
                       kAdvice);
    };
    std::string value = CLI::detail::trim_copy(line.substr(equals + 1));
    if (value.empty()) refuse("no value");
    if (value.front() != '[') continue;
    std::size_t end = find_unquoted(value, ']');
    for (; end == std::string::npos; value += line, ++number) {
      if (!next_line(stream, line)) refuse("a list without ]");
      end = find_unquoted(line, ']');
      if (end != std::string::npos) end += value.size();
    }
    if (end + 1 != value.size()) refuse("more than its list");
    line = name + " = " + value;
  }
  return plain;
}

std::vector<CLI::ConfigItem> items_of(const std::filesystem::path& file) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  const Reading<std::string> text = read_regular_file(file, kMostBytes);
  if (!text.measured()) {
    throw UsageError(fmt::format("profile '{}' cannot be read: {}", file.string(), text.reason()),
                     "give a file of options, or one of the profiles that run --list names");
  }
  // CLI11 takes lines that begin with one for comments.
  if (text.value().find('\0') != std::string::npos) {
    throw UsageError(fmt::format("{}: it has a NUL byte, so it is no text", file.string()),
                     kAdvice);
  }
  std::istringstream stream(plain_text(text.value(), file));
  CLI::ConfigTOML toml;
  toml.comment('\0');
  return toml.from_config(stream);
}

UsageError unknown_key(const CLI::App& app, const CLI::ConfigItem& item,
                       const std::filesystem::path& file) {
  if (!item.parents.empty()) {
    return UsageError(fmt::format("{}: [{}] is no option, a profile has no sections", file.string(),
                                  fmt::join(item.parents, ".")),
                      kAdvice);
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option == app.get_help_ptr()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  return UsageError(fmt::format("{}: unknown option '{}'{}", file.string(), item.name,
                                did_you_mean(item.name, candidates)),
                    kAdvice);
}

/// Gives the option its value, as words of a command line would.
void set_option(CLI::Option& option, const CLI::ConfigItem& item) {
  if (option.get_expected_max() == 0) {
    const std::string value = fmt::format("{}", fmt::join(item.inputs, ","));
    if (value == "false") return;
    if (value != "true") {
      throw UsageError(fmt::format("{} is true or false, not '{}'", item.name, value));
    }
    option.add_result(value);
  } else if (option.get_items_expected_max() > 1) {
    for (const std::string& input : item.inputs) option.add_result(input);
  } else {
    option.add_result(fmt::format("{}", fmt::join(item.inputs, ",")));
  }
  option.run_callback();
}

[[noreturn]] void refuse(std::string_view what) {
  throw UsageError(fmt::format("{} is for the command line alone", what),
                   "a profile's file says what is measured; give what names programs, libraries "
                   "and files as options");
}

/// Returns whether a variable chooses transports, algorithms or precisions, by what its name begins
/// with.
bool chooses_how(std::string_view variable) {
  static constexpr std::array<std::string_view, 10> kBegins{
      "NCCL_",         "CUDA_",        "CUBLAS_",      "NVIDIA_TF32_OVERRIDE", "OMPI_MCA_btl",
      "OMPI_MCA_coll", "OMPI_MCA_mtl", "OMPI_MCA_pml", "UCX_NET_DEVICES",      "UCX_TLS"};
  return std::ranges::any_of(kBegins,
                             [&](std::string_view begin) { return variable.starts_with(begin); });
}

/// Returns whether such a variable names a file to be read, opened as a library or written.
bool names_file(std::string_view variable) {
  static constexpr std::array<std::string_view, 7> kParts{"PATH",      "FILE", "PLUGIN",   "LIB",
                                                          "DIRECTORY", "DUMP", "INJECTION"};
  const std::string capitals = upper(variable);
  return capitals.ends_with("DIR") || std::ranges::any_of(kParts, [&](std::string_view part) {
           return capitals.find(part) != std::string::npos;
         });
}

void require_harmless_variant(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = text.substr(0, colon);
  std::string key;
  for (const std::string& part : split(text.substr(colon + 1), ',')) {
    // A part without "=" goes on with the value before it.
    if (is_assignment(part)) key = part.substr(0, part.find('='));
    const bool is_path = part.find('/') != std::string::npos;
    const bool harmless = key.empty() || (chooses_how(key) && !names_file(key));
    if (is_path || !harmless) refuse(fmt::format("{}= of variant '{}'", key, name));
  }
}

}  // namespace

Selection usual_selection(OperationKind operation, BackendKind backend) {
  // What is bound by latency has nothing more to show at large sizes.
  if (operation == OperationKind::ping_pong) return size_sweep(operation, "8:1M:x8");
  if (operation == OperationKind::latency) return size_sweep(operation, "8:64K:x8");
  if (operation == OperationKind::load_latency) return size_sweep(operation, "64K,2M,64M");
  if (is_training(operation)) return usual_training(backend);
  if (operation == OperationKind::product_norm) {
    Selection products = size_sweep(operation, "8K,64K,512K,4M,32M");
    products.hidden = {4096};
    products.types = {DataType::bfloat16};
    return products;
  }
  if (works_on_memory(operation)) {
    Selection copies = has_pair(operation) ? usual_copies(operation, "64K:1G:x16")
                                           : size_sweep(operation, "64K:1G:x16");
    copies.kernels = {false, true};
    return copies;
  }
  const bool gpu = backend == BackendKind::nccl;
  if (operation == OperationKind::send_recv) {
    return size_sweep(operation, gpu ? "16:1G:x16" : "16:64M:x16");
  }
  return size_sweep(operation, gpu ? "16:1G:x4" : "16:64M:x4");
}

ProfilePlan plan_of(Profile profile, BackendKind backend) {
  const bool gpu = backend == BackendKind::nccl;
  const Selection all_reduce = usual_selection(OperationKind::all_reduce, backend);
  const Selection send_recv = usual_selection(OperationKind::send_recv, backend);
  ProfilePlan plan;
  switch (profile) {
    case Profile::quick:
      plan.selections = {all_reduce};
      plan.adds_launches = false;
      if (gpu) plan.selections.push_back(usual_copies(OperationKind::copy_push, "256M"));
      return with_lenient_own_work(plan);
    case Profile::standard:
      plan.selections = {usual_training(backend), all_reduce, send_recv};
      if (gpu) {
        plan.selections.push_back(usual_copies(OperationKind::copy_push, "256M"));
        plan.selections.push_back(size_sweep(OperationKind::latency, "8"));
      }
      return with_lenient_own_work(plan);
    case Profile::bridge:
      return with_lenient_own_work(bridge_plan(backend));
    case Profile::inference:
      return inference_plan(backend);
    case Profile::full:
      return with_lenient_own_work(full_plan(backend));
    case Profile::node:
      plan.selections = {size_sweep(OperationKind::all_reduce, gpu ? "8,1M,256M" : "8,1M,64M"),
                         pair_matrix(backend)};
      plan.launches = 8;
      return plan;
    case Profile::soak:
      return with_lenient_own_work(soak_plan(backend));
  }
  throw std::logic_error("unhandled profile");
}

bool is_option_file(std::string_view value) {
  return value.find('/') != std::string_view::npos || value.ends_with(".toml");
}

std::string read_option_file(
    CLI::App& app, const std::filesystem::path& file, std::string_view own,
    const std::function<void(std::string_view name, std::string_view value)>& require) {
  std::string own_value;
  std::set<std::string> seen;
  for (const CLI::ConfigItem& item : items_of(file)) {
    CLI::Option* const option = app.get_option_no_throw("--" + item.name);
    if (!item.parents.empty() || option == nullptr || option == app.get_help_ptr()) {
      throw unknown_key(app, item, file);
    }
    if (!seen.insert(item.name).second) {
      throw UsageError(fmt::format("{}: {} is given twice", file.string(), item.name), kAdvice);
    }
    if (item.inputs.empty() || std::ranges::find(item.inputs, "") != item.inputs.end()) {
      throw UsageError(fmt::format("{}: {} has an empty value", file.string(), item.name), kAdvice);
    }
    if (item.name == own) {
      own_value = fmt::format("{}", fmt::join(item.inputs, ","));
      continue;
    }
    try {
      for (const std::string& value : item.inputs) require(item.name, value);
      if (option->count() > 0) continue;  // by the command line
      set_option(*option, item);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}: {}", file.string(), error.what()),
                       error.advice().empty() ? kAdvice : error.advice());
    } catch (const CLI::ParseError& error) {
      throw UsageError(
          fmt::format("{}: {}", file.string(), describe_conversion_error(error.what())), kAdvice);
    }
  }
  return own_value;
}

void require_harmless(std::string_view name, std::string_view value) {
  const bool is_program = name == "launcher" && value.find('/') != std::string_view::npos;
  if (name == "out" || name == "resume" || is_program) refuse(name);
  if (name == "variant") require_harmless_variant(value);
}

}  // namespace linkgain
