#include "linkgain/record/record_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/hardware/machine_json.hpp"
#include "linkgain/record/digest.hpp"
#include "record_check.hpp"
#include "record_schema.hpp"

namespace linkgain::json {
namespace {

/// The share of NVLink is written for readers of the JSON, and derived anew when it is read.
Out write_evidence(const TrafficEvidence& evidence) {
  return {{"algorithm", evidence.plan.algorithm},
          {"protocol", evidence.plan.protocol},
          {"operations", evidence.operations},
          {"nvlink_sent_bytes", nullable(evidence.nvlink_sent)},
          {"nvlink_received_bytes", nullable(evidence.nvlink_received)},
          {"pcie_sent_bytes", nullable(evidence.pcie_sent)},
          {"pcie_received_bytes", nullable(evidence.pcie_received)},
          {"expected_bytes", nullable(evidence.expected)},
          {"nvlink_share", nullable(evidence.nvlink_share())},
          {"judged", evidence.judged},
          {"reason", evidence.reason},
          {"pcie_reason", evidence.pcie_reason}};
}

TrafficEvidence read_evidence(const In& json) {
  TrafficEvidence evidence;
  evidence.plan = {json.at("algorithm"), json.at("protocol")};
  evidence.operations = json.at("operations");
  evidence.nvlink_sent = optional_at<std::int64_t>(json, "nvlink_sent_bytes");
  evidence.nvlink_received = optional_at<std::int64_t>(json, "nvlink_received_bytes");
  evidence.pcie_sent = optional_at<std::int64_t>(json, "pcie_sent_bytes");
  evidence.pcie_received = optional_at<std::int64_t>(json, "pcie_received_bytes");
  evidence.expected = optional_at<double>(json, "expected_bytes");
  evidence.judged = json.at("judged");
  evidence.reason = json.at("reason");
  evidence.pcie_reason = optional_at<std::string>(json, "pcie_reason").value_or("");
  if (json.contains("nvlink_share")) {
    require_share(evidence, optional_at<double>(json, "nvlink_share"));
  }
  return evidence;
}

std::optional<Interval> read_interval(const In& json, const char* low, const char* high) {
  const auto from = optional_at<double>(json, low);
  const auto to = optional_at<double>(json, high);
  return from && to ? std::optional(Interval{*from, *to}) : std::nullopt;
}

Out write_ratio(const RatioResult& result) {
  const Estimate& ratio = result.ratio;
  return {{"variant", result.variant},
          {"ratio", ratio.value},
          {"low", nullable(low_of(ratio.interval))},
          {"high", nullable(high_of(ratio.interval))},
          {"launches", ratio.replicates}};
}

RatioResult read_ratio(const In& json) {
  return {json.at("variant"),
          {json.at("ratio"), read_interval(json, "low", "high"),
           optional_at<int>(json, "launches").value_or(1)}};
}

Out write_training(const TrainingResult& training) {
  const Estimate exposed = training.exposed.value_or(Estimate{});
  return {{"steps", training.steps},
          {"sum_s", training.sum.value},
          {"first_loss", nullable(training.first_loss)},
          {"last_loss", nullable(training.last_loss)},
          {"loss_difference", nullable(training.loss_difference)},
          {"exposed_s", training.exposed ? Out(exposed.value) : Out(nullptr)},
          {"exposed_low_s", nullable(low_of(exposed.interval))},
          {"exposed_high_s", nullable(high_of(exposed.interval))},
          {"exposed_launches", exposed.replicates > 0 ? Out(exposed.replicates) : Out(nullptr)},
          {"buckets", nullable(training.buckets)}};
}

std::optional<Estimate> read_exposed(const In& json) {
  const auto seconds = optional_at<double>(json, "exposed_s");
  if (!seconds) return std::nullopt;
  return Estimate{*seconds, read_interval(json, "exposed_low_s", "exposed_high_s"),
                  optional_at<int>(json, "exposed_launches").value_or(0)};
}

TrainingResult read_training(const In& json) {
  return {json.at("steps"),
          Seconds{json.at("sum_s")},
          optional_at<double>(json, "first_loss"),
          optional_at<double>(json, "last_loss"),
          optional_at<double>(json, "loss_difference"),
          read_exposed(json),
          optional_at<int>(json, "buckets")};
}

Out write_variant_result(const VariantResult& result) {
  Out out{{"variant", result.variant},
          {"skipped", result.skipped ? Out(why_skipped(result)) : Out(nullptr)},
          {"time_s", nullable(seconds_of(result.time))},
          {"algbw_gb_per_s", nullable(result.algbw)},
          {"busbw_gb_per_s", nullable(result.busbw)},
          {"skew", nullable(result.skew)},
          {"path", name_of(result.path)},
          {"fraction_of_limit", nullable(result.fraction_of_limit)},
          {"limit", name_of(result.limit)},
          {"evidence", result.evidence ? write_evidence(*result.evidence) : Out(nullptr)},
          {"health", write_health_summary(result.health)},
          {"verification",
           result.verification ? write_verification(*result.verification) : Out(nullptr)},
          {"execution", write_execution(result.execution)}};
  if (result.disturbed_samples > 0) out["disturbed_samples"] = result.disturbed_samples;
  if (const auto& shift = result.level_shift) {
    out["level_shift"] = {
        {"launch", shift->launch}, {"round", shift->round}, {"ratio", shift->ratio}};
  }
  if (result.training) out["training"] = write_training(*result.training);
  return out;
}

VariantResult read_variant_result(const In& json) {
  VariantResult result;
  result.variant = json.at("variant");
  if (const auto why = optional_at<std::string>(json, "skipped")) result.skipped = parse_skip(*why);
  if (const auto time = optional_at<double>(json, "time_s")) result.time = Seconds{*time};
  result.algbw = optional_at<double>(json, "algbw_gb_per_s");
  result.busbw = optional_at<double>(json, "busbw_gb_per_s");
  result.skew = optional_at<double>(json, "skew");
  result.path = parse_path(json.at("path").get<std::string>());
  result.fraction_of_limit = optional_at<double>(json, "fraction_of_limit");
  result.limit = parse_limit_kind(optional_at<std::string>(json, "limit").value_or(""));
  if (const In* evidence = member_of(json, "evidence")) result.evidence = read_evidence(*evidence);
  if (const In* health = member_of(json, "health")) result.health = read_health_summary(*health);
  result.disturbed_samples = optional_at<int>(json, "disturbed_samples").value_or(0);
  if (const In* shift = member_of(json, "level_shift")) {
    result.level_shift = LevelShift{shift->at("launch"), shift->at("round"), shift->at("ratio")};
  }
  if (!json.at("verification").is_null()) {
    result.verification = read_verification(json.at("verification"));
  }
  result.execution = read_execution(json.at("execution"));
  if (const In* training = member_of(json, "training")) result.training = read_training(*training);
  return result;
}

/// A sample with the place of its case in the record.
struct Row {
  int case_index;
  const Sample* sample;
};
using Rows = std::vector<Row>;

/// Columns that are absent where they are false of all.
constexpr std::array kMarks{std::pair{"disturbed", &Sample::disturbed},
                            std::pair{"unverified", &Sample::unverified}};

/// A value of every row as one column.
template <typename Value>
Out column(const Rows& rows, Value value) {
  return array_of(rows, value);
}

/// A member of every sample as one column.
template <typename T>
Out column(const Rows& rows, T Sample::*member) {
  return column(rows, [member](const Row& row) { return row.sample->*member; });
}

/// A value of every sample's rank as one column for each rank; null where the rank has none.
template <typename Value>
Out columns_by_rank(const Rows& rows, std::size_t ranks, Value value) {
  Out columns = Out::array();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    columns.push_back(column(rows, [&](const Row& row) { return value(*row.sample, rank); }));
  }
  return columns;
}

template <typename Member>
Out health_columns(const Rows& rows, std::size_t ranks, Member member) {
  return columns_by_rank(rows, ranks, [member](const Sample& sample, std::size_t rank) {
    return rank < sample.health.size() ? nullable(sample.health[rank].*member) : Out(nullptr);
  });
}

Out write_rows(const Rows& rows) {
  std::size_t ranks = 0;
  for (const Row& row : rows) ranks = std::max(ranks, row.sample->seconds.size());
  const auto seconds = [](const Sample& sample, std::size_t rank) {
    return rank < sample.seconds.size() ? nullable(sample.seconds[rank]) : Out(nullptr);
  };
  Out out{
      {"case", column(rows, [](const Row& row) { return row.case_index; })},
      {"variant", column(rows, &Sample::variant)},
      {"launch", column(rows, &Sample::launch)},
      {"round", column(rows, &Sample::round)},
      {"position", column(rows, &Sample::position)},
      {"operations", column(rows, &Sample::operations)},
      {"seconds_by_rank", columns_by_rank(rows, ranks, seconds)},
      {"temperature_c_by_rank", health_columns(rows, ranks, &Health::temperature_c)},
      {"power_w_by_rank", health_columns(rows, ranks, &Health::power_w)},
      {"sm_clock_mhz_by_rank", health_columns(rows, ranks, &Health::sm_clock_mhz)},
      {"clock_event_reasons_by_rank", health_columns(rows, ranks, &Health::clock_event_reasons)}};
  const auto has_loss = [](const Row& row) { return row.sample->loss.has_value(); };
  if (std::any_of(rows.begin(), rows.end(), has_loss)) {
    out["loss"] = column(rows, [](const Row& row) { return nullable(row.sample->loss); });
  }
  if (std::ranges::any_of(rows, [](const Row& row) { return row.sample->resolution > 0.0; })) {
    out["resolution"] = column(rows, &Sample::resolution);
  }
  for (const auto& [name, mark] : kMarks) {
    if (std::ranges::any_of(rows, [mark = mark](const Row& row) { return row.sample->*mark; })) {
      out[name] = column(rows, mark);
    }
  }
  return out;
}

/// A column that not all records have; null where there is none.
const In* optional_column(const In& json, const char* key, std::size_t rows) {
  const In* const column = member_of(json, key);
  if (column == nullptr || column->size() == rows) return column;
  throw UsageError(std::string("samples: column '") + key + "' has another length");
}

void read_optional_columns(const In& json, std::vector<Sample>& samples) {
  const In* const losses = optional_column(json, "loss", samples.size());
  for (std::size_t i = 0; losses != nullptr && i < samples.size(); ++i) {
    if (!(*losses)[i].is_null()) samples[i].loss = (*losses)[i].get<double>();
  }
  const In* const resolutions = optional_column(json, "resolution", samples.size());
  for (std::size_t i = 0; resolutions != nullptr && i < samples.size(); ++i) {
    samples[i].resolution = (*resolutions)[i].get<double>();
  }
  for (const auto& [name, mark] : kMarks) {
    const In* const marks = optional_column(json, name, samples.size());
    for (std::size_t i = 0; marks != nullptr && i < samples.size(); ++i) {
      samples[i].*mark = (*marks)[i].get<bool>();
    }
  }
}

template <typename T>
void read_column(const In& json, const char* key, std::vector<Sample>& samples, T Sample::*member) {
  const In& column = json.at(key);
  if (column.size() != samples.size()) {
    throw UsageError(std::string("samples: column '") + key + "' has another length");
  }
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].*member = column[i].get<T>();
}

