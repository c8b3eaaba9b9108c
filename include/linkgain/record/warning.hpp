#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/record/record.hpp"

/// Every warning that linkgain gives, in one table: its code, how much it takes from what a run
/// says, the status that a run with it ends with, and what to do.
namespace linkgain {

/// What a warning is of. A record has its name ("job-lost").
enum class WarningCode {
  // What a run is planned with
  assumed_gpus,
  assumed_node,
  left_out,
  launch_groups,
  sequential,
  oversubscribed,
  test_variable,
  busy_gpu,
  gpu_in_use,
  busy_processors,
  exec_input,
  exec_container,
  exec_compose,
  // What happens while it measures
  resumed,
  fewer_launches,
  host_load,
  job_lost,
  job_ended_badly,
  launch_refused,
  journal_lost,
  gpu_silent,
  no_host_copy,
  idle_pcie_links,
  run_failed,
  run_noted,
  metric_missing,
  exec_waited,
  // What the samples say
  wrong_data,
  wrong_path,
  same_path,
  evidence_missing,
  evidence_not_judged,
  links_disturbed,
  inherited_variable,
  not_converged,
  one_launch,
  level_change,
  budget_used_up,
  losses_differ,
  unhealthy_samples,
  power_capped,
  link_errors,
  soak_drift,
  health_not_measured,
  neighbours_not_looked_for,
  other_hosts_not_looked_at,
  not_verified,
  nothing_measured,
  operation_not_measured,
  // What a program's runs say
  exec_path,
  exec_no_change,
  exec_same_bytes,
  exec_no_nvlink,
  exec_unseen,
  exec_neighbours,
  exec_others_unknown,
  exec_throttled,
  exec_power_capped,
  exec_no_nccl,
  exec_nccl_not_replaced,
  exec_nccl_differs,
  p2p_forbidden,
  few_digits,
  few_runs,
  control_differs,
  rate_unmarked,
  matches_differ,
  // What happens to the results
  record_refused,
  record_lost,
  record_elsewhere,
  report_lost,
  // What weakens a comparison
  same_run,
  incomplete,
  throttled,
  neighbours,
  disturbed,
  other_gpus,
  other_pcie,
  other_clocks,
  other_driver,
  other_nccl,
  other_software,
  other_host,
  other_variables,
  other_settings,
  other_path,
  other_form,
  other_buffers,
  other_ranks,
  other_launch,
  // What weakens a check
  weak_baseline,
  unsteady,
  own_baseline,
  incomplete_record,
  idle_override,
  other_selection,
  other_program,
  // In a record that a newer linkgain wrote
  unknown,
};

/// How much a warning takes from what a run says, the most first.
enum class WarningWeight {
  wrong,       ///< results are wrong, or not of the path that the variant's name says
  incomplete,  ///< something that was asked for is missing
  doubtful,    ///< figures may be off, or may not show what they are taken to show
  notice,      ///< expected, or of what was asked for; limits nothing that intervals do not cover
};

/// Who says it.
enum class WarningOrigin {
  run,         ///< the run alone knew it: whoever reads its record believes it
  derived,     ///< judge() makes it of samples, evidence, machine and settings, whoever reads them
  comparison,  ///< of a run beside others or a baseline: it is in no run's record
};

struct WarningRow {
  WarningCode code;
  std::string_view name;
  WarningOrigin origin;
  WarningWeight weight;
  /// What a run with it ends with at least: success where it may end well, and unhealthy with
  /// Settings::require_healthy alone.
  ExitCode exit_code;
  std::string_view advice;
};

/// The share of a rank's processor that is worth a warning where a hypervisor gives it to others,
/// as much as where processes of its own wait: less is usual in virtual machines, and launches that
/// differ by it differ within their interval.
inline constexpr double kMuchStolen = 0.2;

/// Lists a row for each code, in the order of the codes.
std::span<const WarningRow> warning_rows();

/// Finds the row of a warning; that of WarningCode::unknown where this version has no such code.
const WarningRow& row_of(const Warning& warning);

/// Returns "job-lost", as in records.
std::string name_of(WarningCode code);

/// Says what to do, where the machine and what was asked for need not be known for that.
std::string advice_of(WarningCode code);

/// Makes a warning with the advice of its row.
Warning warning_of(WarningCode code, std::string text);

/// Names a warning as reports do: by its code, "of-tomorrow (not known to this version)" where this
/// version has no such code.
std::string label_of(const Warning& warning);

bool is(const Warning& warning, WarningCode code);

/// Tells whether it says that other work, or more ranks than processors, may have made times longer
/// than the machine alone does.
bool disturbs(const Warning& warning);

/// Lists the codes of those that do, each once: "busy-processors host-load".
std::string disturbed_by(std::span<const Warning> warnings);

/// Leaves in a record what the run alone knew, without what is no longer worth a warning: that a
/// hypervisor took kMuchStolen of each rank's processor or less.
void drop_derived(Record& record);

/// Names a case as warnings and sentences do: "send-recv between GPU 0 and GPU 1 of 1 GiB".
std::string spoken_case(const Record& record, const Case& definition);

/// Tells whether there is one that the run ends with this status for.
bool has_warning(const Record& record, ExitCode exit_code);

/// Finds the status that a finished run ends with, by its state, its data and its warnings: the
/// first of incomplete, wrong data, wrong path, unhealthy, success.
ExitCode exit_code_of(const Record& record);

}  // namespace linkgain
