#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "linkgain/summary/run_summary.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

/// Makes the whole report of `linkgain run` or `exec`: title, the answer and its table, and the
/// details.
Document run_report(const RunSummary& summary);

/// Has what run_report() has more than answer_document(): trainings, or the metrics of a program,
/// warnings, tables by size, variants, machine, how to repeat it.
Document run_details(const RunSummary& summary);

/// Gives the parts of run_report(), each empty where there is nothing to say: title and when and
/// where the run was; sections with a heading of the second level.
Document report_head(const Record& record);
Document warnings_section(const Record& record);
Document variants_section(const Record& record);
Document machine_section(const Record& record);
Document repeat_section(const Record& record);

/// Makes such a section of a soak's launches: when each began, errors that were counted meanwhile,
/// the highest temperature, and times, of which those that drifted come first; and what degraded.
/// Of many launches some, and those with errors. Empty of other runs.
Document soak_section(const RunSummary& summary);

/// Makes such a section of what the links' counters say: a row for every case and variant; where
/// the summary is condensed, for those of the answer.
Document nvlink_traffic_section(const RunSummary& summary);

/// Makes such a section of the trainings: the guide's own table, of what all steps of the
/// training that the answer speaks of, else of the first, take with each variant, and how much less
/// time that is; below it one table over all trainings, and why others were not measured. Empty
/// where the record has no training.
Document training_section(const RunSummary& summary);

/// Makes one table per curve with a row per size: every variant's time and bus bandwidth, the
/// speed-up with its 95 % interval, less time, and marks. Below it stand the curve's steps
/// (find_steps()) and what the marks mean; of a curve of our own kernel how many times longer
/// NCCL's operation, or the copy engine, took at each size. Without the curves whose only size is
/// in pair_tables(). Where the summary is condensed, one table of the first curve of each operation
/// and one with a row for each group of the others.
Document size_tables(const RunSummary& summary);

/// Shows for all cases that differ in the ranks of their pair only, two or more: a matrix for each
/// variant, from × to, with what joins each pair; the weakest pair by name, and those that are weak
/// for their kind, or that none differs by more than the run's precision; and a table with a row
/// for each pair as size_tables() has for each size. Where the summary is condensed, a matrix of
/// the first variant for the first of each operation, and one table with the weakest and the
/// strongest pair of all. Empty where the record has no such cases.
Document pair_tables(const RunSummary& summary);

/// Says what NVLink could save at most where this run did without: each operation's largest size at
/// the link's rate, each training without its exposed communication. Arithmetic on what was
/// measured. Empty where a case took NVLink, and of anything but GPUs of one host.
Document nvlink_bound(const RunSummary& summary);

/// Says the state of the GPUs over all samples, who else worked on them, and errors of links, a
/// sentence each: "Health: 34–48 °C, 80–310 W, SM 1980 MHz, no sample throttled". Those of which
/// the record knows nothing are not there.
std::vector<std::string> health_lines(const RunSummary& summary);

/// Names the file that a run's trainings read, or "generated tokens".
std::string readable_tokens(const Settings& settings);

}  // namespace linkgain