/// Every rank's column must have a value, or null, for each sample.
void require_columns(const In& json, const char* key, std::size_t rows) {
  for (const In& column : json.at(key)) {
    if (column.size() == rows) continue;
    throw UsageError(std::string("samples: a column of '") + key + "' has another length");
  }
}

template <typename T>
std::optional<T> cell(const In& columns, std::size_t rank, std::size_t row) {
  if (rank >= columns.size() || columns[rank][row].is_null()) return std::nullopt;
  return columns[rank][row].get<T>();
}

std::vector<Sample> read_rows(const In& json) {
  std::vector<Sample> samples(json.at("case").size());
  read_column(json, "variant", samples, &Sample::variant);
  read_column(json, "launch", samples, &Sample::launch);
  read_column(json, "round", samples, &Sample::round);
  read_column(json, "position", samples, &Sample::position);
  read_column(json, "operations", samples, &Sample::operations);
  read_optional_columns(json, samples);
  for (const char* key : {"seconds_by_rank", "temperature_c_by_rank", "power_w_by_rank",
                          "sm_clock_mhz_by_rank", "clock_event_reasons_by_rank"}) {
    require_columns(json, key, samples.size());
  }
  const In& seconds = json.at("seconds_by_rank");
  for (std::size_t row = 0; row < samples.size(); ++row) {
    for (std::size_t rank = 0; rank < seconds.size(); ++rank) {
      samples[row].seconds.push_back(cell<double>(seconds, rank, row));
      samples[row].health.push_back(
          {cell<int>(json.at("temperature_c_by_rank"), rank, row),
           cell<double>(json.at("power_w_by_rank"), rank, row),
           cell<int>(json.at("sm_clock_mhz_by_rank"), rank, row),
           cell<std::uint64_t>(json.at("clock_event_reasons_by_rank"), rank, row)});
    }
  }
  return samples;
}

