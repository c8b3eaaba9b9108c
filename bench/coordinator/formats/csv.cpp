#include "linkgain/formats/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "linkgain/analysis/disturbance.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpt2/training_strategy.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kHeader =
    "case,operation,type,reduction,size_bytes,ranks,in_place,launch,pair,variant,time_s,"
    "algbw_gb_per_s,busbw_gb_per_s,path,wrong,ratio,ratio_low,ratio_high,less_time,launches,"
    "converged,skipped,fraction_of_limit,limit,algorithm,protocol,blocks,counted_operations,"
    "nvlink_sent_bytes,nvlink_received_bytes,pcie_sent_bytes,pcie_received_bytes,expected_bytes,"
    "nvlink_share,judged,not_judged_because,highest_temperature_c,lowest_sm_clock_mhz,"
    "health_samples,unhealthy_samples,power_capped_samples,buffers,root,kernel,form,link,"
    "model_size,training_precision,strategy,buckets,bucket_mib,bucket_count,batch,sequence,dropout,"
    "steps,"
    "steps_time_s,steps_run,steps_run_time_s,exposed_s,exposed_low_s,exposed_high_s,"
    "exposed_launches,first_loss,"
    "last_loss,loss_difference,library_ratio,library_ratio_low,library_ratio_high,"
    "library_ratio_launches,"
    "disturbed_samples,level_change\n";

std::string_view field(bool value) { return value ? "true" : "false"; }

std::string pair_field(const Case& definition) {
  if (!definition.pair.has_value()) {
    return {};
  }
  return fmt::format("{}-{}{}", definition.pair->from, definition.pair->to,
                     definition.pair->both ? "/both" : "");
}

void add_case_fields(std::vector<std::string>& fields, const Case& definition) {
  const bool reduces = has_reduction(definition.operation);
  fields.push_back(csv_field(std::string_view(case_name(definition))));
  fields.emplace_back(name_of(definition.operation));
  fields.emplace_back(has_type(definition.operation) ? name_of(definition.type)
                                                     : std::string_view{});
  fields.emplace_back(reduces ? name_of(definition.reduction) : std::string_view{});
  fields.push_back(fmt::format("{}", definition.size.value));
  fields.push_back(fmt::format("{}", definition.ranks));
  fields.emplace_back(field(definition.in_place));
  fields.emplace_back(name_of(definition.launch));
  fields.push_back(pair_field(definition));
}

void add_variant_fields(std::vector<std::string>& fields, const Case& definition,
                        const VariantResult& variant) {
  const bool carried = !definition.training || uses_link(definition);
  const bool measured = variant.time.has_value();
  fields.push_back(csv_field(std::string_view(variant.variant)));
  fields.push_back(csv_field(seconds_of(variant.time)));
  fields.push_back(csv_field(variant.algbw));
  fields.push_back(csv_field(variant.busbw));
  fields.emplace_back(measured && carried ? name_of(variant.path) : std::string_view{});
  fields.push_back(variant.verification.has_value() ? fmt::format("{}", variant.verification->wrong)
                                                    : std::string{});
}

void add_interval_fields(std::vector<std::string>& fields, double value,
                         const std::optional<Interval>& interval) {
  fields.push_back(csv_field(std::optional(value)));
  fields.push_back(csv_field(low_of(interval)));
  fields.push_back(csv_field(high_of(interval)));
}

void add_evidence_fields(std::vector<std::string>& fields, const VariantSummary& summary) {
  const VariantResult& variant = *summary.result;
  const std::optional<double>& fraction = summary.limit_share;
  fields.push_back(csv_field(fraction));
  fields.push_back(csv_field(fraction ? name_of(variant.limit) : std::string_view{}));
  if (!variant.evidence.has_value()) {
    fields.insert(fields.end(), 12, "");
    return;
  }
  const TrafficEvidence& evidence = *variant.evidence;
  fields.push_back(csv_field(std::string_view(evidence.plan.algorithm)));
  fields.push_back(csv_field(std::string_view(evidence.plan.protocol)));
  fields.push_back(csv_field(evidence.plan.blocks));
  fields.push_back(fmt::format("{}", evidence.operations));
  fields.push_back(csv_field(evidence.nvlink_sent));
  fields.push_back(csv_field(evidence.nvlink_received));
  fields.push_back(csv_field(evidence.pcie_sent));
  fields.push_back(csv_field(evidence.pcie_received));
  fields.push_back(csv_field(evidence.expected));
  fields.push_back(csv_field(evidence.nvlink_share()));
  fields.emplace_back(field(evidence.judged));
  fields.push_back(csv_field(std::string_view(evidence.reason)));
}

