#include "linkgain/nccl_tests/nccl_tests.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <span>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/help_text.hpp"
#include "linkgain/cases/option_parsers.hpp"

namespace linkgain {
namespace {

constexpr int kMost = 1'000'000'000;

/// A flag of nccl-tests of which linkgain-bench can do one value only, nccl-tests' default.
struct Fixed {
  const char* flag;
  const char* only;  ///< empty: none
  const char* reason;
};

constexpr std::array kFixed{
    Fixed{"-m,--agg_iters", "1", "operations are not grouped"},
    Fixed{"-N,--run_cycles", "1", "the sizes are gone through once; start it again"},
    Fixed{"-p,--parallel_init", "0", "every rank starts by itself, beside the others"},
    Fixed{"-z,--blocking", "0", "operations follow each other without a wait"},
    Fixed{"-y,--stream_null", "0", "operations run on a stream of their own"},
    Fixed{"-C,--report_cputime", "0", "a time lasts until the operations are done"},
    Fixed{"-S,--report_timestamps", "0", "rows have no time of day"},
    Fixed{"-M,--memory", "0", "memory is not reported"},
    Fixed{"-u,--unalign", "0", "buffers are aligned"},
    Fixed{"-I,--per_iter_timing", "0", "single operations are not timed"},
    Fixed{"-K,--per_iter_skip", "0", "single operations are not timed"},
    Fixed{"-x,--cta_policy", "", "set NCCL_CTA_POLICY"},
    Fixed{"-D,--device_implementation", "0", "NCCL's own operations are measured"},
    Fixed{"-V,--device_cta_count", "", "NCCL's own operations are measured"},
};

/// Variables that change what nccl-tests does, and what to do instead.
constexpr std::array kRefusedVariables{
    std::array{"NCCL_TESTS_DEVICE", "choose GPUs with --gpus or CUDA_VISIBLE_DEVICES"},
    std::array{"NCCL_TESTS_SPLIT", "all ranks work together; start a job for each group"},
    std::array{"NCCL_TESTS_SPLIT_MASK", "all ranks work together; start a job for each group"},
};

char lower(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

/// Returns how often a size is multiplied by 2 for the unit that `rest` begins with; absent where
/// it is none.
std::optional<int> exponent_of_unit(std::string_view rest) {
  const std::size_t first = rest.find_first_not_of(" \t\n\v\f\r");
  if (first == std::string_view::npos) return 0;
  const std::size_t unit = std::string_view("kmg").find(lower(rest[first]));
  if (unit == std::string_view::npos) return std::nullopt;
  return 10 * (static_cast<int>(unit) + 1);
}

/// Reads a number as C does, then the first letter of a unit: K, M or G, powers of 1024. What
/// follows that letter does not count, and bytes are cut to whole ones. Throws UsageError, which
/// names `flag`, for what nccl-tests refuses, for what is no number of bytes (nan) and for less
/// than `least`.
Bytes parse_nccl_tests_size(std::string_view flag, const std::string& text, Bytes least) {
  constexpr auto kMostSize = static_cast<double>(kLargestSize.value);
  char* rest = nullptr;
  const double number = std::strtod(text.c_str(), &rest);
  const std::optional<int> exponent = exponent_of_unit(rest);
  const double bytes = std::ldexp(number, exponent.value_or(0));
  const bool is_size = rest != text.c_str() && exponent && bytes >= 0.0 && bytes <= kMostSize;
  if (is_size && static_cast<std::int64_t>(bytes) >= least.value) {
    return Bytes{static_cast<std::int64_t>(bytes)};
  }
  throw UsageError(
      fmt::format("{} '{}' is no size: write a number from {} and at most one of K, M, G (8, 64K, "
                  "1.5G; K is 1024)",
                  flag, text, least.value));
}

/// Returns those of `flags` ("--minbytes") that a long argument ("--min", "--min=8") may stand for:
/// the one of that very name, else all that begin so.
std::vector<std::string> flags_meant_by(std::string_view argument,
                                        const std::vector<std::string>& flags) {
  const std::string_view name = argument.substr(0, argument.find('='));
  std::vector<std::string> meant;
  if (name.size() < std::string_view("--x").size()) return meant;
  for (const std::string& flag : flags) {
    if (flag == name) return {flag};
    if (flag.starts_with(name)) meant.push_back(flag);
  }
  return meant;
}

/// Returns the arguments with those of `flags` that are shortened written in full. Throws
/// UsageError where one may stand for several.
std::vector<std::string> with_flags_in_full(const std::vector<std::string>& arguments,
                                            const std::vector<std::string>& flags) {
  std::vector<std::string> full;
  for (const std::string& argument : arguments) {
    const std::vector<std::string> meant = flags_meant_by(argument, flags);
    const std::string name = argument.substr(0, argument.find('='));
    if (meant.size() > 1) {
      throw UsageError(fmt::format("{} stands for any of {}", name, fmt::join(meant, ", ")),
                       "write more of it");
    }
    full.push_back(meant.empty() ? argument : meant.front() + argument.substr(name.size()));
  }
  return full;
}

/// Returns whether nccl-tests would write JSON to a file of this name: capitals or not.
bool has_json_extension(std::string_view file) {
  constexpr std::string_view kExtension = ".json";
  if (file.size() < kExtension.size()) return false;
  return std::ranges::equal(file.substr(file.size() - kExtension.size()), kExtension, {}, lower);
}

/// Option values that are read further.
struct Texts {
  SelectionOptions shared;  ///< --only; those of the job are left to the caller
  std::string smallest = "32M", largest = "32M", step = "1M";
  std::string type, reduction, format, ranks;
  int time = static_cast<int>(NcclTestsTime::mean);
  std::array<std::string, kFixed.size()> fixed;
};

DataType parse_type(const std::string& text) {
  std::vector<std::string_view> names{"all"};
  for (const DataType type : kNcclTestsTypes) {
    names.push_back(nccl_tests_name(type));
    if (text == names.back() || text == name_of(type)) return type;
  }
  throw UsageError(unknown_name("data type", text, names));
}

NcclTestsProgram program_of(OperationKind operation) {
  const auto* found =
      std::ranges::find(kNcclTestsPrograms, operation, &NcclTestsProgram::operation);
  if (found != kNcclTestsPrograms.end()) return *found;
  throw UsageError(fmt::format("nccl-tests has no program for {}", name_of(operation)),
                   "measure it without nccl-tests' flags: sizes by --sizes");
}

/// Says where in `options` and `texts`, which must outlive it, each flag ends.
struct Parser {
  Parser(NcclTestsOptions& options, Texts& texts);

  CLI::App app{"linkgain-bench with nccl-tests' flags, defaults and table", "linkgain-bench"};
  DeferredOptions shared{app};
};

Parser::Parser(NcclTestsOptions& options, Texts& texts) {
  app.set_help_flag("-h,--help", "Show this help");
  app.option_defaults()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->group("Flags of nccl-tests");
  const auto number = [&](const char* flag, auto& value, int least, int most, const char* text) {
    return app.add_option(flag, value, text)
        ->check(CLI::Range(least, most))
        ->capture_default_str()
        ->type_name("N");
  };
  const auto text = [&](const char* flag, std::string& value, const char* what, const char* usual,
                        const char* type) {
    app.add_option(flag, value, what)->default_str(usual)->type_name(type);
  };
  text("-b,--minbytes", texts.smallest, "Smallest size, as 8, 64K or 1G", "32M", "SIZE");
  text("-e,--maxbytes", texts.largest, "Largest size", "32M", "SIZE");
  text("-i,--stepbytes", texts.step, "From one size to the next", "1M", "SIZE");
  number("-f,--stepfactor", options.factor, 0, kMost, "The same as a factor, from 2 on")
      ->default_str("none");
  number("-g,--ngpus", options.gpus, 1, kMost, "GPUs: as many ranks on this host");
  number("-t,--nthreads", options.threads, 1, kMost, "Threads: -g ranks for each");
  number("-n,--iters", options.iterations, 1, kMost, "Timed operations");
  number("-w,--warmup_iters", options.warm_ups, 0, kMost, "Operations before them");
  number("-c,--check", options.checks, 0, kMost, "Checks of the data; 0 for none");
  number("-G,--cudagraph", options.graph_launches, 0, kMost,
         "Launches of a graph of -n operations");
  app.add_option_function<double>(
         "-T,--timeout", [&](double seconds) { options.timeout = Seconds{seconds}; },
         "Seconds after which a size is ended; 0 for never")
      ->check(CLI::Range(0.0, 86400.0))
      ->default_str(fmt::format("{:g}, where it hangs", kUsualTimeout.value))
      ->type_name("N");
  number("-a,--average", texts.time, 0, 3, "Time of rank 0 (0), mean (1), least (2), most (3)");
  number("-r,--root", options.root, -1, kMost, "Root; all, or -1, for every rank in turn")
      ->transform([](const std::string& root) { return root == "all" ? "-1" : root; });
  number("-R,--local_register", options.registration, 0, 2,
         "Plain, registered (1) or symmetric (2) buffers");
  text("-d,--datatype", texts.type, "Type, by nccl-tests' name, or all", "float", "TYPE");
  text("-o,--op", texts.reduction, "sum, prod, max, min, avg, mulsum or all", "sum", "OP");
  text("-J,--output_file", options.json_file, "File to write as JSON too", "", "FILE");
  app.option_defaults()->group("Flags of nccl-tests that take one value, or are refused");
  for (std::size_t i = 0; i < kFixed.size(); ++i) {
    const std::string only = kFixed[i].only;
    text(kFixed[i].flag, texts.fixed[i], kFixed[i].reason, "",
         only.empty() ? "(refused)" : kFixed[i].only);
  }
  app.option_defaults()->group(option_group::kWhere);
  text("--np", texts.ranks, "Ranks to start on this host", "", "N");
  app.option_defaults()->group(option_group::kOutput);
  text("--format", texts.format, "A table for each operation of --only", "", "nccl-tests");
  add_job_options(shared, texts.shared);
}

/// Lists nccl-tests' long flags, which may be shortened; those of our own may not.
std::vector<std::string> long_flags(const CLI::App& parser) {
  constexpr std::array kNotShortened{"only", "format", "backend", "gpus", "np", "help"};
  std::vector<std::string> flags;
  for (const CLI::Option* option : parser.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (std::ranges::find(kNotShortened, name) == kNotShortened.end()) {
        flags.push_back("--" + name);
      }
    }
  }
  return flags;
}

/// Names the short form too, before the long one that CLI11 names alone.
std::string with_short_flag(const std::string& message, const CLI::App& app) {
  if (!message.ends_with(" needs a value")) return message;
  const std::size_t end = message.find(' ');
  const CLI::Option* const option = app.get_option_no_throw(message.substr(0, end));
  if (option == nullptr || option->get_snames().empty()) return message;
  return fmt::format("-{} ({}){}", option->get_snames().front(), message.substr(0, end),
                     message.substr(end));
}

void refuse_what_is_fixed(const Texts& texts) {
  for (std::size_t i = 0; i < kFixed.size(); ++i) {
    if (texts.fixed[i].empty() || texts.fixed[i] == kFixed[i].only) continue;
    throw UsageError(
        fmt::format("{} {}: {}", std::string_view(kFixed[i].flag).substr(0, 2), texts.fixed[i],
                    *kFixed[i].only != '\0' ? fmt::format("only {} is possible", kFixed[i].only)
                                            : "not possible"),
        kFixed[i].reason);
  }
  for (const auto& [variable, advice] : kRefusedVariables) {
    if (std::getenv(variable) == nullptr) continue;
    throw UsageError(fmt::format("{} is set, which linkgain-bench does not follow", variable),
                     advice);
  }
}

void read_programs(NcclTestsOptions& options, const Texts& texts, std::string_view path) {
  const std::optional<NcclTestsProgram> called = nccl_tests_program_called(path);
  if (called) {
    options.called_as = path.substr(path.rfind('/') + 1);
    options.programs = {*called};
    if (!texts.shared.operations.empty()) {
      throw UsageError(fmt::format("{} measures {} and takes no --only", options.called_as,
                                   name_of(called->operation)),
                       "call linkgain-bench by its own name");
    }
  } else if (!texts.shared.operations.empty()) {
    options.programs.clear();
    for (const OperationKind operation : texts.shared.operations) {
      options.programs.push_back(program_of(operation));
    }
  }
}

void read_sizes(NcclTestsOptions& options, const Texts& texts) {
  options.smallest = parse_nccl_tests_size("-b", texts.smallest, Bytes{1});
  options.largest = parse_nccl_tests_size("-e", texts.largest, Bytes{1});
  options.step = parse_nccl_tests_size("-i", texts.step, Bytes{options.factor > 1 ? 0 : 1});
  if (options.smallest > options.largest) {
    throw UsageError(
        fmt::format("-b {} is more than -e {}", options.smallest.value, options.largest.value),
        "both default to 32M");
  }
}

void require_json_name(const NcclTestsOptions& options) {
  if (options.json_file.empty()) return;
  if (!has_json_extension(options.json_file)) {
    throw UsageError(fmt::format("-J {}: only JSON is written", options.json_file),
                     "give a name that ends with .json");
  }
  if (options.programs.size() > 1) {
    throw UsageError("-J is for one operation", "give --only one name");
  }
}

std::optional<double> least_bandwidth() {
  const char* text = std::getenv("NCCL_TESTS_MIN_BW");
  if (text == nullptr) return std::nullopt;
  const auto value = whole_number<double>(text);
  if (value && *value >= 0.0) return value;
  throw UsageError(fmt::format("NCCL_TESTS_MIN_BW={} is no bandwidth in GB/s", text));
}

/// What a rank's share is a multiple of where elements are counted for one rank.
constexpr std::int64_t kShareBytes = 16;

/// Returns what -R 0, 1 and 2 stand for: nccl-tests has NCCL allocate all its buffers. Memory of
/// MPI's is plain.
Buffers buffers_of(int registration, BackendKind backend) {
  constexpr std::array kKinds{Buffers::allocated, Buffers::registered, Buffers::symmetric};
  const bool plain = registration == 0 && backend == BackendKind::mpi;
  return plain ? Buffers::plain : kKinds.at(static_cast<std::size_t>(registration));
}

bool has_type(const NcclTestsMachine& machine, DataType type) {
  const bool is_float8 = type == DataType::float8e4m3 || type == DataType::float8e5m2;
  return supports(machine.backend, type) && (!is_float8 || machine.has_float8);
}

std::vector<DataType> types_of(const NcclTestsOptions& options, const NcclTestsMachine& machine) {
  if (options.type) return {*options.type};
  std::vector<DataType> types;
  std::ranges::copy_if(kNcclTestsTypes, std::back_inserter(types),
                       [&](DataType type) { return has_type(machine, type); });
  return types;
}

/// Returns the reductions; an absent one where the program has none.
std::vector<std::optional<Reduction>> reductions_of(const NcclTestsOptions& options,
                                                    const NcclTestsProgram& program,
                                                    BackendKind backend) {
  if (!program.takes_reduction) return {std::nullopt};
  if (options.reduction) return {options.reduction};
  std::vector<std::optional<Reduction>> reductions;
  for (const Reduction reduction : kNcclTestsReductions) {
    if (supports(backend, reduction)) reductions.emplace_back(reduction);
  }
  return reductions;
}

std::vector<int> roots_of(const NcclTestsOptions& options, const NcclTestsProgram& program,
                          int ranks) {
  if (!program.takes_root) return {-1};
  if (options.root >= ranks) {
    throw UsageError(fmt::format("-r {}: the ranks are 0 to {}", options.root, ranks - 1));
  }
  if (options.root >= 0) return {options.root};
  std::vector<int> roots(static_cast<std::size_t>(ranks));
  std::iota(roots.begin(), roots.end(), 0);
  return roots;
}

}  // namespace

std::optional<NcclTestsProgram> nccl_tests_program_called(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  for (const NcclTestsProgram& program : kNcclTestsPrograms) {
    // nccl-tests is often built with a suffix: all_reduce_perf_mpi.
    if (file.starts_with(program.name)) return program;
  }
  if (!file.ends_with("_perf") && file.find("_perf_") == std::string_view::npos) {
    return std::nullopt;
  }
  std::vector<std::string_view> names;
  for (const NcclTestsProgram& program : kNcclTestsPrograms) names.push_back(program.name);
  throw UsageError(unknown_name("program of nccl-tests", file, names),
                   "call linkgain-bench by its own name, or by a link of one of these");
}

bool has_nccl_tests_flag(const std::vector<std::string>& arguments) {
  NcclTestsOptions options;
  Texts texts;
  const Parser parser(options, texts);
  const std::vector<std::string> flags = long_flags(parser.app);
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    if (!argument.starts_with('-')) return false;
    if (argument.starts_with("--")) return !flags_meant_by(argument, flags).empty();
    return parser.app.get_option_no_throw(argument.substr(0, 2)) != nullptr;
  });
}