/// The case that a sample is of. Throws UsageError where there is no such case, or no such variant.
CaseResult& owner_of(const Sample& sample, std::size_t place, std::vector<CaseResult>& cases) {
  const auto variant = static_cast<std::size_t>(sample.variant);  // far too large where below 0
  if (place < cases.size() && variant < cases[place].variants.size()) return cases[place];
  throw UsageError(
      fmt::format("a sample is of case {} and variant {}, which the record does not have",
                  static_cast<std::int64_t>(place), sample.variant));
}

Out write_program_plan(const ProgramPlan& program) {
  return {{"command", program.command}, {"server", program.server},
          {"prepare", program.prepare}, {"cleanup", program.cleanup},
          {"metrics", program.metrics}, {"warm_up_runs", program.warm_up}};
}

ProgramPlan read_program_plan(const In& json) {
  return {.command = json.at("command").get<std::vector<std::string>>(),
          .server = json.at("server"),
          .prepare = json.at("prepare"),
          .cleanup = json.at("cleanup"),
          .metrics = json.at("metrics").get<std::vector<std::string>>(),
          .warm_up = json.at("warm_up_runs")};
}

}  // namespace

Out write_health_summary(const HealthSummary& summary) {
  return {{"lowest_temperature_c", nullable(summary.lowest_temperature_c)},
          {"highest_temperature_c", nullable(summary.highest_temperature_c)},
          {"lowest_power_w", nullable(summary.lowest_power_w)},
          {"highest_power_w", nullable(summary.highest_power_w)},
          {"lowest_sm_clock_mhz", nullable(summary.lowest_sm_clock_mhz)},
          {"highest_sm_clock_mhz", nullable(summary.highest_sm_clock_mhz)},
          {"clock_event_reasons", nullable(summary.clock_event_reasons)},
          {"samples", summary.samples},
          {"unhealthy_samples", summary.unhealthy_samples},
          {"power_capped_samples", summary.power_capped_samples}};
}

