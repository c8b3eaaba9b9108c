#include "worker_bench_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "linkgain/core/build_info.hpp"
#include "linkgain/core/errors.hpp"
#include "linkgain/core/names.hpp"
#include "linkgain/core/option_parsers.hpp"
#include "linkgain/core/sweep.hpp"

namespace linkgain {
namespace {

constexpr const char* kExamples =
    "Google Benchmark's options (--benchmark_filter=REGEX, --benchmark_list_tests,\n"
    "--benchmark_repetitions=N, --benchmark_min_time=SECONDS, --benchmark_out=FILE,\n"
    "--benchmark_out_format, --benchmark_format=console|json|csv) are taken as well.\n"
    "Examples:\n"
    "  mpirun -np 2 linkgain-bench --benchmark_filter=all_reduce\n"
    "  mpirun -np 2 linkgain-bench --only send_recv --sizes 8:1G:x2 --launch graph";

struct Texts {
  std::string backend;
  std::vector<std::string> only;
  std::string sizes = "16:1G:x4";
  std::vector<std::string> types;
  std::vector<std::string> reductions;
  std::vector<std::string> launch_modes;
  std::vector<std::string> patterns;
  std::string pair;
  std::string gpus;
  bool in_place = false;
};

void add_options(CLI::App& app, Texts& texts) {
  app.add_option("--backend", texts.backend, "nccl or mpi; nccl where it is built");
  app.add_option("--gpus", texts.gpus, "CUDA device of each rank, for example 0,1");
  app.add_option("--only", texts.only, "all_reduce, send_recv")->delimiter(',');
  app.add_option("--sizes", texts.sizes, "8:1G:x4, 1M:64M:+1M, or a list 8,64K,1G")
      ->capture_default_str();
  app.add_option("--type", texts.types, "float32 unless told otherwise")->delimiter(',');
  app.add_option("--reduction", texts.reductions, "sum, prod, min, max, avg")->delimiter(',');
  app.add_option("--launch", texts.launch_modes, "stream, graph")->delimiter(',');
  app.add_option("--pattern", texts.patterns, "send_recv: ring, one-way, both-ways")
      ->delimiter(',');
  app.add_option("--pair", texts.pair, "ranks of one-way and both-ways, for example 0-1");
  app.add_flag("--in-place", texts.in_place, "all_reduce in place");
}

Selection read_selection(const Texts& texts) {
  Selection selection;
  selection.operations = {OperationKind::all_reduce, OperationKind::send_recv};
  if (!texts.only.empty()) {
    selection.operations = parse_each<OperationKind>(texts.only, parse_operation);
  }
  selection.sizes = parse_sizes(texts.sizes);
  if (!texts.types.empty()) selection.types = parse_each<DataType>(texts.types, parse_data_type);
  if (!texts.reductions.empty()) {
    selection.reductions = parse_each<Reduction>(texts.reductions, parse_reduction);
  }
  if (!texts.launch_modes.empty()) {
    selection.launches = parse_each<LaunchMode>(texts.launch_modes, parse_launch_mode);
  }
  if (!texts.patterns.empty()) {
    selection.patterns = parse_each<Pattern>(texts.patterns, parse_pattern);
  }
  if (!texts.pair.empty()) selection.pair = parse_pair(texts.pair);
  if (texts.in_place) selection.in_place = {true};
  return selection;
}

void require_known(const std::vector<std::string>& extras) {
  for (const std::string& extra : extras) {
    if (!extra.starts_with("--benchmark_")) {
      throw UsageError(fmt::format("unknown option '{}'", extra), "see linkgain-bench --help");
    }
  }
}

}  // namespace

WorkerOptions parse_worker_options(int argc, const char* const* argv) {
  CLI::App app{"linkgain-bench: the ranks' side of linkgain, and a Google Benchmark program",
               "linkgain-bench"};
  app.footer(kExamples);
  app.allow_extras();
  Texts texts;
  add_options(app, texts);
  bool serve = false;
  bool describe = false;
  bool version = false;
  double load = 0.0;
  app.add_flag("--serve", serve, "answer linkgain's protocol on standard input and output");
  app.add_flag("--describe", describe, "print versions and capabilities as JSON");
  app.add_option("--load", load, "copy between host and every visible GPU for that long, and end")
      ->check(CLI::Range(0.1, 600.0))
      ->type_name("SECONDS");
  app.add_flag("--version", version, "version and what was built");
  WorkerOptions options;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    options.mode = WorkerOptions::Mode::text;
    options.text = app.help();
    return options;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what(), "see linkgain-bench --help");
  }
  options.benchmark_arguments = app.remaining();
  require_known(options.benchmark_arguments);
  if (version) {
    options.mode = WorkerOptions::Mode::text;
    options.text = fmt::format("linkgain-bench {}\n{}\n", build_info().version, build_info().text);
    return options;
  }
  if (serve) options.mode = WorkerOptions::Mode::serve;
  if (describe) options.mode = WorkerOptions::Mode::describe;
  if (load > 0.0) options.mode = WorkerOptions::Mode::load;
  options.load_time = Seconds{load};
  options.backend = build_info().has_nccl ? BackendKind::nccl : BackendKind::mpi;
  if (!texts.backend.empty()) options.backend = parse_backend(texts.backend);
  if (!texts.gpus.empty()) options.gpus = parse_gpus(texts.gpus);
  options.selection = read_selection(texts);
  return options;
}

}  // namespace linkgain
