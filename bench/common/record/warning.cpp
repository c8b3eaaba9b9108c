#include "linkgain/record/warning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <regex>
#include <utility>

#include "linkgain/cases/case_label.hpp"

namespace linkgain {
namespace {

using enum WarningCode;
using Origin = WarningOrigin;
using Weight = WarningWeight;

constexpr WarningRow kRows[] = {
    {assumed_gpus, "assumed-gpus", Origin::run, Weight::notice, ExitCode::success,
     "name other GPUs with --np or --gpus"},
    {assumed_node, "assumed-node", Origin::run, Weight::notice, ExitCode::success,
     "name other ranks with --np, or ask within salloc"},
    {left_out, "left-out", Origin::run, Weight::notice, ExitCode::success,
     "measure what the text says would fit"},
    {launch_groups, "launch-groups", Origin::run, Weight::notice, ExitCode::success,
     "nothing: the comparison is as good and takes longer"},
    {sequential, "sequential", Origin::run, Weight::doubtful, ExitCode::success,
     "drift between the variants is not cancelled: make room for all jobs at once"},
    {oversubscribed, "oversubscribed", Origin::run, Weight::doubtful, ExitCode::success,
     "start fewer ranks with --np"},
    {test_variable, "test-variable", Origin::run, Weight::doubtful, ExitCode::success,
     "unset the variable and run again"},
    {busy_gpu, "busy-gpu", Origin::run, Weight::doubtful, ExitCode::success,
     "end the other program, or wait for it"},
    {gpu_in_use, "gpu-in-use", Origin::run, Weight::notice, ExitCode::success,
     "end the other program, or wait for it"},
    {busy_processors, "busy-processors", Origin::run, Weight::doubtful, ExitCode::success,
     "end other work on this host and run again"},
    {exec_input, "exec-input", Origin::run, Weight::notice, ExitCode::success,
     "let a shell open the file in each run: -- sh -c 'wc -l < FILE'"},
    {exec_container, "exec-container", Origin::run, Weight::doubtful, ExitCode::success,
     "pass the variables on with -e NAME before the image"},
    {exec_compose, "exec-compose", Origin::run, Weight::doubtful, ExitCode::success,
     "list the variables under environment: in the compose file"},
    {resumed, "resumed", Origin::run, Weight::notice, ExitCode::success,
     "nothing: the run went on where it was ended"},
    {fewer_launches, "fewer-launches", Origin::run, Weight::notice, ExitCode::success,
     "give more time with --budget, or measure less with --only and --sizes"},
    {host_load, "host-load", Origin::run, Weight::doubtful, ExitCode::success,
     "small operations and host memory's path take longer beside other work on the processors: end "
     "it, or give the run more of them"},
    {job_lost, "job-lost", Origin::run, Weight::incomplete, ExitCode::success,
     "read its log in the folder of the run, and look at doctor's check xid"},
    {job_ended_badly, "job-ended-badly", Origin::run, Weight::notice, ExitCode::success,
     "nothing, unless the warning names ranks that were left"},
    {launch_refused, "launch-refused", Origin::run, Weight::incomplete, ExitCode::success,
     "the reason says what the case needs"},
    {journal_lost, "journal-lost", Origin::run, Weight::incomplete, ExitCode::success,
     "look at room and permissions of the folder"},
    {gpu_silent, "gpu-silent", Origin::run, Weight::doubtful, ExitCode::success,
     "see linkgain doctor for what the driver says of it"},
    {no_host_copy, "no-host-copy", Origin::run, Weight::notice, ExitCode::success,
     "the reason says what the copy needs"},
    {idle_pcie_links, "idle-pcie-links", Origin::run, Weight::notice, ExitCode::success,
     "measure PCIe links under load with linkgain doctor --load"},
    {run_failed, "run-failed", Origin::run, Weight::incomplete, ExitCode::incomplete,
     "read its output in the folder of the run"},
    {run_noted, "run-noted", Origin::run, Weight::notice, ExitCode::success,
     "nothing: the note says what was seen"},
    {metric_missing, "metric-missing", Origin::run, Weight::incomplete, ExitCode::incomplete,
     "look for the line in its log; --metric reads standard output and standard error of the "
     "command, not of a server, line by line"},
    {exec_waited, "exec-waited", Origin::run, Weight::doubtful, ExitCode::success,
     "let it write less, or into a file of its own: > run.log in a script"},
    {wrong_data, "wrong-data", Origin::derived, Weight::wrong, ExitCode::wrong_data,
     "do not trust results of this machine; run again"},
    {wrong_path, "wrong-path", Origin::derived, Weight::wrong, ExitCode::wrong_path,
     "`linkgain doctor` says what closes the path"},
    {same_path, "same-path", Origin::derived, Weight::doubtful, ExitCode::success,
     "`linkgain doctor` says why P2P is not used"},
    {evidence_missing, "evidence-missing", Origin::derived, Weight::doubtful, ExitCode::success,
     "`linkgain doctor` says which counters can be read"},
    {evidence_not_judged, "evidence-not-judged", Origin::derived, Weight::notice, ExitCode::success,
     "nothing: it is no fault of the machine"},
    {links_disturbed, "links-disturbed", Origin::derived, Weight::doubtful, ExitCode::success,
     "see with nvidia-smi what else runs on these GPUs, and measure again without it"},
    {inherited_variable, "inherited-variable", Origin::derived, Weight::notice, ExitCode::success,
     "unset the variable, in nccl.conf too"},
    {not_converged, "not-converged", Origin::derived, Weight::notice, ExitCode::success,
     "more --launches, or a longer --budget"},
    {one_launch, "one-launch", Origin::derived, Weight::notice, ExitCode::success,
     "measure several launches with --launches 6"},
    {level_change, "level-change", Origin::derived, Weight::doubtful, ExitCode::success,
     "keep other work off this machine"},
    {budget_used_up, "budget-used-up", Origin::derived, Weight::incomplete, ExitCode::success,
     "give more with --budget, or ask for less"},
    {losses_differ, "losses-differ", Origin::derived, Weight::doubtful, ExitCode::success,
     "run again, and look at the GPUs' memory with linkgain doctor"},
    {unhealthy_samples, "unhealthy-samples", Origin::derived, Weight::doubtful, ExitCode::unhealthy,
     "`linkgain doctor` looks at cooling and power"},
    {power_capped, "power-capped", Origin::derived, Weight::notice, ExitCode::success,
     "expected under heavy work; compare the limit with the GPU's default in nvidia-smi -q -d "
     "POWER"},
    {link_errors, "link-errors", Origin::derived, Weight::doubtful, ExitCode::unhealthy,
     "`linkgain doctor` names the link; reseat the bridge or the card"},
    {soak_drift, "soak-drift", Origin::derived, Weight::doubtful, ExitCode::unhealthy,
     "the report has every launch's time, temperature and errors: look for heat and other work at "
     "that time; a pair alone points to its link, linkgain doctor looks at it"},
    {health_not_measured, "health-not-measured", Origin::derived, Weight::doubtful,
     ExitCode::unhealthy,
     "`linkgain doctor` says what of NVML can be read on this machine; without it omit "
     "--require-healthy"},
    {neighbours_not_looked_for, "neighbours-not-looked-for", Origin::derived, Weight::doubtful,
     ExitCode::unhealthy, "run where NVML shows all GPUs of the run"},
    {other_hosts_not_looked_at, "other-hosts-not-looked-at", Origin::derived, Weight::doubtful,
     ExitCode::success, "ask Slurm for whole nodes with --exclusive"},
    {not_verified, "not-verified", Origin::derived, Weight::incomplete, ExitCode::incomplete,
     "go on with it by --resume, which measures these launches again"},
    {nothing_measured, "nothing-measured", Origin::derived, Weight::incomplete,
     ExitCode::incomplete,
     "the record has the reason of every case; ask for what this machine can do, or give more time "
     "with --budget"},
    {operation_not_measured, "operation-not-measured", Origin::run, Weight::incomplete,
     ExitCode::incomplete, "give more time with --budget, or name fewer operations with --only"},
    {exec_path, "exec-path", Origin::derived, Weight::wrong, ExitCode::wrong_path,
     "see whether the variables reach the program's processes"},
    {exec_no_change, "exec-no-change", Origin::derived, Weight::doubtful, ExitCode::success,
     "their times do not say what the link is worth; see whether the variables reach the program's "
     "processes and whether NCCL carries its data"},
    {exec_same_bytes, "exec-same-bytes", Origin::derived, Weight::doubtful, ExitCode::success,
     "no fault where the variants choose no path; else see whether variables and arguments reach "
     "the program's processes"},
    {exec_no_nvlink, "exec-no-nvlink", Origin::derived, Weight::doubtful, ExitCode::success,
     "`linkgain topo` shows what joins the GPUs, and `linkgain doctor` whether P2P works; a "
     "program "
     "on one GPU has nothing to send"},
    {exec_unseen, "exec-unseen", Origin::derived, Weight::doubtful, ExitCode::success,
     "see whether the program uses GPUs of this host"},
    {exec_neighbours, "exec-neighbours", Origin::derived, Weight::doubtful, ExitCode::success,
     "end the other programs, or wait for them"},
    {exec_others_unknown, "exec-others-unknown", Origin::derived, Weight::doubtful,
     ExitCode::success,
     "their NVLink traffic would count as the command's: see outside of the container with "
     "nvidia-smi who uses the GPUs"},
    {exec_throttled, "exec-throttled", Origin::derived, Weight::doubtful, ExitCode::success,
     "`linkgain doctor` looks at cooling and power"},
    {exec_power_capped, "exec-power-capped", Origin::derived, Weight::notice, ExitCode::success,
     "usual where one variant lets the GPUs work more; compare the limit with the default in "
     "nvidia-smi -q -d POWER"},
    {exec_no_nccl, "exec-no-nccl", Origin::derived, Weight::doubtful, ExitCode::success,
     "without NCCL its variables change nothing; a program may have it linked statically, or have "
     "ended too soon to be seen"},
    {exec_nccl_not_replaced, "exec-nccl-not-replaced", Origin::derived, Weight::doubtful,
     ExitCode::success, "see whether the program brings an NCCL of its own"},
    {exec_nccl_differs, "exec-nccl-differs", Origin::derived, Weight::doubtful, ExitCode::success,
     "the times compare libraries, too: set LD_LIBRARY_PATH alike in both variants"},
    {p2p_forbidden, "p2p-forbidden", Origin::derived, Weight::doubtful, ExitCode::success,
     "unset the variable and run again"},
    {few_digits, "few-digits", Origin::derived, Weight::notice, ExitCode::success,
     "let the program print more digits of it"},
    {few_runs, "few-runs", Origin::derived, Weight::doubtful, ExitCode::success,
     "ask for more with --rounds: with four of each variant it is 1 of 35 cases"},
    {control_differs, "control-differs", Origin::derived, Weight::doubtful, ExitCode::success,
     "give smaller differences no meaning; one control in 20 differs by chance: run again, with "
     "more --rounds or on a quieter machine"},
    {rate_unmarked, "rate-unmarked", Origin::run, Weight::doubtful, ExitCode::success,
     "add --higher-is-better, or --higher-is-better=NAME for one metric of several"},
    {matches_differ, "matches-differ", Origin::derived, Weight::doubtful, ExitCode::success,
     "see in the logs whether both did the same work; a sum grows with the matches, and "
     "--metric-use median does not"},
    {record_refused, "record-refused", Origin::run, Weight::incomplete, ExitCode::incomplete,
     "report it, with the folder of the run"},
    {record_lost, "record-lost", Origin::run, Weight::incomplete, ExitCode::incomplete,
     "make room, and run again"},
    {record_elsewhere, "record-elsewhere", Origin::run, Weight::incomplete, ExitCode::incomplete,
     "take the record from the file that is named"},
    {report_lost, "report-lost", Origin::run, Weight::incomplete, ExitCode::incomplete,
     "print it with linkgain report"},
    {same_run, "same-run", Origin::comparison, Weight::notice, ExitCode::success,
     "it is no test of anything: compare with another run"},
    {incomplete, "incomplete", Origin::comparison, Weight::notice, ExitCode::success,
     "what it lacks is not compared; measure it again"},
    {throttled, "throttled", Origin::comparison, Weight::notice, ExitCode::success,
     "`linkgain doctor` looks at cooling and power"},
    {neighbours, "neighbours", Origin::comparison, Weight::notice, ExitCode::success,
     "end the other programs, or wait for them"},
    {disturbed, "disturbed", Origin::comparison, Weight::notice, ExitCode::success,
     "end the other programs, and measure again"},
    {other_gpus, "other-gpus", Origin::comparison, Weight::notice, ExitCode::success,
     "compare runs of the same GPUs to see what the link is worth"},
    {other_pcie, "other-pcie", Origin::comparison, Weight::notice, ExitCode::success,
     "traffic through the host uses it: check PCIe with linkgain doctor"},
    {other_clocks, "other-clocks", Origin::comparison, Weight::notice, ExitCode::success,
     "look at the clocks that are set with `nvidia-smi -q -d CLOCK`, and at power limits with "
     "linkgain doctor"},
    {other_driver, "other-driver", Origin::comparison, Weight::notice, ExitCode::success,
     "measure both sides with the same driver"},
    {other_nccl, "other-nccl", Origin::comparison, Weight::notice, ExitCode::success,
     "measure both sides with the same NCCL: its choices change between versions"},
    {other_software, "other-software", Origin::comparison, Weight::notice, ExitCode::success,
     "measure both sides with the same build and libraries"},
    {other_host, "other-host", Origin::comparison, Weight::notice, ExitCode::success,
     "compare runs of the same machine"},
    {other_variables, "other-variables", Origin::comparison, Weight::notice, ExitCode::success,
     "set the same variables on both sides, unless they are what is compared"},
    {other_settings, "other-settings", Origin::comparison, Weight::notice, ExitCode::success,
     "measure both sides with the same command line"},
    {other_path, "other-path", Origin::comparison, Weight::notice, ExitCode::success,
     "if no bridge was fitted or taken out, run linkgain doctor"},
    {other_form, "other-form", Origin::comparison, Weight::notice, ExitCode::success,
     "measure both sides with the same NCCL and build"},
    {other_buffers, "other-buffers", Origin::comparison, Weight::notice, ExitCode::success,
     "measure both sides with the same program, or linkgain-bench with nccl-tests' flags"},
    {other_ranks, "other-ranks", Origin::comparison, Weight::notice, ExitCode::success,
     "measure both sides with as many ranks"},
    {other_launch, "other-launch", Origin::comparison, Weight::notice, ExitCode::success,
     "measure both sides with one --launch-mode"},
    {weak_baseline, "weak-baseline", Origin::comparison, Weight::notice, ExitCode::success,
     "give more launches, or more records"},
    {unsteady, "unsteady", Origin::comparison, Weight::notice, ExitCode::success,
     "measure the baseline again"},
    {own_baseline, "own-baseline", Origin::comparison, Weight::notice, ExitCode::success,
     "it is no test of anything: check another run"},
    {incomplete_record, "incomplete-record", Origin::comparison, Weight::notice, ExitCode::success,
     "measure the run again"},
    {idle_override, "idle-override", Origin::comparison, Weight::notice, ExitCode::success,
     "patterns must match whole names: begin and end with * where more may stand there"},
    {other_selection, "other-selection", Origin::comparison, Weight::notice, ExitCode::success,
     "measure with the profile and options that the baseline's runs had"},
    {other_program, "other-program", Origin::comparison, Weight::notice, ExitCode::success,
     "times of another program or of other arguments say nothing: check a run of the baseline's "
     "command"},
    {unknown, "unknown", Origin::run, Weight::doubtful, ExitCode::success,
     "it is not known to this version of linkgain: read the record with the one that wrote it"},
};

constexpr bool are_in_order() {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].code != static_cast<WarningCode>(i)) return false;
  }
  return std::end(kRows)[-1].code == unknown;
}
static_assert(are_in_order(), "each code has its row, at its place");