HealthSummary read_health_summary(const In& json) {
  return {.lowest_temperature_c = optional_at<int>(json, "lowest_temperature_c"),
          .highest_temperature_c = optional_at<int>(json, "highest_temperature_c"),
          .lowest_power_w = optional_at<double>(json, "lowest_power_w"),
          .highest_power_w = optional_at<double>(json, "highest_power_w"),
          .lowest_sm_clock_mhz = optional_at<int>(json, "lowest_sm_clock_mhz"),
          .highest_sm_clock_mhz = optional_at<int>(json, "highest_sm_clock_mhz"),
          .clock_event_reasons = optional_at<std::uint64_t>(json, "clock_event_reasons"),
          .samples = json.at("samples"),
          .unhealthy_samples = json.at("unhealthy_samples"),
          .power_capped_samples = json.at("power_capped_samples")};
}

Out write_health(const Health& health) {
  return {{"temperature_c", nullable(health.temperature_c)},
          {"power_w", nullable(health.power_w)},
          {"sm_clock_mhz", nullable(health.sm_clock_mhz)},
          {"clock_event_reasons", nullable(health.clock_event_reasons)}};
}

Health read_health(const In& json) {
  return {optional_at<int>(json, "temperature_c"), optional_at<double>(json, "power_w"),
          optional_at<int>(json, "sm_clock_mhz"),
          optional_at<std::uint64_t>(json, "clock_event_reasons")};
}

