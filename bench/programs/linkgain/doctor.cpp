#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "linkgain/base/temporary_folder.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/delivery/proof_notes.hpp"
#include "linkgain/delivery/rung_job.hpp"
#include "linkgain/diagnostics/check_catalog.hpp"
#include "linkgain/diagnostics/diagnosis_table.hpp"
#include "linkgain/diagnostics/survey.hpp"
#include "linkgain/formats/diagnosis_files.hpp"
#include "linkgain/formats/textfile.hpp"
#include "linkgain/jobs/job.hpp"
#include "linkgain/process/process.hpp"
#include "linkgain/process/signals.hpp"
#include "linkgain/tables/junit.hpp"
#include "linkgain/tables/prometheus.hpp"
#include "linkgain/telemetry/host.hpp"
#include "subcommand.hpp"

namespace linkgain {
namespace {

int cuda_index(const Survey& survey, int place) {
  return survey.topology.gpus[static_cast<std::size_t>(place)].cuda_index.value();
}

/// Says why there can be no jobs; empty where there can.
std::string obstacle(const Survey& survey) {
  if (survey.topology.gpus.size() < 2) {
    return fmt::format("no proof: {}, and so no pair to send data between",
                       survey.topology.gpus.empty() ? "there is no GPU" : "there is one GPU");
  }
  const SoftwareSurvey& software = survey.software;
  if (!software.worker.measured()) return "no proof: " + software.worker.reason();
  const Software& worker = software.worker.value();
  if (worker.nccl_missing) return "no proof: " + *worker.nccl_missing;
  if (!worker.nccl_library) return "no proof: linkgain-bench was built without CUDA and NCCL";
  return {};
}

/// Says "step kernels between GPU0 and GPU1, GPU2 and GPU3".
std::string text_of(ProofRung rung, const std::vector<GpuPair>& pairs, const Topology& topology) {
  std::vector<std::string> names;
  for (const GpuPair& pair : pairs) {
    names.push_back(fmt::format("{} and {}", device_label(topology, pair.first),
                                device_label(topology, pair.second)));
  }
  return fmt::format("step {} between {}", name_of(rung), fmt::join(names, ", "));
}

/// Puts on disk which step starts. Where that cannot be, says so and names the step: what is on a
/// terminal far away, or in a log there, outlives the machine as well.
void note(ProofNotes& notes, const std::string& step, bool& is_told) {
  const std::string failure = notes.begin(step);
  if (failure.empty()) return;
  if (!std::exchange(is_told, true)) {
    print_message(stderr,
                  fmt::format("linkgain: warning: {}\n"
                              "          If the machine goes down, no note will say in which step. "
                              "These lines do.\n",
                              visible(failure)));
  }
  print_message(stderr, fmt::format("linkgain: {}\n", step));
}

/// Carries out `linkgain doctor --prove`: climbs the rungs between all pairs of GPUs by jobs of two
/// linkgain-bench, several pairs at a time, and puts what came of it into `survey`, whose worker
/// was asked before. A job that hangs is ended 10 s after its GPUs are ready, that under load so
/// long after its time; it is left out where that is 0. Throws Interrupted.
void survey_delivery(Survey& survey, Seconds load_time, const Environment& environment,
                     const SignalWatch& watch) {
  ProofNotes notes(environment);
  survey.proof_left = notes.left();
  survey.proof_failure = obstacle(survey);
  if (!survey.proof_failure.empty()) return;
  const TemporaryFolder folder;
  int jobs_started = 0;
  bool is_told = false;
  const auto run = [&](ProofRung rung, const std::vector<GpuPair>& pairs) {
    note(notes, text_of(rung, pairs, survey.topology), is_told);
    std::vector<std::unique_ptr<RungJob>> jobs;
    for (const GpuPair& pair : pairs) {
      const auto own = folder.path() / fmt::to_string(jobs_started++);
      jobs.push_back(std::make_unique<RungJob>(rung, cuda_index(survey, pair.first),
                                               cuda_index(survey, pair.second), load_time, own));
    }
    for (const auto& job : jobs) job->wait_for_begin(watch);
    std::vector<RungResult> results;
    for (const auto& job : jobs) results.push_back(job->result(watch));
    return results;
  };
  try {
    survey.proofs =
        prove_delivery(pairs_to_prove(survey.topology),
                       static_cast<int>(survey.topology.gpus.size()), load_time.value > 0.0, run);
    notes.forget_left();
  } catch (const MachineError& error) {
    survey.proof_failure = fmt::format("no proof: {}", error.what());
  }
}

constexpr const char* kDoctorFooter =
    "Examples:\n"
    "  linkgain doctor            every check that needs no load\n"
    "  linkgain doctor --load     PCIe links at work too, and copies over NVLink\n"
    "  linkgain doctor --prove    whether what one GPU sends another arrives\n"
    "  linkgain doctor --prove --for 5m   the same, and then minutes of load\n"
    "  linkgain doctor --only nvlink-links,p2p\n"
    "  linkgain doctor --explain nvlink-links";

struct DoctorOptions {
  OutputFormat format = OutputFormat::table;
  bool load = false;    ///< copy between host and GPUs and look at the PCIe links meanwhile
  bool prove = false;   ///< send data from GPU to GPU and see whether they arrive
  Seconds load_time{};  ///< and for how long under load; 0: not at all
  bool verbose = false;
  std::vector<std::string> only;  ///< ids of checks; empty: all
  bool node = false;              ///< only checks of the machine, none of a run from here
  std::string explain;            ///< id of a check to be explained instead
  std::optional<std::filesystem::path> junit;
  std::optional<std::filesystem::path> prometheus;
  bool color = true;
};

/// For what the worker and mpirun say of themselves, from their start; the machine is looked at
/// meanwhile.
constexpr Seconds kDescribeLimit{2.3};
/// How long host and GPUs copy, what starting takes at most, and how often they are looked
/// at.
constexpr int kLoadSeconds = 5;
constexpr Seconds kLoadLimit{30.0};
constexpr Seconds kBetweenLooks{0.1};

Survey survey_with_worker(const SurveySources& sources, const SignalWatch& watch) {
  const Deadline limit(kDescribeLimit);
  ProgramInquiry worker(worker_program(), {"--describe"}, sources.environment);
  ProgramInquiry mpirun(find_mpirun(sources), {"--version"}, sources.environment);
  Survey survey = survey_machine(sources);
  survey.software.worker = software_in(worker.line(limit.remaining(), watch));
  survey.software.mpirun_version = mpi_version_in(mpirun.output(limit.remaining(), watch));
  if (survey.software.mpirun.measured()) {
    survey.software.mpirun_failure = mpirun.ended_well(limit.remaining(), watch).reason();
  }
  return survey;
}

void set_load_failure(Survey& survey, const std::string& reason) {
  survey.load_failure = reason;
  for (GpuSurvey& gpu : survey.gpus) gpu.load = Missing{"no load: " + reason};
  survey.peer_copies = Missing{"no load: " + reason};
}

/// Copies between the host and all visible GPUs and watches them.
void survey_load(Survey& survey, const Environment& environment, const SignalWatch& watch) {
  if (survey.gpus.empty()) return set_load_failure(survey, "there is no GPU");
  const Deadline limit(kLoadLimit);
  LoadWatch gpus(survey);
  ProgramInquiry worker(worker_program(), {"--load", fmt::to_string(kLoadSeconds)}, environment);
  while (true) {
    const Reading<bool> end = worker.ended_well(kBetweenLooks, watch);
    if (end.measured()) break;
    if (!end.reason().empty()) return set_load_failure(survey, end.reason());
    if (limit.passed()) return set_load_failure(survey, "linkgain-bench did not end in time");
    gpus.look();
  }
  gpus.put_into(survey);
  survey.peer_copies = peer_copies_in(worker.line(kBetweenLooks, watch).value_or(""));
}

/// What was found, and the picture of a page.
struct Outcome {
  Diagnosis diagnosis;
  std::optional<std::string> picture{};
};

/// Throws Interrupted.
Outcome diagnose(const DoctorOptions& options) {
  const SignalWatch watch;
  const SurveySources sources = sources_of_this_process(current_environment());
  // Programs on a node that others use are not started to judge the node.
  Survey survey = options.node ? survey_machine(sources) : survey_with_worker(sources, watch);
  if (options.load) survey_load(survey, sources.environment, watch);
  if (options.prove) survey_delivery(survey, options.load_time, sources.environment, watch);
  Outcome outcome{
      {host_name(), utc_now(false),
       link_answer(survey.topology, options.node ? NcclSettings{} : survey.software.nccl),
       check_machine(survey), delivery_report(survey)}};
  if (options.format == OutputFormat::html) {
    outcome.picture = links_picture(survey.topology, options.format);
  }
  return outcome;
}

/// Refuses --only of what other options find or leave out.
void require_findable(const DoctorOptions& options) {
  const std::vector<std::string>& only = options.only;
  if (options.prove && !only.empty() && std::ranges::count(only, "p2p-delivery") == 0) {
    throw UsageError("--prove finds p2p-delivery, which --only leaves out",
                     "linkgain doctor --prove --only p2p-delivery");
  }
  if (!options.prove && only == std::vector<std::string>{"p2p-delivery"}) {
    throw UsageError("only --prove finds p2p-delivery",
                     "linkgain doctor --prove --only p2p-delivery");
  }
  if (!options.load && only == std::vector<std::string>{"nvlink-bandwidth"}) {
    throw UsageError("only --load finds nvlink-bandwidth",
                     "linkgain doctor --load --only nvlink-bandwidth");
  }
}

void declare(CommandLine& line, DoctorOptions& options) {
  add_document_format(line, options.format);
  line.app.add_flag("--load", options.load,
                    "Copy between host and GPUs and look at PCIe links meanwhile; measure "
                    "NVLink by copies");
  line.app.add_flag("--prove", options.prove,
                    "Send data between GPUs in every way and see whether they arrive, beside a "
                    "control without P2P");
  line.deferred
      .add(
          "--for", options.load_time,
          [](const std::string& text) {
            return parse_duration(text, "--for", Seconds{1.0}, Seconds{600.0});
          },
          "With --prove: stores, copies and all-reduces at once for that long, as 5m; such load "
          "has "
          "reset machines: save your work")
      ->type_name("TIME");
  line.deferred.then([&options] {
    if (options.load_time.value > 0.0 && !options.prove) {
      throw UsageError("--for is how long --prove puts load on the links",
                       "linkgain doctor --prove --for 5m");
    }
  });
  line.app.add_flag("--verbose", options.verbose, "Show every check that is ok, too");
  const auto parse_check = [](const std::string& id) { return std::string(find_check(id).id); };
  CLI::Option* const only =
      line.deferred
          .add_list("--only", options.only, parse_check, "Checks, such as nvlink-links,p2p")
          ->type_name("CHECK,...");
  line.deferred.then([&options] { require_findable(options); });
  line.app.add_flag("--node", options.node,
                    "Only checks of the machine, none of what a run from here would find (cores, "
                    "variables, mpirun)");
  CLI::Option* const explain = line.deferred
                                   .add("--explain", options.explain, parse_check,
                                        "Say what a check means and what to do, and end")
                                   ->type_name("CHECK");
  for (const CheckEntry& check : check_catalog()) {
    line.words[only].emplace_back(check.id);
    line.words[explain].emplace_back(check.id);
  }
  add_file(line, "--junit", options.junit, kJunitHelp);
  add_file(line, "--prometheus", options.prometheus, kPrometheusHelp);
  line.deferred.then([&options] {
    require_own_outputs({}, {{"--junit", options.junit, &kJunitFile},
                             {"--prometheus", options.prometheus, &kPrometheusFile}});
    require_textfile(options.prometheus, "linkgain_doctor_");
  });
  add_no_color(line, options.color);
}

/// Returns whether the command line asks for this check.
bool is_wanted(const DoctorOptions& options, const std::string& id) {
  if (options.node && find_check(id).scope == CheckScope::run) return false;
  return options.only.empty() || std::ranges::find(options.only, id) != options.only.end();
}

/// Returns whether the command line asks for what this check found, and not only for what it finds
/// wrong.
bool is_asked_for(const DoctorOptions& options, const std::string& id) {
  return options.verbose || (options.prove && id == "p2p-delivery") ||
         (options.load && id == "nvlink-bandwidth") ||
         std::ranges::find(options.only, id) != options.only.end();
}

/// Carries out `linkgain doctor`: checks this machine, writes the files asked for and prints what
/// it found. Returns the exit code; throws UsageError where a file cannot be written.
int carry_out(const DoctorOptions& options) {
  if (!options.explain.empty()) {
    fmt::print("{}", to_terminal(explanation_of(find_check(options.explain)), document_style()));
    return static_cast<int>(ExitCode::success);
  }
  Outcome outcome;
  try {
    outcome = diagnose(options);
  } catch (const Interrupted& interrupted) {
    return kSignalExitBase + interrupted.signal_number();
  }
  Diagnosis& diagnosis = outcome.diagnosis;
  std::erase_if(diagnosis.findings,
                [&](const Finding& finding) { return !is_wanted(options, finding.id); });
  if (options.junit) write_own_file(*options.junit, kJunitFile, diagnosis_junit(diagnosis));
  if (options.prometheus) write_textfile(*options.prometheus, diagnosis_prometheus(diagnosis));
  fmt::print("{}",
             options.format == OutputFormat::json
                 ? to_json(diagnosis)
                 : in_format(options.format,
                             diagnosis_report(
                                 diagnosis,
                                 [&](const std::string& id) { return is_asked_for(options, id); },
                                 outcome.picture),
                             "linkgain: diagnosis of " + diagnosis.host, options.color));
  ExitCode code = exit_code_of(diagnosis);
  const bool lacks_proof =
      options.prove && !(diagnosis.delivery && diagnosis.delivery->proves_any());
  if (lacks_proof && code == ExitCode::success) code = ExitCode::machine_cannot;
  return static_cast<int>(code);
}

const Registration kDoctorRegistration(Subcommand<DoctorOptions>{
    "doctor",
    "Diagnose GPUs, links and host",
    {ExitCode::problem_found, ExitCode::machine_cannot},
    kDoctorFooter,
    {.in_help = 3, .in_list = 3},
    declare,
    carry_out});

}  // namespace

}  // namespace linkgain
