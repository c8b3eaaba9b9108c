#include <fmt/format.h>

#include <array>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/diagnostics/link_verdict.hpp"
#include "linkgain/diagnostics/survey.hpp"
#include "linkgain/diagnostics/topology_table.hpp"
#include "linkgain/html/machine_picture.hpp"
#include "linkgain/telemetry/topology_reader.hpp"
#include "subcommand.hpp"

namespace linkgain {
namespace {

constexpr const char* kTopoFooter =
    "Examples:\n"
    "  linkgain topo                  the matrix of nvidia-smi topo -m, and rates\n"
    "  linkgain topo --json > topology.json";

struct TopoOptions {
  OutputFormat format = OutputFormat::table;
};

void declare(CommandLine& line, TopoOptions& options) {
  using enum OutputFormat;
  add_format(line, "FORMAT", std::array{table, markdown, json, html, svg}, options.format, {json});
}

/// Prints the machine's devices and the paths between them. Returns 1 where doctor finds a problem
/// in the links, else 0.
/// Throws MachineError where there is no GPU, with JSON after the document.
int carry_out(const TopoOptions& options) {
  const Topology topology = survey_topology();
  const SurveySources sources = sources_of_this_process(current_environment());
  const NcclSettings nccl = survey_nccl_settings(sources.environment, sources.home, sources.etc);
  const LinkAnswer answer = link_answer(topology, nccl);
  const bool has_gpus = !topology.gpus.empty();
  if (options.format == OutputFormat::json) {
    fmt::print("{}", to_json(topology));
  } else if (has_gpus && options.format == OutputFormat::svg) {
    fmt::print("{}", machine_svg(machine_of(topology), answer.verdict));
  } else if (has_gpus) {
    fmt::print("{}",
               in_format(options.format,
                         topology_report(topology, nccl, links_picture(topology, options.format)),
                         "linkgain: topology of " + topology.host));
  }
  if (has_gpus) {
    const bool is_bad = answer.judgement == CheckVerdict::problem;
    return static_cast<int>(is_bad ? ExitCode::problem_found : ExitCode::success);
  }
  throw MachineError(
      fmt::format("no GPU: {}", topology.no_gpus),
      !topology.no_gpus_advice.empty()
          ? topology.no_gpus_advice
          : "install NVIDIA's driver and check that nvidia-smi lists the GPUs; a container "
            "must be started with them (docker run --gpus all)");
}

const Registration kTopoRegistration(Subcommand<TopoOptions>{
    "topo",
    "Show GPUs and links",
    {ExitCode::problem_found, ExitCode::machine_cannot},
    kTopoFooter,
    {.in_help = 2, .in_list = 2},
    declare,
    carry_out});

}  // namespace
}  // namespace linkgain
