#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/json_members.hpp"
#include "linkgain/hardware/hardware_members.hpp"
#include "linkgain/record/record.hpp"

/// What a record holds. A member that is named here is written and read, and in the schema and in
/// the tables of docs/record.md, which LINKGAIN_UPDATE_GOLDENS=1 writes anew from it.
namespace linkgain {

/// The samples of all cases in the order measured, in columns of one value each a sample.
struct SampleTable {
  std::vector<std::int64_t> place{};  ///< of the case among all
  std::vector<int> variant{};
  std::vector<int> launch{};
  std::vector<int> round{};
  std::vector<int> position{};
  std::vector<std::int64_t> operations{};
  std::vector<std::vector<std::optional<double>>> seconds_by_rank{};
  std::vector<std::vector<std::optional<int>>> temperature_c_by_rank{};
  std::vector<std::vector<std::optional<double>>> power_w_by_rank{};
  std::vector<std::vector<std::optional<int>>> sm_clock_mhz_by_rank{};
  std::vector<std::vector<std::optional<std::uint64_t>>> clock_event_reasons_by_rank{};
  // Empty where all samples have the default.
  std::vector<std::optional<double>> loss{};
  std::vector<double> resolution{};
  std::vector<bool> disturbed{};
  std::vector<bool> unverified{};
};

namespace json {

inline constexpr Rule kCount{.most = 1e9};

}  // namespace json

void describe_members(auto& visit, json::Is<SampleTable> auto& samples) {
  visit.section("samples",
                "Columns of equal length, one row a sample; *_by_rank holds one column for each "
                "rank.");
  visit("case", samples.place, "place in cases", json::kCount);
  visit("variant", samples.variant, "place among the case's variants", json::kCount);
  visit("launch", samples.launch, "", json::kCount);
  visit("round", samples.round, "", json::kCount);
  visit("position", samples.position,
        "of the variant within its round; of a run of linkgain exec, among all its runs",
        json::kCount);
  visit("operations", samples.operations, "in the batch", {.least = 1, .most = 1e10});
  visit("seconds_by_rank", samples.seconds_by_rank,
        "per operation; null of ranks that take no part", {.above = 0.0, .most = 1e100});
  visit("temperature_c_by_rank", samples.temperature_c_by_rank);
  visit("power_w_by_rank", samples.power_w_by_rank);
  visit("sm_clock_mhz_by_rank", samples.sm_clock_mhz_by_rank);
  visit("clock_event_reasons_by_rank", samples.clock_event_reasons_by_rank);
  visit.sparse("loss", samples.loss,
               "of a training's last step, over all ranks; null of other operations",
               json::kAnyNumber);
  visit.sparse("resolution", samples.resolution,
               "of numbers that a program printed: what a unit of the last digit is of the number; "
               "0 of others; absent where it is 0 of all, and in older records",
               {.most = 1e100});
  visit.sparse("disturbed", samples.disturbed,
               "whether others worked on a GPU since the last look that saw none, as far as is "
               "known; absent where it is false of all");
  visit.sparse("unverified", samples.unverified,
               "whether the data of the sample's launch were not checked, because the job was lost "
               "or the run was ended before; absent where it is false of all");
}

/// Makes the table of the samples of all cases, and of one alone.
SampleTable table_of(const std::vector<CaseResult>& cases);
SampleTable table_of(std::size_t place, std::span<const Sample> samples);
/// Returns the sample of a row that all columns have.
Sample sample_at(const SampleTable& table, std::size_t row);
/// Throws UsageError where columns differ in length.
void require_columns(const SampleTable& table);

/// Names the version that is written.
inline constexpr std::string_view kRecordSchema = "linkgain.record/2";
/// Names the version that is read, too.
inline constexpr std::string_view kOlderSchema = "linkgain.record/1";

/// A record as its file has it.
struct RecordDocument {
  Record record{};
  SampleTable samples{};
};

/// One line of a journal: the head, a case, a run or a warning, and what the run took so far.
struct JournalHead {
  std::string started{};
  Machine machine{};
  Settings settings{};
  std::optional<LinkErrors> link_errors{};
  std::vector<double> launch_begins_s{};
  std::optional<Neighbours> neighbours{};
};
struct JournalLine {
  std::optional<JournalHead> head{};
  std::optional<int> index{};
  std::optional<CaseResult> result{};
  std::optional<std::int64_t> samples_before{};
  std::optional<SampleTable> samples{};
  std::optional<ProgramRun> run{};
  std::optional<Warning> warning{};
  std::optional<double> wall_s{};
  std::optional<TimeSpent> time_spent{};
  std::optional<EvidenceCost> evidence_cost{};
  std::optional<Neighbours> neighbours{};
};

namespace json {

/// "" of a case whose sampling has not ended.
template <>
struct AsText<std::optional<StopReason>> {
  static std::string text(const std::optional<StopReason>& reason) {
    return reason ? std::string(name_of(*reason)) : std::string();
  }
  static std::optional<StopReason> parse(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(from_name<StopReason>(text));
  }
  static std::vector<std::string> words() {
    std::vector<std::string> all{""};
    for (const StopReason each : kValues<StopReason>) all.emplace_back(name_of(each));
    return all;
  }
};
/// Reads what ending_of() says; what it derives, it derives again.
template <>
struct AsText<RunStatus> {
  static std::string text(RunStatus status) { return std::string(name_of(status)); }
  static RunStatus parse(const std::string& text) {
    if (text == kEndedByBudget) return RunStatus::complete;
    return text == kEndedByFailure ? RunStatus::incomplete : from_name<RunStatus>(text);
  }
  static std::vector<std::string> words() {
    std::vector<std::string> all;
    for (const RunStatus each : kValues<RunStatus>) all.emplace_back(name_of(each));
    all.insert(all.end(), {std::string(kEndedByBudget), std::string(kEndedByFailure)});
    return all;
  }
};
template <>
struct AsText<LimitKind> {
  static std::string text(LimitKind kind) { return std::string(name_of(kind)); }
  static LimitKind parse(const std::string& text) { return from_name<LimitKind>(text); }
};
template <>
struct AsText<Skip> {
  static std::string text(const Skip& skip) {
    VariantResult skipped;
    skipped.skipped = skip;
    return why_skipped(skipped);
  }
  static Skip parse(const std::string& text) { return parse_skip(text); }
};
template <>
struct AsText<Case> {
  static std::string text(const Case& definition) { return case_name(definition); }
  static Case parse(const std::string& text) { return parse_case_name(text); }
};

}  // namespace json

void describe_members(auto& visit, json::Is<Warning> auto& warning) {
  visit.section("warning");
  visit("code", warning.code, "", {.form = json::Form::kebab});
  visit("text", warning.text);
  visit("advice", warning.advice);
}

void describe_members(auto& visit, json::Is<Verification> auto& verification) {
  visit.section("verification");
  visit("checked", verification.checked, "elements, of a training ranks");
  visit("wrong", verification.wrong, "of these");
  visit.unbounded("largest_error", verification.largest_error);
  visit("bound", verification.bound,
        "of the error: of GPUs a share of the expected value, else absolute; 0 where the "
        "arithmetic is exact");
  visit("first_wrong", verification.first_wrong);
}

void describe_members(auto& visit, json::Is<Execution> auto& execution) {
  constexpr double kMost = 1e6;  // operations of a batch
  visit("operations_per_sample", execution.operations_per_sample, "", {.least = 1, .most = kMost});
  visit.later("discarded_per_sample", execution.discarded_per_sample,
              "run before those of every sample and not timed", {.most = kMost});
  visit("operations_per_graph", execution.operations_per_graph, "0: not launched as a graph",
        {.most = kMost});
  visit("buffer_slots", execution.buffer_slots, "", {.least = 1});
  visit("cold_data", execution.cold_data,
        "whether successive operations walk at least twice the L2");
  visit.later("form", execution.form,
              "of what calls an operation is made where it is not the library's one");
  visit.later("through_host", execution.through_host,
              "whether our own work went through host memory instead of straight to other GPUs' "
              "memory; null where the library chose");
  visit.sparse(
      "products", execution.products,
      "of a training: its matrix products' algorithms, in cuBLASLt's numbers, by the order "
      "in which the model plans them");
}

void describe_members(auto& visit, json::Is<TransferPlan> auto& plan) {
  visit("algorithm", plan.algorithm);
  visit("protocol", plan.protocol);
  visit.sparse("blocks", plan.blocks, "thread blocks of its kernel on each GPU, where known",
               {.least = 1});
}

void describe_members(auto& visit, json::Is<TrafficEvidence> auto& evidence) {
  visit.section("evidence",
                "what the links' counters say, summed over the ranks' GPUs and the counted "
                "operations");
  describe_members(visit, evidence.plan);
  visit("operations", evidence.operations, "that were counted");
  visit.later("nvlink_sent_bytes", evidence.nvlink_sent);
  visit.later("nvlink_received_bytes", evidence.nvlink_received);
  visit.later("pcie_sent_bytes", evidence.pcie_sent);
  visit.later("pcie_received_bytes", evidence.pcie_received);
  visit("expected_bytes", evidence.expected);
  visit.derived("nvlink_share", evidence.nvlink_share(), "nvlink_sent_bytes / expected_bytes");
  visit("judged", evidence.judged, "whether nvlink_share is compared with 1");
  visit("reason", evidence.reason, "why something of NVLink is absent or not judged");
  visit.later("pcie_reason", evidence.pcie_reason,
              "why PCIe bytes are absent; empty where both are there, absent in older records");
}

void describe_members(auto& visit, json::Is<LevelShift> auto& shift) {
  visit("launch", shift.launch);
  visit("round", shift.round);
  visit("ratio", shift.ratio, "of the new level to the old one", json::kPositive);
}

void describe_members(auto& visit, json::Is<TrainingResult> auto& training) {
  visit("steps", training.steps);
  visit("sum_s", training.sum);
  visit("first_loss", training.first_loss, "", json::kAnyNumber);
  visit("last_loss", training.last_loss, "", json::kAnyNumber);
  visit("loss_difference", training.loss_difference);
  visit.estimate({"exposed_s", "exposed_low_s", "exposed_high_s", "exposed_launches"},
                 training.exposed,
                 {"what a step takes longer than one without communication, both medians of the "
                  "same launch",
                  "its 95 % interval; null where there are too few blocks", "",
                  "over how many launches that is; null where it is not known"},
                 json::kAnyNumber);
  visit.later("buckets", training.buckets,
              "in which gradients are reduced; null where none can be chosen", {.least = 1});
}

void describe_members(auto& visit, json::Is<VariantResult> auto& result) {
  visit("variant", result.variant);
  visit("skipped", result.skipped, "why it was not measured; null where it was");
  visit.derived(
      "time_s", result.time,
      "of an operation, a training's step or a program's metric: geometric mean of the launches' "
      "medians",
      json::kPositive);
  visit.derived("algbw_gb_per_s", result.algbw, "size over time", json::kPositive);
  visit.derived("busbw_gb_per_s", result.busbw, "the same in bytes that every link carries",
                json::kPositive);
  visit.derived("skew", result.skew, "median over samples of (slowest - fastest rank) / slowest",
                {.most = 1});
  visit("path", result.path, "what carried the data");
  visit.derived("fraction_of_limit", result.fraction_of_limit,
                "busbw over what the path can carry");
  visit.derived("limit", result.limit, "what limits it; empty where it is not known");
  visit.later("evidence", result.evidence);
  visit.derived("health", result.health);
  visit("verification", result.verification);
  visit("execution", result.execution);
  visit.derived_sparse("disturbed_samples", result.disturbed_samples,
                       "taken while others worked on a GPU; absent where none was");
  visit.derived_sparse(
      "level_shift", result.level_shift,
      "within one launch times changed level, from this round on; absent where none did");
  visit.derived_sparse(
      "training", result.training,
      "of gpt2_step: timed steps and the sum of their times, the loss after the first "
      "launch's first and last sample, and the largest |difference| of a sample's loss to "
      "the first variant's, over that");
}

void describe_members(auto& visit, json::Is<RatioResult> auto& result) {
  visit("variant", result.variant);
  visit.estimate({"ratio", "low", "high", "launches"}, result.ratio,
                 {"the variant's time over the first one's", "95 % interval; null of one launch",
                  "", "of the side that has fewer"},
                 json::kPositive);
}

void describe_members(auto& visit, json::Is<CaseResult> auto& result) {
  visit.section("case");
  visit("case", result.definition, "name of the case", {.form = json::Form::words});
  visit.derived("converged", result.converged,
                "whether every interval is as narrow as was asked for");
  visit("stopped", result.stopped);
  visit("variants", result.variants);
  visit.derived("ratios", shown_ratios(result),
                "of the variants whose times can be compared with the first one's; none with wrong "
                "data, over the same path, or of runs that are lost or too few");
}

void describe_members(auto& visit, json::Is<Variant> auto& variant) {
  visit("name", variant.name, "", {.form = json::Form::name});
  visit("environment", variant.environment);
  visit.sparse("unset", variant.unset,
               "variables of the caller's that it takes away; where there are any");
  visit.sparse("arguments", variant.arguments,
               "that the user's program is given; where there are any");
  visit.sparse("nccl", variant.nccl, "file of an NCCL of its own; where it has one");
  visit.sparse("worker", variant.worker, "file of a linkgain-bench of its own; where it has one");
  visit.sparse("control", variant.is_control,
               "it is run as the first variant is: what differs between the two is chance; where "
               "it is so");
}

void describe_members(auto& visit, json::Is<TrainingPlan> auto& plan) {
  visit("steps", plan.steps, "", {.least = 10});
  visit("tokens", plan.tokens);
  visit.sparse("tokens_digest", plan.tokens_digest,
               "of the token file's tokens; where there is one, older records lack it",
               {.form = json::Form::digest});
}

void describe_members(auto& visit, json::Is<ProgramPlan> auto& program) {
  visit("command", program.command, "", {.fewest = 1});
  visit("server", program.server, "started before each run and ended after it; empty: none");
  visit("prepare", program.prepare, "shell command before each run; empty: none");
  visit("cleanup", program.cleanup, "shell command after each run; empty: none");
  visit("metrics", program.metrics, "as they were asked for");
  visit("warm_up_runs", program.warm_up, "of every variant, not counted");
  visit.sparse("units", program.units,
               "of the numbers that are metrics, by the metric's name; where --unit gave one");
}

void describe_members(auto& visit, json::Is<RaceStages> auto& race) {
  constexpr json::Rule kLaunches{.least = 1, .most = 1e6};
  visit("screening", race.screening, "of all candidates", kLaunches);
  visit("choosing", race.choosing, "of those that may still win", kLaunches);
  visit("confirming", race.confirming, "of the winners, which these have no part in choosing",
        kLaunches);
}

void describe_members(auto& visit, json::Is<Settings> auto& settings) {
  visit.section("settings");
  visit("argv", settings.argv, "the command line");
  visit("backend", settings.backend, "exec: a program of the user's, which linkgain exec ran");
  visit("profile", settings.profile);
  visit("schedule", settings.schedule,
        "whether samples of the variants alternate, or one follows the other");
  visit("variants", settings.variants, "", {.fewest = 1});
  visit("environment_in_force", settings.environment_in_force,
        "of each variant, as the worker saw it, of the variables that may be recorded");
  visit.sparse("nccl_files", settings.nccl_files,
               "files of NCCL's that set some of these, by variable; where there are any");
  visit("launches", settings.launches, "that were asked for", {.least = 1, .most = 1e9});
  visit.sparse("race", settings.race, "of --tune: launches of each of its stages, in this order");
  visit("precision", settings.precision,
        "half width asked of every ratio's interval; null: 1 % from 16 MiB and for trainings, 2 % "
        "from 1 MiB, 5 % below",
        json::kPositive);
  visit("budget_s", settings.budget, "", json::kPositive);
  visit("sample_target_s", settings.sample_target, "length of a timed batch", json::kPositive);
  visit.later("require_healthy", settings.require_healthy);
  visit.later("software_in_force", settings.software_in_force,
              "what the workers of each variant, or the user's programs, had; older records lack "
              "it");
  visit.sparse("label", settings.label, "given by --label; where there is one",
               {.form = json::Form::words});
  visit.sparse("cases_digest", settings.cases_digest,
               "of the names of all cases that were to be measured, a line each; of linkgain run, "
               "older records lack it",
               {.form = json::Form::digest});
  visit.sparse("training", settings.training,
               "steps for which a table gives the time, and the text that was trained on; where "
               "there is a gpt2_step");
  visit.sparse("program", settings.program,
               "of linkgain exec, whose cases are metrics and whose launches are runs of the "
               "command; values of secret variables are masked");
}

void describe_members(auto& visit, json::Is<EvidenceCost> auto& cost) {
  visit.section("evidence_cost",
                "What reading the counters of the links and the GPUs' health cost the run in wall "
                "time");
  visit("probes_s", cost.probes_s);
  visit("counters_s", cost.counters_s);
  visit.later("health_s", cost.health_s);
}

void describe_members(auto& visit, json::Is<TimeSpent> auto& spent) {
  visit.section("time_spent",
                "What the run's wall time went into; the rest looked for neighbours, computed and "
                "wrote");
  visit("starting_s", spent.starting_s, "jobs, until all that are to be up together are");
  visit("ranks_s", spent.ranks_s, "of starting: MPI's start, in the slowest job");
  visit("gpus_s", spent.gpus_s, "of starting: taking the GPUs, in the slowest job");
  visit("connecting_s", spent.connecting_s, "of starting: the communicator, in the slowest job");
  visit("opening_s", spent.opening_s, "cases");
  visit("buffers_s", spent.buffers_s, "of opening: allocating and filling");
  visit("clocks_s", spent.clocks_s,
        "of opening: working until the GPUs have left their idle clock");
  visit("first_operations_s", spent.first_operations_s,
        "of opening: connections that are made when needed, and graphs");
  visit("calibrating_s", spent.calibrating_s, "of opening: how many operations make a sample");
  visit("sampling_s", spent.sampling_s);
  visit("verifying_s", spent.verifying_s, "and closing cases");
  visit("ending_s", spent.ending_s, "jobs");
}

void describe_members(auto& visit, json::Is<GpuEvidence> auto& gpu) {
  visit("gpu", gpu.gpu, "as nvidia-smi numbers it");
  visit("traffic", gpu.traffic);
  visit("nvlink_reason", gpu.nvlink_reason, "why NVLink's bytes are absent");
  visit("pcie_reason", gpu.pcie_reason, "why PCIe's bytes are absent");
  visit("health", gpu.health);
  visit.later("used", gpu.used,
              "the driver listed a process of the command on it; absent in older records");
}

void describe_members(auto& visit, json::Is<MappedNccl> auto& library) {
  visit("path", library.path);
  visit("version", library.version, "empty where the file does not say");
  visit("deleted", library.deleted, "removed or replaced while it was in use");
  visit("processes", library.processes, "", {.least = 1});
}

void describe_members(auto& visit, json::Is<NcclConnection> auto& connection) {
  visit("transport", connection.transport, "as NCCL writes it, such as P2P/CUMEM");
  visit("from", connection.from, "device by NCCL's number; null where it joins no pair");
  visit("to", connection.to);
}

void describe_members(auto& visit, json::Is<RunEvidence> auto& evidence) {
  visit("no_gpus", evidence.no_gpus, "why no GPU was looked at");
  visit("gpus", evidence.gpus);
  visit("nccl", evidence.nccl, "libraries that the command's processes had mapped");
  visit("processes_looked", evidence.processes_looked, "whose mappings could be read");
  visit.later("connections", evidence.connections, "NCCL's, by its log; absent in older records");
  visit.sparse("engine_says", evidence.engine_says,
               "which all-reduce an engine (vLLM, SGLang, llama.cpp) says that it chose");
  visit.sparse("algorithms", evidence.algorithms,
               "what NCCL's log says of them: rings, trees and the like that it connected, and "
               "NCCL_ALGO and NCCL_PROTO");
  visit.sparse("nccl_logged", evidence.nccl_logged, "NCCL's version by its log");
  visit.later("connections_reason", evidence.connections_reason,
              "why NCCL's log was not read; empty where it was, absent in older records");
  visit.sparse("refused", evidence.refused,
               "functions of the driver that refused peer access, by no-p2p's library");
  visit.sparse("refused_reason", evidence.refused_reason,
               "why the log of no-p2p's library was not read; empty where it was");
  visit("neighbours", evidence.neighbours);
  visit("cost_s", evidence.cost_s,
        "processor time of looking and reading, and the time in which the program waited for "
        "linkgain to read");
}

void describe_members(auto& visit, json::Is<ProgramRun> auto& run) {
  visit.section("program_run");
  visit("variant", run.variant);
  visit("round", run.round, "of warm-up runs counted apart", {.least = 1});
  visit("warm_up", run.warm_up);
  visit.sparse("at", run.at, "the value of --axis that it ran at, as LOAD=8; where there is one");
  visit("seconds", run.seconds, "wall time; null of one that failed");
  visit("failure", run.failure, "why it does not count; empty where it does");
  visit("evidence", run.evidence, "what was seen from outside of one run of a command");
}

inline constexpr const char* kMeaningOfDigest =
    "of all bytes of the file before the comma in front of this member";
inline constexpr const char* kMeaningOfLaunchBegins =
    "of a soak, by launch: seconds since the run began, without those between its parts, so that "
    "one that was measured again is later than those after it; absent of others";

void describe_members(auto& visit, json::Is<RecordedRow> auto& row) {
  visit("case", row.name, "its name, or that of what is predicted", {.form = json::Form::words});
  visit(
      "variant", row.variant,
      "that the first one is compared with; empty where there is none, and of headroom; of what is "
      "predicted that which the link is compared with, the first one, too, where none was "
      "measured");
  visit.estimate({"ratio", "low", "high", "launches"}, row.ratio,
                 {"the variant's time over the first one's; of headroom that of NCCL or the copy "
                  "engine over the kernel's; null where they cannot be compared",
                  "95 % interval; null of one launch", "", "of the side that has fewer"},
                 json::kPositive);
}

void describe_members(auto& visit, json::Is<HeadroomStep> auto& step) {
  visit("station", step.station, "what the time is of");
  visit("variant", step.variant, "of a setting, and of symmetric memory with one; else empty");
  visit("time_s", step.time, "", json::kPositive);
  visit.estimate({"factor", "low", "high", "launches"}, step.factor,
                 {"the time of the step before over its own; null of the first",
                  "95 % interval; null of one launch", "", "of the side that has fewer"},
                 json::kPositive);
  visit.estimate(
      {"whole", "whole_low", "whole_high", "whole_launches"}, step.whole,
      {"the time of the first step over its own: the product of the factors so far; null "
       "of the first",
       "95 % interval; null of one launch", "", "of the side that has fewer"},
      json::kPositive);
  visit("blocks", step.blocks, "thread blocks of its kernel on each GPU; null where not known");
}

void describe_members(auto& visit, json::Is<HeadroomRow> auto& row) {
  visit("case", row.name, "of NCCL at its default", {.form = json::Form::words});
  visit("steps", row.steps, "from that to the floor, those that were measured");
}

void describe_members(auto& visit, json::Is<RecordedAnswer> auto& answer) {
  visit.section("answer", "What the run says first, on the screen, in the report and on the page");
  visit("sentence", answer.sentence);
  visit("spoken", answer.spoken, "what the sentence is about, a row for each later variant");
  visit("rows", answer.rows, "what stands for the run, in the order of the tables");
  visit("headroom", answer.headroom, "our kernels beside NCCL or the copy engine");
  visit("headroom_steps", answer.headroom_steps, "what that is made of, by size");
  visit("predicted", answer.predicted, "what a model would gain, as linkgain predict has it");
}

void describe_members(auto& visit, json::Is<Record> auto& record) {
  visit.constant("schema", kRecordSchema);
  visit("started", record.started, "UTC, ISO 8601");
  visit("wall_s", record.wall_seconds,
        "of the whole run; of a journal until its last line that tells it, null where none does");
  visit("status", record.status, "how the run ended");
  visit("exit_code", record.exit_code,
        "that the run ended with; linkgain reads only that of a signal", {.most = 255});
  visit.derived_sparse("answer", record.answer, "of a run that has ended");
  visit("machine", record.machine);
  visit("settings", record.settings);
  visit.later("evidence_cost", record.evidence_cost);
  visit.later("neighbours", record.neighbours);
  visit.sparse("time_spent", record.time_spent);
  visit.sparse("link_errors", record.link_errors);
  visit.sparse("launch_begins_s", record.launch_begins_s, kMeaningOfLaunchBegins, {.fewest = 1});
  visit.sparse("runs", record.runs,
               "of linkgain exec: every run of the command, in their order; absent of others");
  visit("cases", record.cases);
  visit("warnings", record.warnings);
}

void describe_members(auto& visit, json::Is<RecordDocument> auto& document) {
  describe_members(visit, document.record);
  visit.other("results_digest", std::string(), "records of version 1 only",
              {.form = json::Form::digest});
  visit("samples", document.samples);
  visit.other("digest", std::string(), kMeaningOfDigest, {.form = json::Form::digest});
}

void describe_members(auto& visit, json::Is<JournalHead> auto& head) {
  visit.constant("schema", kRecordSchema);
  visit("started", head.started);
  visit("machine", head.machine);
  visit("settings", head.settings);
  visit.sparse("link_errors", head.link_errors);
  visit.sparse("launch_begins_s", head.launch_begins_s, kMeaningOfLaunchBegins, {.fewest = 1});
  visit.sparse("neighbours", head.neighbours, "of older journals");
}

void describe_members(auto& visit, json::Is<JournalLine> auto& line) {
  visit.section("journal_line",
                "one line of the journal of a run that has not ended, of one kind of member");
  visit.sparse("head", line.head);
  visit.sparse("index", line.index, "", {.most = 99999});
  visit.sparse("case", line.result);
  visit.sparse("samples_before", line.samples_before,
               "of the case in the lines before, which stay; absent where samples are all");
  visit.sparse("samples", line.samples);
  visit.sparse("run", line.run);
  visit.sparse("warning", line.warning);
  visit.sparse("wall_s", line.wall_s,
               "of the run until this line, with its earlier parts: a run that goes on counts from "
               "there; absent of programs' runs and in older journals");
  visit.sparse("time_spent", line.time_spent, "what that went into");
  visit.sparse("evidence_cost", line.evidence_cost, "until this line, too");
  visit.sparse("neighbours", line.neighbours, "seen until this line");
  visit.other("digest", std::string(), kMeaningOfDigest, {.form = json::Form::digest});
}

}  // namespace linkgain
