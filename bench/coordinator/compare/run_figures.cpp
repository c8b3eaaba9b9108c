#include "linkgain/compare/run_figures.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkgain {
namespace {

std::string why_no_time(const Record& record, const CaseResult& result, std::size_t place) {
  const std::string refused = why_no_launch_counts(record, result, place);
  if (!refused.empty()) return refused;
  const VariantResult& variant = result.variants[place];
  if (variant.skipped) return fmt::format("skipped: {}", why_skipped(variant));
  return variant.time ? "" : "not measured";
}

CaseFigures case_figures(const Record& record, const CaseResult& result, std::size_t place) {
  const VariantResult& variant = result.variants[place];
  CaseFigures figures;
  figures.name = case_name(result.definition);
  figures.definition = result.definition;
  figures.variant = variant.variant;
  figures.no_time = why_no_time(record, result, place);
  figures.wrong_data = has_wrong_data(variant);
  figures.time = variant.time;
  figures.launches = counted_launches(record, result, place);
  if (figures.launches.empty() && figures.time && figures.no_time.empty()) {
    figures.launches.push_back({0, *figures.time});
  }
  figures.algbw = variant.algbw;
  figures.busbw = variant.busbw;
  figures.path = variant.path;
  figures.grouped = variant.execution.form == kGroupedForm;
  figures.health = variant.health;
  figures.disturbance = disturbance_of(record, variant);
  figures.training = variant.training;
  return figures;
}

/// Returns its digest; of a journal or an older record, which have none, where and when it began
/// and how much was sampled.
std::string identity_of(const Record& record) {
  if (!record.digest.empty()) return record.digest;
  std::size_t samples = 0;
  for (const CaseResult& result : record.cases) samples += result.samples.size();
  return fmt::format("{} {} {}", record.machine.host, record.started, samples);
}

}  // namespace

RunFigures figures_of(const Record& record, const std::string& name) {
  RunFigures run;
  run.name = name;
  run.identity = identity_of(record);
  run.started = record.started;
  run.status = record.status;
  run.ending = ending_of(record);
  run.machine = record.machine;
  run.settings = record.settings;
  run.neighbours = record.neighbours;
  run.link_errors = record.link_errors;
  run.warnings = record.warnings;
  for (const CaseResult& result : record.cases) {
    for (std::size_t variant = 0; variant < result.variants.size(); ++variant) {
      run.cases.push_back(case_figures(record, result, variant));
    }
  }
  return run;
}

}  // namespace linkgain