Out write_verification(const Verification& verification) {
  return {{"checked", verification.checked},
          {"wrong", verification.wrong},
          {"largest_error", verification.largest_error},
          {"bound", verification.bound},
          {"first_wrong", verification.first_wrong}};
}

Verification read_verification(const In& json) {
  // JSON has no infinity: an error that is none is written as null.
  const double largest_error =
      optional_at<double>(json, "largest_error").value_or(std::numeric_limits<double>::infinity());
  return {json.at("checked"), json.at("wrong"), largest_error, json.at("bound"),
          json.at("first_wrong")};
}

Out write_execution(const Execution& execution) {
  Out out{{"operations_per_sample", execution.operations_per_sample},
          {"discarded_per_sample", execution.discarded_per_sample},
          {"operations_per_graph", execution.operations_per_graph},
          {"buffer_slots", execution.buffer_slots},
          {"cold_data", execution.cold_data},
          {"form", execution.form},
          {"through_host", nullable(execution.through_host)}};
  if (!execution.products.empty()) out["products"] = execution.products;
  return out;
}

Execution read_execution(const In& json) {
  return {json.at("operations_per_sample"),
          optional_at<std::int64_t>(json, "discarded_per_sample").value_or(0),
          json.at("operations_per_graph"),
          json.at("buffer_slots"),
          json.at("cold_data"),
          optional_at<std::string>(json, "form").value_or(""),
          optional_at<bool>(json, "through_host"),
          json.value("products", std::vector<std::string>())};
}

Out write_warning(const Warning& warning) {
  return {{"code", warning.code}, {"text", warning.text}, {"advice", warning.advice}};
}

Warning read_warning(const In& json) {
  return {json.at("code"), json.at("text"), json.at("advice")};
}

Out write_case(const CaseResult& result) {
  return {{"case", case_name(result.definition)},
          {"converged", result.converged},
          {"stopped", result.stopped ? name_of(*result.stopped) : std::string_view{}},
          {"variants", array_of(result.variants, write_variant_result)},
          {"ratios", array_of(result.ratios, write_ratio)}};
}

CaseResult read_case(const In& json) {
  CaseResult result;
  result.definition = parse_case_name(json.at("case").get<std::string>());
  result.converged = json.at("converged");
  const std::string stopped = json.at("stopped");
  if (!stopped.empty()) result.stopped = parse_stop_reason(stopped);
  result.variants = vector_of<VariantResult>(json.at("variants"), read_variant_result);
  result.ratios = vector_of<RatioResult>(json.at("ratios"), read_ratio);
  return result;
}

Out write_settings(const Settings& settings) {
  const auto write_variant = [](const Variant& variant) {
    Out written{{"name", variant.name}, {"environment", variant.environment}};
    if (!variant.arguments.empty()) written["arguments"] = variant.arguments;
    if (!variant.nccl.empty()) written["nccl"] = variant.nccl;
    if (!variant.worker.empty()) written["worker"] = variant.worker;
    return written;
  };
  Out out{{"argv", settings.argv},
          {"backend", name_of(settings.backend)},
          {"profile", settings.profile},
          {"schedule", name_of(settings.schedule)},
          {"variants", array_of(settings.variants, write_variant)},
          {"environment_in_force", settings.environment_in_force},
          {"launches", settings.launches},
          {"precision", nullable(settings.precision)},
          {"budget_s", nullable(seconds_of(settings.budget))},
          {"sample_target_s", settings.sample_target.value},
          {"require_healthy", settings.require_healthy}};
  out["software_in_force"] = array_of(settings.software_in_force, write_software);
  if (!settings.label.empty()) out["label"] = settings.label;
  if (!settings.cases_digest.empty()) out["cases_digest"] = settings.cases_digest;
  if (settings.training) {
    out["training"] = {{"steps", settings.training->steps}, {"tokens", settings.training->tokens}};
    const std::string& digest = settings.training->tokens_digest;
    if (!digest.empty()) out["training"]["tokens_digest"] = digest;
  }
  if (settings.program) out["program"] = write_program_plan(*settings.program);
  return out;
}