void add_health_fields(std::vector<std::string>& fields, const VariantResult& variant) {
  const HealthSummary& health = variant.health;
  fields.push_back(csv_field(health.highest_temperature_c));
  fields.push_back(csv_field(health.lowest_sm_clock_mhz));
  if (health.samples == 0) {
    fields.insert(fields.end(), 3, "");
    return;
  }
  for (const int count : {health.samples, health.unhealthy_samples, health.power_capped_samples}) {
    fields.push_back(fmt::format("{}", count));
  }
}

void add_form_fields(std::vector<std::string>& fields, const Case& definition,
                     const VariantResult& variant) {
  fields.emplace_back(name_of(definition.buffers));
  fields.push_back(has_root(definition.operation) ? fmt::format("{}", definition.root)
                                                  : std::string{});
  fields.emplace_back(field(definition.kernel));
  fields.push_back(csv_field(std::string_view(variant.execution.form)));
}

/// Adds what was trained.
void add_training_fields(std::vector<std::string>& fields, const TrainingParameters& training) {
  const bool buckets = has_buckets(training.strategy);
  fields.emplace_back(name_of(training.model));
  fields.emplace_back(name_of(training.precision));
  fields.emplace_back(name_of(training.strategy));
  fields.emplace_back(buckets ? name_of(training.buckets) : std::string_view{});
  fields.push_back(csv_field(training.bucket_mib));
  fields.push_back(csv_field(bucket_count(training)));
  fields.push_back(fmt::format("{}", training.samples));
  fields.push_back(fmt::format("{}", training.length));
  fields.push_back(csv_field(std::optional(training.dropout)));
}

/// Adds what came of it: the time of all steps that were asked for, and of those that were timed.
void add_trained_fields(std::vector<std::string>& fields, const Settings& settings,
                        const VariantSummary& summary) {
  const VariantResult& variant = *summary.result;
  fields.push_back(fmt::format("{}", planned_steps(settings)));
  fields.push_back(csv_field(variant.time ? seconds_of(time_of_all_steps(settings, *variant.time))
                                          : std::nullopt));
  if (!variant.training || variant.training->steps == 0) {
    fields.insert(fields.end(), 9, "");
    return;
  }
  const TrainingResult& training = *variant.training;
  fields.push_back(fmt::format("{}", training.steps));
  fields.push_back(csv_field(std::optional(training.sum.value)));
  if (const std::optional<Estimate>& exposed = summary.exposed) {
    add_interval_fields(fields, exposed->value, exposed->interval);
    fields.push_back(fmt::format("{}", exposed->replicates));
  } else {  // a step without communication is compared with nothing
    fields.insert(fields.end(), 4, "");
  }
  fields.push_back(csv_field(training.first_loss));
  fields.push_back(csv_field(training.last_loss));
  fields.push_back(csv_field(training.loss_difference));
}

std::string row(const Record& record, const CaseSummary& each, const VariantSummary& summary) {
  const CaseResult& result = *each.result;
  const Case& definition = result.definition;
  const VariantResult& variant = *summary.result;
  const auto comparison = std::ranges::find(each.comparisons, &variant, &Comparison::other);
  std::vector<std::string> fields;
  add_case_fields(fields, definition);
  add_variant_fields(fields, definition, variant);
  if (comparison != each.comparisons.end() && comparison->has_speed_up()) {
    const Estimate& ratio = *comparison->ratio;
    add_interval_fields(fields, ratio.value, ratio.interval);
    fields.push_back(csv_field(std::optional(less_time(ratio.value))));
    fields.push_back(fmt::format("{}", ratio.replicates));
  } else {
    fields.insert(fields.end(), 5, "");
  }
  fields.emplace_back(variant.time.has_value() ? field(result.converged) : std::string_view{});
  fields.push_back(csv_field(std::string_view(why_skipped(variant))));
  add_evidence_fields(fields, summary);
  add_health_fields(fields, variant);
  add_form_fields(fields, definition, variant);
  fields.push_back(each.link.value_or(""));
  if (definition.training) {
    add_training_fields(fields, *definition.training);
    add_trained_fields(fields, record.settings, summary);
  } else {
    fields.insert(fields.end(), 20, "");
  }
  // How many times longer NCCL's operation or the copy engine takes than our kernel.
  if (const std::optional<Estimate>& library = summary.library_ratio) {
    add_interval_fields(fields, library->value, library->interval);
    fields.push_back(fmt::format("{}", library->replicates));
  } else {
    fields.insert(fields.end(), 4, "");
  }
  const Disturbance disturbance = disturbance_of(record, variant);
  fields.push_back(csv_field(disturbance.samples));
  fields.push_back(csv_field(disturbance.level_change));
  return fmt::format("{}\n", fmt::join(fields, ","));
}

}  // namespace

std::string csv(const RunSummary& summary) {
  std::string text(kHeader);
  for (const CaseSummary& each : summary.cases) {
    for (const VariantSummary& variant : each.variants) {
      text += row(summary.record, each, variant);
    }
  }
  return text;
}

}  // namespace linkgain