NcclTestsOptions parse_nccl_tests_options(int argc, const char* const* argv) {
  NcclTestsOptions options;
  Texts texts;
  Parser parser(options, texts);
  options.arguments.assign(argv, argv + argc);
  try {
    parser.app.parse(with_flags_in_full(words_to_parse(argc, argv), long_flags(parser.app)));
  } catch (const CLI::ParseError& error) {
    throw UsageError(
        with_short_flag(describe_parse_error(error, parser.app.remaining()), parser.app),
        "see linkgain-bench --format nccl-tests --help");
  }
  refuse_what_is_fixed(texts);
  parser.shared.read();
  read_programs(options, texts, argv[0]);
  read_sizes(options, texts);
  require_json_name(options);
  options.time = static_cast<NcclTestsTime>(texts.time);
  if (texts.type == "all") {
    options.type.reset();
  } else if (!texts.type.empty()) {
    options.type = parse_type(texts.type);
  }
  if (texts.reduction == "all") {
    options.reduction.reset();
  } else if (!texts.reduction.empty()) {
    options.reduction = from_name<Reduction>(texts.reduction);
  }
  options.least_bandwidth_gb_per_s = least_bandwidth();
  return options;
}

std::string nccl_tests_help() {
  NcclTestsOptions options;
  Texts texts;
  return help_text(Parser(options, texts).app);
}