Settings read_settings(const In& json) {
  Settings settings;
  settings.argv = json.at("argv").get<std::vector<std::string>>();
  settings.backend = parse_recorded_backend(json.at("backend").get<std::string>());
  settings.profile = json.at("profile");
  settings.schedule = parse_schedule(json.at("schedule").get<std::string>());
  settings.variants = vector_of<Variant>(json.at("variants"), [](const In& variant) {
    return Variant{.name = variant.at("name"),
                   .environment = variant.at("environment").get<Environment>(),
                   .arguments = optional_at<std::vector<std::string>>(variant, "arguments")
                                    .value_or(std::vector<std::string>{}),
                   .nccl = optional_at<std::string>(variant, "nccl").value_or(""),
                   .worker = optional_at<std::string>(variant, "worker").value_or("")};
  });
  settings.environment_in_force = json.at("environment_in_force").get<std::vector<Environment>>();
  if (const In* software = member_of(json, "software_in_force")) {
    settings.software_in_force = vector_of<Software>(*software, read_software);
  }
  settings.launches = json.at("launches");
  settings.precision = optional_at<double>(json, "precision");
  if (const auto budget = optional_at<double>(json, "budget_s")) settings.budget = Seconds{*budget};
  settings.sample_target = Seconds{json.at("sample_target_s")};
  settings.require_healthy = optional_at<bool>(json, "require_healthy").value_or(false);
  settings.label = optional_at<std::string>(json, "label").value_or("");
  settings.cases_digest = optional_at<std::string>(json, "cases_digest").value_or("");
  if (const In* training = member_of(json, "training")) {
    settings.training =
        TrainingPlan{training->at("steps"), training->at("tokens"),
                     optional_at<std::string>(*training, "tokens_digest").value_or("")};
  }
  if (const In* program = member_of(json, "program"))
    settings.program = read_program_plan(*program);
  return settings;
}

Out write_program_run(const ProgramRun& run) {
  return {{"variant", run.variant}, {"round", run.round},
          {"warm_up", run.warm_up}, {"seconds", nullable(run.seconds)},
          {"failure", run.failure}, {"evidence", write_run_evidence(run.evidence)}};
}

ProgramRun read_program_run(const In& json) {
  return {.variant = json.at("variant"),
          .round = json.at("round"),
          .warm_up = json.at("warm_up"),
          .seconds = optional_at<double>(json, "seconds"),
          .failure = json.at("failure"),
          .evidence = read_run_evidence(json.at("evidence"))};
}

Out write_samples(const std::vector<CaseResult>& cases) {
  Rows rows;
  for (std::size_t place = 0; place < cases.size(); ++place) {
    for (const Sample& sample : cases[place].samples) {
      rows.push_back({static_cast<int>(place), &sample});
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.sample->sequence < b.sample->sequence;
  });
  return write_rows(rows);
}

Out write_samples(int case_index, std::span<const Sample> samples) {
  Rows rows;
  for (const Sample& sample : samples) rows.push_back({case_index, &sample});
  return write_rows(rows);
}

void read_samples(const In& json, std::vector<CaseResult>& cases, int first_sequence) {
  std::vector<Sample> samples = read_rows(json);
  const In& places = json.at("case");
  for (std::size_t row = 0; row < samples.size(); ++row) {
    samples[row].sequence = first_sequence + static_cast<int>(row);
    CaseResult& owner = owner_of(samples[row], places[row].get<std::size_t>(), cases);
    owner.samples.push_back(std::move(samples[row]));
  }
}

Out write_evidence_cost(const EvidenceCost& cost) {
  return {{"probes_s", cost.probes_s},
          {"counters_s", cost.counters_s},
          {"health_s", nullable(cost.health_s)}};
}

EvidenceCost read_evidence_cost(const In& json) {
  return {json.at("probes_s"), json.at("counters_s"), optional_at<double>(json, "health_s")};
}

Out write_time_spent(const TimeSpent& spent) {
  Out out;
  for (const auto& [name, member] : kTimesSpent) out[name] = spent.*member;
  return out;
}