const WarningRow& row_of(WarningCode code) { return kRows[static_cast<std::size_t>(code)]; }

/// Returns whether a lost job or an interrupt ended sampling.
bool broke_off(const CaseResult& result) {
  return result.stopped == StopReason::job_lost || result.stopped == StopReason::interrupted;
}

bool has(const Record& record, WarningCode code) {
  return std::ranges::any_of(record.warnings,
                             [code](const Warning& warning) { return is(warning, code); });
}

/// Tells whether a warning of an older version says no more than that a hypervisor took kMuchStolen
/// or less of the processor of each rank on the host that it looked at.
bool is_of_little_stolen(const Record& record, const Warning& warning) {
  static const std::regex alone(
      "while measuring,? a hypervisor took ([0-9]{1,4}[.][0-9]{2}) processors' time [^;]*");
  std::smatch found;
  if (!is(warning, host_load) || !std::regex_match(warning.text, found, alone)) return false;
  const auto ranks = std::ranges::count(record.machine.ranks, record.machine.host, &RankInfo::host);
  const double most = kMuchStolen * std::max(1.0, static_cast<double>(ranks));
  return std::stod(found[1]) <= most;
}

}  // namespace

std::span<const WarningRow> warning_rows() { return kRows; }

const WarningRow& row_of(const Warning& warning) {
  const auto* const found = std::ranges::find(kRows, warning.code, &WarningRow::name);
  return found == std::end(kRows) ? row_of(unknown) : *found;
}