std::string with_nccl_tests_flags(std::string message) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kFlags{
      {{"--sizes", "-e"},
       {"--type", "-d"},
       {"--reduction", "-o"},
       {"--buffers", "-R"},
       {"--launch-mode", "-G"}}};
  for (const auto& [option, flag] : kFlags) {
    for (std::size_t at = message.find(option); at != std::string::npos;
         at = message.find(option, at + flag.size())) {
      message.replace(at, option.size(), flag);
    }
  }
  return message;
}

std::vector<NcclTestsCurve> nccl_tests_curves(const NcclTestsOptions& options,
                                              const NcclTestsProgram& program,
                                              const NcclTestsMachine& machine) {
  std::vector<NcclTestsCurve> curves;
  for (const DataType type : types_of(options, machine)) {
    for (const auto& reduction : reductions_of(options, program, machine.backend)) {
      for (const int root : roots_of(options, program, machine.ranks)) {
        Case c;
        c.operation = program.operation;
        c.type = type;
        if (reduction && has_reduction(c.operation)) c.reduction = *reduction;
        c.ranks = machine.ranks;
        if (options.graph_launches > 0) c.launch = LaunchMode::graph;
        c.buffers = buffers_of(options.registration, machine.backend);
        if (has_root(c.operation)) c.root = root;
        require_supported(machine.backend, c);
        curves.push_back({c, reduction ? std::string(name_of(*reduction)) : "none", root});
      }
    }
  }
  return curves;
}

