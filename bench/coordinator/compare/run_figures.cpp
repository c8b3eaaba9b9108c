#include "linkgain/compare/run_figures.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkgain {
namespace {

std::string why_no_time(const Case& definition, const VariantResult& result) {
  if (has_wrong_data(result)) return count_of_wrong(definition, *result.verification);
  if (result.skipped) return fmt::format("skipped: {}", why_skipped(result));
  return result.time ? "" : "not measured";
}

CaseFigures case_figures(const Record& record, const CaseResult& result,
                         const VariantResult& variant) {
  CaseFigures figures;
  figures.name = case_name(result.definition);
  figures.definition = result.definition;
  figures.variant = variant.variant;
  figures.no_time = why_no_time(result.definition, variant);
  figures.wrong_data = has_wrong_data(variant);
  figures.time = variant.time;
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
  run.machine = record.machine;
  run.settings = record.settings;
  run.neighbours = record.neighbours;
  run.link_errors = record.link_errors;
  for (const CaseResult& result : record.cases) {
    for (std::size_t variant = 0; variant < result.variants.size(); ++variant) {
      CaseFigures figures = case_figures(record, result, result.variants[variant]);
      figures.launches = launch_medians(result, variant);
      if (figures.launches.empty() && figures.time) figures.launches.push_back({0, *figures.time});
      run.cases.push_back(std::move(figures));
    }
  }
  return run;
}

}  // namespace linkgain