std::string name_of(WarningCode code) { return std::string(row_of(code).name); }

std::string advice_of(WarningCode code) { return std::string(row_of(code).advice); }

Warning warning_of(WarningCode code, std::string text) {
  return {name_of(code), std::move(text), advice_of(code)};
}

std::string label_of(const Warning& warning) {
  return is(warning, unknown) ? warning.code + " (not known to this version)" : warning.code;
}

bool is(const Warning& warning, WarningCode code) { return row_of(warning).code == code; }

bool disturbs(const Warning& warning) {
  static constexpr WarningCode kDisturbing[] = {busy_gpu,        exec_neighbours, links_disturbed,
                                                busy_processors, host_load,       oversubscribed,
                                                disturbed};
  return std::ranges::find(kDisturbing, row_of(warning).code) != std::end(kDisturbing);
}

std::string disturbed_by(std::span<const Warning> warnings) {
  std::vector<std::string> codes;
  for (const Warning& warning : warnings) {
    if (disturbs(warning) && std::ranges::find(codes, warning.code) == codes.end()) {
      codes.push_back(warning.code);
    }
  }
  return fmt::format("{}", fmt::join(codes, " "));
}

void drop_derived(Record& record) {
  std::erase_if(record.warnings, [&](const Warning& warning) {
    return row_of(warning).origin != WarningOrigin::run || is_of_little_stolen(record, warning);
  });
}

