#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/jobs/launcher.hpp"
#include "subcommand.hpp"

namespace linkgain {
namespace {

constexpr const char* kBenchFooter =
    "Examples:\n"
    "  linkgain bench --benchmark_filter=all_reduce   Google Benchmark on every GPU\n"
    "  linkgain bench -np 2 -b 8 -e 1G -f 2           nccl-tests' flags and its table";

struct BenchOptions {
  std::vector<std::string> arguments;
  std::string ranks;  ///< for --help; linkgain-bench reads it
};

/// Returns the worker's words, which may stand behind "--"; mpirun's own spelling is taken as well.
std::vector<std::string> worker_words(const std::vector<std::string>& arguments) {
  const auto command = std::ranges::find(arguments, "bench");
  std::vector<std::string> words(command == arguments.end() ? command : command + 1,
                                 arguments.end());
  std::erase(words, "--");
  std::ranges::replace(words, std::string("-np"), std::string("--np"));
  const bool named = std::ranges::any_of(
      words, [](const std::string& word) { return word == "--np" || word.starts_with("--np="); });
  if (!named) words.insert(words.begin(), {"--np", "auto"});
  return words;
}

void declare(CommandLine& line, BenchOptions& options) {
  options.arguments = line.arguments;
  line.app.prefix_command();
  line.app.add_option("--np", options.ranks, "Ranks, also as -np")
      ->default_str("every GPU; mpi backend: 2")
      ->type_name("N");
}

/// Carries out `linkgain bench`: becomes linkgain-bench, which starts its ranks. Throws
/// MachineError where there is none.
int carry_out(const BenchOptions& options) {
  std::vector<std::string> line = worker_words(options.arguments);
  const std::filesystem::path worker = worker_path();
  line.insert(line.begin(), worker.string());
  ::execv(worker.c_str(), exec_array(line).data());
  throw MachineError(fmt::format("'{}' cannot be started: {}", worker.string(),
                                 std::generic_category().message(errno)),
                     "check that it is an executable file");
}

const Registration kBenchRegistration(Subcommand<BenchOptions>{
    "bench",
    "Start linkgain-bench on every GPU\nAll other words are linkgain-bench's: see linkgain-bench "
    "--help.",
    {ExitCode::problem_found, ExitCode::machine_cannot, ExitCode::wrong_data, ExitCode::incomplete},
    kBenchFooter,
    {.in_help = 10, .in_list = 10},
    declare,
    carry_out});

}  // namespace
}  // namespace linkgain