TimeSpent read_time_spent(const In& json) {
  TimeSpent spent;
  for (const auto& [name, member] : kTimesSpent) spent.*member = json.at(name);
  return spent;
}

}  // namespace linkgain::json

namespace linkgain {

namespace {

json::Out write_head(const Record& record) {
  json::Out head{
      {"schema", kRecordSchema},
      {"started", record.started},
      {"wall_s", json::nullable(record.wall_seconds)},
      {"status", name_of(record.status)},
      {"exit_code", record.exit_code},
      {"machine", json::write_machine(record.machine)},
      {"settings", json::write_settings(record.settings)},
      {"evidence_cost", record.evidence_cost ? json::write_evidence_cost(*record.evidence_cost)
                                             : json::Out(nullptr)},
      {"neighbours",
       record.neighbours ? json::write_neighbours(*record.neighbours) : json::Out(nullptr)}};
  if (record.time_spent) head["time_spent"] = json::write_time_spent(*record.time_spent);
  if (record.link_errors) head["link_errors"] = json::write_link_errors(*record.link_errors);
  if (!record.launch_begins_s.empty()) head["launch_begins_s"] = record.launch_begins_s;
  if (!record.runs.empty()) head["runs"] = json::array_of(record.runs, json::write_program_run);
  head["cases"] = json::array_of(record.cases, json::write_case);
  head["warnings"] = json::array_of(record.warnings, json::write_warning);
  return head;
}

/// Of a column of numbers the least and the most of each type. Absent of what is none.
std::optional<json::In> extremes(const json::In& column) {
  // By number: the library orders all types of numbers alike.
  std::map<int, std::pair<const json::In*, const json::In*>> ranges;
  if (!column.is_array()) return std::nullopt;
  for (const json::In& item : column) {
    if (!item.is_primitive() || item.is_string()) return std::nullopt;
    auto& [least, most] =
        ranges.try_emplace(static_cast<int>(item.type()), &item, &item).first->second;
    if (item < *least) least = &item;
    if (*most < item) most = &item;
  }
  json::In items = json::In::array();
  for (const auto& [type, range] : ranges) {
    items.push_back(*range.first);
    items.push_back(*range.second);
  }
  return items;
}

/// Columns that the schema accepts where it accepts these: it asks the same of every number, in
/// bounds. Absent of what are no columns of numbers.
std::optional<json::In> condensed(const json::In& samples) {
  json::In columns = json::In::object();
  if (!samples.is_object()) return std::nullopt;
  for (const auto& [name, column] : samples.items()) {
    std::optional<json::In> own = extremes(column);
    if (!own) {
      if (!column.is_array()) return std::nullopt;
      own = json::In::array();
      for (const json::In& of_rank : column) {
        std::optional<json::In> each = extremes(of_rank);
        if (!each) return std::nullopt;
        own->push_back(std::move(*each));
      }
    }
    columns[name] = std::move(*own);
  }
  return columns;
}

void require_schema(const json::In& document) {
  static const JsonSchema schema(record_schema());
  schema.require(document, "record", "give a record.json that `linkgain run` wrote, unchanged");
}

/// Asking the schema of each of a million numbers takes most of the time that reading them does, so
/// the least and the most of them come first, and all where those depart.
void require_record(json::In& document) {
  const auto samples = document.find("samples");
  std::optional<json::In> few;
  if (samples != document.end()) few = condensed(*samples);
  if (!few) return require_schema(document);
  samples->swap(*few);
  try {
    require_schema(document);
    samples->swap(*few);
  } catch (const UsageError&) {
    samples->swap(*few);
    require_schema(document);
  }
}

Record read_document(const json::In& document) {
  Record record;
  record.started = document.at("started");
  record.wall_seconds = json::optional_at<double>(document, "wall_s");
  record.status = parse_run_status(document.at("status").get<std::string>());
  record.exit_code = document.at("exit_code");
  record.machine = json::read_machine(document.at("machine"));
  record.settings = json::read_settings(document.at("settings"));
  if (document.contains("evidence_cost") && !document.at("evidence_cost").is_null()) {
    record.evidence_cost = json::read_evidence_cost(document.at("evidence_cost"));
  }
  if (const json::In* neighbours = json::member_of(document, "neighbours")) {
    record.neighbours = json::read_neighbours(*neighbours);
  }
  if (const json::In* spent = json::member_of(document, "time_spent")) {
    record.time_spent = json::read_time_spent(*spent);
  }
  if (const json::In* errors = json::member_of(document, "link_errors")) {
    record.link_errors = json::read_link_errors(*errors);
  }
  if (const json::In* begins = json::member_of(document, "launch_begins_s")) {
    record.launch_begins_s = begins->get<std::vector<double>>();
  }
  if (const json::In* runs = json::member_of(document, "runs")) {
    record.runs = json::vector_of<ProgramRun>(*runs, json::read_program_run);
  }
  record.cases = json::vector_of<CaseResult>(document.at("cases"), json::read_case);
  record.warnings = json::vector_of<Warning>(document.at("warnings"), json::read_warning);
  if (document.contains("samples")) json::read_samples(document.at("samples"), record.cases);
  return record;
}

constexpr std::string_view kBetweenMembers = ",\n";

/// A line for each case and each of the samples' columns; machine and settings over several.
std::string pretty(const json::Out& document) {
  return json::laid_out(document, [](const std::string& key, const json::Out& value) {
    if ((key == "cases" || key == "samples" || key == "runs") && !value.empty())
      return json::Layout::rows;
    return key == "machine" || key == "settings" ? json::Layout::indented : json::Layout::line;
  });
}

}  // namespace

void json::require_known_schema(const In& document) {
  require_known_schema(document.is_object() ? document.value("schema", "") : std::string());
}

void json::require_known_schema(const std::string& found) {
  constexpr std::string_view kFamily = "linkgain.record/";
  if (found == kRecordSchema) return;
  if (!found.starts_with(kFamily)) {
    throw NotARecord(fmt::format("not a record: it has no member 'schema' of {}<number>", kFamily),
                     "give a record.json that `linkgain run` wrote");
  }
  throw UsageError(fmt::format("its schema is {}, this linkgain reads {}", found, kRecordSchema),
                   "read it with the linkgain that wrote it, or a newer one");
}

std::string to_json_without_samples(const Record& record) { return pretty(write_head(record)); }

std::string to_json(const Record& record) {
  json::Out document = write_head(record);
  document["results_digest"] = results_digest(pretty(document));
  document["samples"] = json::write_samples(record.cases);
  Digest digest;
  return with_digest(pretty(document), kBetweenMembers, digest);
}

namespace {

std::string about(const std::string& origin, std::string_view what) {
  return origin.empty() ? std::string(what) : fmt::format("{}: {}", origin, what);
}

Record parse_document(std::string_view text, const std::string& origin, bool whole) {
  try {
    json::In document = json::parse(text);
    json::require_known_schema(document);
    require_results_digest(text, document);
    Digest digest;
    const bool digested = require_digest(text, document, kBetweenMembers, digest);
    if (whole) require_record(document);
    Record record = read_document(document);
    if (whole) {
      require_consistent(record, agreement_of(record, digested));
    }
    if (digested) record.digest = document.at("digest");
    return record;
  } catch (const json::In::parse_error& error) {
    throw UsageError(about(origin, fmt::format("not JSON, from byte {} on", error.byte)),
                     "give a record.json that `linkgain run` wrote");
  } catch (const json::In::exception& error) {
    throw UsageError(about(origin, error.what()));
  } catch (const json::NotARecord& error) {
    throw json::NotARecord(about(origin, error.what()), error.advice());
  } catch (const UsageError& error) {
    throw UsageError(about(origin, error.what()), error.advice());
  }
}

}  // namespace

Record parse_record(std::string_view text, const std::string& origin) {
  return parse_document(text, origin, true);
}

Record parse_record_head(std::string_view text, const std::string& origin) {
  // Within a text there is no line break, so this can stand nowhere else but as a member.
  const std::size_t samples = text.find(",\n\"samples\":");
  if (samples == std::string_view::npos) return parse_record(text, origin);
  return parse_document(std::string(text.substr(0, samples)) + "}", origin, false);
}

}  // namespace linkgain
