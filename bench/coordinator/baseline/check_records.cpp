#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "linkgain/base/glob.hpp"
#include "linkgain/baseline/regression.hpp"
#include "linkgain/hardware/health.hpp"

namespace linkgain {
namespace {

void require_key(const Baseline& baseline, const NamedRecord& source) {
  const std::vector<std::string> lines = differences(baseline.key, key_of(source.record));
  if (lines.empty()) return;
  throw UsageError(fmt::format("{} is of another machine than the baseline (there) was made on: {}",
                               source.name, fmt::join(lines, "; ")),
                   "check it against a baseline of its own kind of machine; `linkgain doctor` says "
                   "whether links are down");
}

/// "NCCL_ALGO=Ring", "NCCL_ALGO not set".
std::string setting(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? name + " not set" : name + "=" + found->second;
}

void warn_of_variables(CheckResult& result, const Baseline& baseline, const NamedRecord& source) {
  for (const Variant& known : baseline.variants) {
    for (const Variant& variant : source.record.settings.variants) {
      if (variant.name != known.name || variant.environment == known.environment) continue;
      std::set<std::string> names;
      for (const auto& [name, value] : known.environment) names.insert(name);
      for (const auto& [name, value] : variant.environment) names.insert(name);
      std::vector<std::string> parts;
      for (const std::string& name : names) {
        const std::string before = setting(known.environment, name);
        const std::string now = setting(variant.environment, name);
        if (before != now) parts.push_back(fmt::format("{} there, {} here", before, now));
      }
      result.warnings.push_back(
          {"other-variables",
           fmt::format("{}: variant {} is not the baseline's: {}", source.name, variant.name,
                       fmt::join(parts, "; ")),
           "a difference may come from these; measure with the baseline's, or make a new one"});
    }
  }
}

/// Cases that are the same show it nowhere else.
void warn_of_health(CheckResult& result, const NamedRecord& source) {
  HealthSummary health;
  for (const CaseResult& each : source.record.cases) {
    for (const VariantResult& variant : each.variants) add_summary(health, variant.health);
  }
  if (health.unhealthy_samples == 0) return;
  result.warnings.push_back({"held-back",
                             fmt::format("{}: {}", source.name, throttling_text(health)),
                             kThrottlingAdvice});
}

void warn_of_record(CheckResult& result, const Baseline& baseline, const NamedRecord& source) {
  const BaselineSource own = source_of(source.record);
  if (std::find(baseline.sources.begin(), baseline.sources.end(), own) != baseline.sources.end()) {
    result.warnings.push_back({"own-baseline",
                               source.name + " is one of the records the baseline was made from",
                               "it is no test of anything: check another run"});
  }
  if (source.record.status != "complete") {
    result.warnings.push_back({"incomplete-record",
                               fmt::format("{}: {}", source.name, source.record.status),
                               "what was measured is checked; cases that are missing fail"});
  }
  warn_of_health(result, source);
  warn_of_variables(result, baseline, source);
}

void warn_of_overrides(CheckResult& result, const Baseline& baseline) {
  for (const ToleranceOverride& change : baseline.overrides) {
    const bool fits = std::any_of(
        baseline.cases.begin(), baseline.cases.end(), [&](const BaselineCase& reference) {
          return matches_glob(change.cases, case_name(reference.definition)) &&
                 matches_glob(change.variant, reference.variant);
        });
    if (fits) continue;
    result.warnings.push_back(
        {"idle-override",
         fmt::format("the override for cases '{}' and variant '{}' fits no case of the baseline",
                     change.cases, change.variant),
         "patterns are held against whole names: begin and end with * where more may stand there"});
  }
}

}  // namespace

CheckResult check_records(std::span<const NamedRecord> records, const Baseline& baseline,
                          const std::optional<Tolerance>& tolerance) {
  for (const NamedRecord& source : records) require_key(baseline, source);
  require_like_records(records);
  CheckResult result = check_launches(launch_medians(records), baseline, tolerance);
  result.made = baseline.made;
  result.key = baseline.key;
  for (const NamedRecord& source : records) {
    result.sources.push_back(source_of(source.record));
    warn_of_record(result, baseline, source);
  }
  for (const Warning& warning : baseline.warnings) {
    if (warning.code == "weak-baseline") result.warnings.push_back(warning);
  }
  if (!tolerance) warn_of_overrides(result, baseline);
  return result;
}

}  // namespace linkgain