bool has_nccl_tests_in_place(BackendKind backend, OperationKind operation) {
  return supports_in_place(operation) || backend == BackendKind::nccl;
}

std::vector<std::string> nccl_tests_left_out(const NcclTestsOptions& options,
                                             const NcclTestsProgram& program,
                                             const NcclTestsMachine& machine) {
  std::vector<std::string_view> types;
  std::vector<std::string_view> reductions;
  for (const DataType type : kNcclTestsTypes) {
    if (!options.type && !has_type(machine, type)) types.push_back(nccl_tests_name(type));
  }
  for (const Reduction reduction : kNcclTestsReductions) {
    const bool asked = program.takes_reduction && !options.reduction;
    if (asked && !supports(machine.backend, reduction)) reductions.push_back(name_of(reduction));
  }
  std::vector<std::string> comments;
  const auto add = [&](const char* flag, std::span<const std::string_view> names) {
    if (names.empty()) return;
    comments.push_back(fmt::format("Leaving out -{} {}: the {} backend has none here", flag,
                                   fmt::join(names, ", "), name_of(machine.backend)));
  };
  add("d", types);
  add("o", reductions);
  if (!has_nccl_tests_in_place(machine.backend, program.operation)) {
    comments.push_back(fmt::format("Leaving out in-place: the {} backend has no such form of {}",
                                   name_of(machine.backend), name_of(program.operation)));
  }
  return comments;
}

NcclTestsSize nccl_tests_size(const NcclTestsProgram& program, const Case& c, Bytes size) {
  const int bytes = size_of(c.type);
  std::int64_t elements = size.value / bytes;
  if (!program.counts_per_rank) return {elements, Bytes{elements * bytes}};
  const std::int64_t unit = kShareBytes / bytes;
  elements = elements / c.ranks / unit * unit;
  return {elements, Bytes{elements * bytes * c.ranks}};
}

Bytes next_nccl_tests_size(const NcclTestsOptions& options, Bytes size) {
  if (options.factor > 1) {
    return Bytes{size.value > options.largest.value / options.factor ? 0
                                                                     : size.value * options.factor};
  }
  const std::int64_t left = options.largest.value - size.value;
  return Bytes{options.step.value > left ? 0 : size.value + options.step.value};
}

}  // namespace linkgain
