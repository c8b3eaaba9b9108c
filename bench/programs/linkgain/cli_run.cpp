#include "cli_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/cases/sweep.hpp"
#include "linkgain/cases/training_options.hpp"
#include "linkgain/gpt2/token_file.hpp"

namespace linkgain {
namespace {

constexpr const char* kRunExamples =
    "Examples:\n"
    "  linkgain run                                      P2P on against off, the default profile\n"
    "  linkgain run --only all_reduce --sizes 8:1G:x2    one operation, every power of two";

bool parse_schedule(const std::string& text) {
  static constexpr std::array<std::string_view, 2> kNames{"paired", "sequential"};
  if (text == kNames[0]) return false;
  if (text == kNames[1]) return true;
  throw UsageError(unknown_name("schedule", text, kNames));
}

/// Zero and below cannot be told from "not given" in a number, so the option itself is asked.
template <typename Value>
std::optional<Value> given(const CLI::App& app, const char* option, Value value) {
  return app.count(option) > 0 ? std::optional<Value>(value) : std::nullopt;
}

}  // namespace

RunCommandLine::RunCommandLine(CLI::App& program)
    : command_(program.add_subcommand("run", "Measure every variant in turn and print the table")) {
  command_->footer(kRunExamples);
  add_selection_options();
  add_job_options();
  add_output_options();
}

void RunCommandLine::add_selection_options() {
  command_->add_option("--only", texts_.selection.only, "Operations: " + operation_names())
      ->delimiter(',')
      ->type_name("OP,...");
  command_
      ->add_option("--sizes", texts_.selection.sizes,
                   "Bytes: 8:1G:x4 (times 4), 1M:64M:+1M (plus 1 MiB), or a list 8,64K,1G; "
                   "suffixes are binary")
      ->type_name("SIZES");
  command_
      ->add_option("--type", texts_.selection.types, "Element types, float32 unless told otherwise")
      ->delimiter(',')
      ->type_name("TYPE,...");
  command_
      ->add_option("--reduction", texts_.selection.reductions, "sum, prod, min, max, avg, mulsum")
      ->delimiter(',')
      ->type_name("RED,...");
  command_->add_option("--launch", texts_.selection.launch_modes, "stream, graph")
      ->delimiter(',')
      ->type_name("MODE,...");
  command_
      ->add_option("--pattern", texts_.selection.patterns,
                   "send_recv and copies: ring, one-way, both-ways")
      ->delimiter(',')
      ->type_name("PATTERN,...");
  command_
      ->add_option("--pair", texts_.selection.pair,
                   "Ranks of one-way and both-ways, every pair unless given; and "
                   "of ping_pong and latencies, 0-1 unless given")
      ->type_name("A-B");
  command_
      ->add_option(
          "--root", texts_.selection.roots,
          "Ranks of broadcast, reduce, gather, scatter, all_to_one and one_to_all; 0 unless "
          "given")
      ->delimiter(',')
      ->type_name("R,...");
  command_
      ->add_option("--buffers", texts_.selection.buffers,
                   "plain, allocated (by NCCL), registered (with it), symmetric (its windows)")
      ->delimiter(',')
      ->type_name("KIND,...");
  command_->add_flag("--kernels", texts_.selection.kernels,
                     "Our own CUDA kernels, too, where there is one (all_reduce, copies)");
  command_->add_flag("--in-place", texts_.selection.in_place,
                     "In place, where an operation has that form");
  add_training_options(*command_, texts_.selection);
  command_
      ->add_option("--steps", options_.steps,
                   "gpt2_step: steps in all, a multiple of 10; 200 unless given")
      ->type_name("N");
  command_
      ->add_option(
          "--tokens", options_.tokens,
          "gpt2_step: a token file, as scripts/text-to-tokens makes; generated unless given")
      ->type_name("FILE");
}

void RunCommandLine::add_job_options() {
  command_
      ->add_option("--backend", texts_.backend,
                   "nccl (GPUs) or mpi (CPU memory); nccl where there are two GPUs")
      ->type_name("NAME");
  command_->add_option("--profile", texts_.profile, "quick, default, full, node")
      ->type_name("NAME");
  command_
      ->add_option(
          "--gpus", texts_.gpus,
          "CUDA device of each rank (on several hosts: of each rank of a host), for example "
          "0,1")
      ->type_name("LIST");
  command_
      ->add_option(
          "--np", texts_.ranks,
          "Ranks; every GPU up to 8 unless given (several hosts: their slots or tasks, else "
          "as many on each as there are GPUs here)")
      ->type_name("N");
  command_
      ->add_option(
          "--variant", options_.variants,
          "p2p, host, p2p-sys, net (mpi: shared-memory, tcp) or your own as "
          "ring:NCCL_ALGO=Ring; repeat it, the first is the one the others are held against")
      ->type_name("V");
  command_->add_option("--launches", texts_.launches, "Starts of the jobs; each is a replicate")
      ->type_name("N");
  command_->add_option("--schedule", texts_.schedule, "paired (in turn) or sequential")
      ->type_name("HOW");
  command_
      ->add_option("--launcher", options_.launcher,
                   "mpirun (this host, or those of --hostfile) or srun (all nodes of the Slurm "
                   "allocation around it)")
      ->type_name("PROGRAM");
  command_
      ->add_option("--hostfile", texts_.hostfile,
                   "Hosts for mpirun, one a line as in: node1 slots=4; --out is then a folder "
                   "that all share")
      ->type_name("FILE");
  command_
      ->add_option("--deadline", options_.deadline.value,
                   "Seconds a job may be silent before it is ended")
      ->capture_default_str()
      ->type_name("SECONDS");
}

void RunCommandLine::add_output_options() {
  command_->add_option("--budget", texts_.budget, "Seconds the whole run may take")
      ->type_name("SECONDS");
  command_
      ->add_option("--precision", options_.precision,
                   "Half width of a ratio's 95 % interval at which a case is done")
      ->capture_default_str()
      ->type_name("SHARE");
  command_->add_option("--out", texts_.out, "Directory for record and report, made if needed")
      ->type_name("DIR");
  command_->add_flag(
      "--require-healthy", options_.require_healthy,
      "Exit with status 8 where heat, power supply or cable held a GPU back in a sample");
  command_->add_flag("--json", options_.json,
                     "Print the record (without samples) instead of tables");
  command_->add_flag("--quiet", options_.quiet, "No progress on standard error");
  command_->add_flag("--no-color", texts_.no_color,
                     "No colour; NO_COLOR in the environment does the same");
}

/// An empty text would count as none given.
void RunCommandLine::require_values() const {
  for (const char* option :
       {"--batch", "--sequence", "--dropout", "--bucket-mb", "--steps", "--tokens"}) {
    const std::vector<std::string>& values = command_->get_option(option)->results();
    if (std::find(values.begin(), values.end(), "") == values.end()) continue;
    throw UsageError(fmt::format("{} has an empty value", option), "leave it out, or give one");
  }
}

void RunCommandLine::read_selection() {
  require_values();
  options_.profile = parse_profile(texts_.profile);
  static_cast<SelectionOptions&>(options_) = linkgain::read_selection(texts_.selection);
  // An empty text was given too, and is refused.
  if (command_->count("--sizes") > 0) options_.sizes = parse_sizes(texts_.selection.sizes);
}

void RunCommandLine::read_job() {
  if (command_->count("--gpus") > 0) options_.gpus = parse_gpus(texts_.gpus);
  options_.ranks = given(*command_, "--np", texts_.ranks);
  options_.launches = given(*command_, "--launches", texts_.launches);
  if (const auto budget = given(*command_, "--budget", texts_.budget)) {
    options_.budget = Seconds{*budget};
  }
  if (!texts_.schedule.empty()) options_.sequential = parse_schedule(texts_.schedule);
  if (!texts_.hostfile.empty()) options_.hostfile = texts_.hostfile;
  if (!texts_.out.empty()) options_.out = texts_.out;
  if (options_.tokens) options_.token_facts = survey_token_file(*options_.tokens);
  options_.color = !texts_.no_color;
}

RunOptions RunCommandLine::read(int argc, const char* const* argv) {
  options_.argv.assign(argv, argv + argc);
  if (!texts_.backend.empty()) options_.backend = parse_backend(texts_.backend);
  read_selection();
  read_job();
  return options_;
}

}  // namespace linkgain
