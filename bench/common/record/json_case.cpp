#include <limits>

#include "linkgain/record/record_json.hpp"

namespace linkgain::json {
namespace {

Out write_ratio(const RatioResult& result) {
  const Ratio& ratio = result.ratio;
  return {{"variant", result.variant},     {"ratio", ratio.estimate},
          {"low", nullable(ratio.low)},    {"high", nullable(ratio.high)},
          {"rounds", ratio.rounds},        {"rounds_per_group", ratio.rounds_per_group},
          {"correlated", ratio.correlated}};
}

RatioResult read_ratio(const In& json) {
  Ratio ratio;
  ratio.estimate = json.at("ratio");
  ratio.low = optional_at<double>(json, "low");
  ratio.high = optional_at<double>(json, "high");
  ratio.rounds = json.at("rounds");
  ratio.rounds_per_group = json.at("rounds_per_group");
  ratio.correlated = json.at("correlated");
  return {json.at("variant"), ratio};
}

Out write_training(const TrainingResult& training) {
  return {{"steps", training.steps},
          {"sum_s", training.sum.value},
          {"first_loss", nullable(training.first_loss)},
          {"last_loss", nullable(training.last_loss)},
          {"loss_difference", nullable(training.loss_difference)},
          {"exposed_s", nullable(training.exposed_s)},
          {"exposed_low_s", nullable(training.exposed_low_s)},
          {"exposed_high_s", nullable(training.exposed_high_s)},
          {"buckets", nullable(training.buckets)}};
}

TrainingResult read_training(const In& json) {
  return {json.at("steps"),
          Seconds{json.at("sum_s")},
          optional_at<double>(json, "first_loss"),
          optional_at<double>(json, "last_loss"),
          optional_at<double>(json, "loss_difference"),
          optional_at<double>(json, "exposed_s"),
          optional_at<double>(json, "exposed_low_s"),
          optional_at<double>(json, "exposed_high_s"),
          optional_at<int>(json, "buckets")};
}

Out write_variant_result(const VariantResult& result) {
  Out out{{"variant", result.variant},
          {"skipped", nullable(result.skipped)},
          {"time_s", nullable(seconds_of(result.time))},
          {"algbw_gb_per_s", nullable(result.algbw)},
          {"busbw_gb_per_s", nullable(result.busbw)},
          {"skew", nullable(result.skew)},
          {"path", name_of(result.path)},
          {"fraction_of_limit", nullable(result.fraction_of_limit)},
          {"limit", result.limit},
          {"evidence", result.evidence ? write_evidence(*result.evidence) : Out(nullptr)},
          {"health", write_health_summary(result.health)},
          {"verification",
           result.verification ? write_verification(*result.verification) : Out(nullptr)},
          {"execution", write_execution(result.execution)}};
  if (result.training) out["training"] = write_training(*result.training);
  return out;
}

VariantResult read_variant_result(const In& json) {
  VariantResult result;
  result.variant = json.at("variant");
  result.skipped = optional_at<std::string>(json, "skipped");
  if (const auto time = optional_at<double>(json, "time_s")) result.time = Seconds{*time};
  result.algbw = optional_at<double>(json, "algbw_gb_per_s");
  result.busbw = optional_at<double>(json, "busbw_gb_per_s");
  result.skew = optional_at<double>(json, "skew");
  result.path = parse_path(json.at("path").get<std::string>());
  result.fraction_of_limit = optional_at<double>(json, "fraction_of_limit");
  result.limit = optional_at<std::string>(json, "limit").value_or("");
  if (const In* evidence = member_of(json, "evidence")) result.evidence = read_evidence(*evidence);
  if (const In* health = member_of(json, "health")) result.health = read_health_summary(*health);
  if (!json.at("verification").is_null()) {
    result.verification = read_verification(json.at("verification"));
  }
  result.execution = read_execution(json.at("execution"));
  if (const In* training = member_of(json, "training")) result.training = read_training(*training);
  return result;
}

}  // namespace

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
  return {{"operations_per_sample", execution.operations_per_sample},
          {"discarded_per_sample", execution.discarded_per_sample},
          {"operations_per_graph", execution.operations_per_graph},
          {"buffer_slots", execution.buffer_slots},
          {"cold_data", execution.cold_data},
          {"form", execution.form},
          {"through_host", nullable(execution.through_host)}};
}

Execution read_execution(const In& json) {
  return {json.at("operations_per_sample"),
          optional_at<std::int64_t>(json, "discarded_per_sample").value_or(0),
          json.at("operations_per_graph"),
          json.at("buffer_slots"),
          json.at("cold_data"),
          optional_at<std::string>(json, "form").value_or(""),
          optional_at<bool>(json, "through_host")};
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

}  // namespace linkgain::json