std::string spoken_case(const Record& record, const Case& definition) {
  return spoken_case(definition, word_for_ranks(record.machine));
}

bool has_warning(const Record& record, ExitCode exit_code) {
  return std::ranges::any_of(record.warnings, [exit_code](const Warning& warning) {
    return row_of(warning).exit_code == exit_code;
  });
}

std::string_view ending_of(const Record& record) {
  const bool failed =
      std::ranges::any_of(record.runs, [](const ProgramRun& run) { return !run.failure.empty(); });
  if (failed && record.status == RunStatus::incomplete) return kEndedByFailure;
  const bool was_cut =
      has(record, WarningCode::fewer_launches) || has(record, WarningCode::budget_used_up);
  return was_cut && record.status == RunStatus::complete ? kEndedByBudget : name_of(record.status);
}

std::optional<Remedy> remedy_for(const Record& record, const CaseResult& result) {
  if (result.ratios.empty() || result.converged || broke_off(result)) return std::nullopt;
  const bool was_cut =
      result.stopped == StopReason::out_of_time || has(record, WarningCode::fewer_launches);
  // The one launch that was asked for has no interval, however much time it has.
  const bool is_alone = record.settings.launches == 1 && !result.ratios.front().ratio.interval;
  return was_cut && !is_alone ? Remedy::time : Remedy::launches;
}

ExitCode exit_code_of(const Record& record) {
  if (has_warning(record, ExitCode::incomplete) || record.status != RunStatus::complete) {
    return ExitCode::incomplete;
  }
  const bool wrong_data = std::ranges::any_of(record.cases, [](const CaseResult& result) {
    return std::ranges::any_of(result.variants, has_wrong_data);
  });
  if (wrong_data) return ExitCode::wrong_data;
  if (has_warning(record, ExitCode::wrong_path)) return ExitCode::wrong_path;
  const bool others = record.neighbours && !record.neighbours->seen.empty();
  const bool is_unhealthy = others || has_warning(record, ExitCode::unhealthy);
  return record.settings.require_healthy && is_unhealthy ? ExitCode::unhealthy : ExitCode::success;
}

}  // namespace linkgain
