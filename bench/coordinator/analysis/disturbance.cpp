#include "linkgain/analysis/disturbance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/record/warning.hpp"

namespace linkgain {
namespace {

constexpr const char* kAdvice =
    "a difference may come from it: keep other work off the machine and measure again";

double size_of(const std::optional<double>& level_change) {
  return level_change ? std::abs(std::log(*level_change)) : 0.0;
}

}  // namespace

Disturbance disturbance_of(const Record& record, const VariantResult& result) {
  Disturbance disturbance;
  const bool looked = record.neighbours || result.disturbed_samples > 0;
  if (looked && !result.skipped) disturbance.samples = result.disturbed_samples;
  if (result.level_shift) disturbance.level_change = result.level_shift->ratio;
  return disturbance;
}

Disturbance operator+(const Disturbance& a, const Disturbance& b) {
  const bool first = size_of(a.level_change) >= size_of(b.level_change);
  const bool known = a.samples || b.samples;
  return {known ? std::optional(a.samples.value_or(0) + b.samples.value_or(0)) : std::nullopt,
          first ? a.level_change : b.level_change};
}

std::string disturbance_text(const Disturbance& disturbance) {
  std::vector<std::string> parts;
  if (disturbance.samples.value_or(0) > 0) {
    parts.push_back(fmt::format("other processes were active in {}",
                                counted(*disturbance.samples, "sample", "samples")));
  }
  if (disturbance.level_change) {
    parts.push_back(
        fmt::format("times changed level within a launch (x{:.3g})", *disturbance.level_change));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<Warning> disturbance_warnings(const std::string& run,
                                          const std::vector<DisturbedCase>& cases,
                                          const std::optional<Neighbours>& neighbours,
                                          const std::optional<LinkErrors>& errors,
                                          const std::vector<Warning>& own) {
  std::vector<std::string> others;
  if (neighbours) {
    for (const GpuNeighbour& each : neighbours->seen) others.push_back(neighbour_text(each));
  }
  int samples = 0;
  std::vector<std::string> disturbed;
  std::vector<std::string> changed;
  for (const DisturbedCase& each : cases) {
    const int of_case = each.disturbance.samples.value_or(0);
    samples += of_case;
    if (of_case > 0) disturbed.push_back(each.name);
    if (!each.disturbance.level_change) continue;
    changed.push_back(fmt::format("{} (x{:.3g})", each.name, *each.disturbance.level_change));
  }
  std::vector<Warning> warnings;
  if (!others.empty()) {
    warnings.push_back({name_of(WarningCode::neighbours),
                        fmt::format("in {} {}", run, first_named(others)), kNeighbourAdvice});
  }
  for (const Warning& each : own) {
    if (!disturbs(each) || is(each, WarningCode::busy_gpu)) continue;
    warnings.push_back({each.code, fmt::format("in {} {}", run, each.text), each.advice});
  }
  if (!disturbed.empty()) {
    warnings.push_back({name_of(WarningCode::disturbed),
                        fmt::format("in {} other processes were active in {}: {}", run,
                                    counted(samples, "sample", "samples"), first_named(disturbed)),
                        kAdvice});
  }
  if (!changed.empty()) {
    warnings.push_back(
        {name_of(WarningCode::level_change),
         fmt::format("in {} times changed level within a launch: {}", run, first_named(changed)),
         kAdvice});
  }
  if (const std::vector<std::string> grown = grown_texts(errors); !grown.empty()) {
    warnings.push_back({name_of(WarningCode::link_errors),
                        fmt::format("in {} errors were counted: {}", run, first_named(grown)),
                        kLinkErrorsAdvice});
  }
  return warnings;
}

std::vector<Warning> disturbance_warnings(const std::string& run, const Record& record) {
  std::vector<DisturbedCase> cases;
  for (const CaseResult& result : record.cases) {
    for (const VariantResult& variant : result.variants) {
      cases.push_back({fmt::format("{} with {}", case_name(result.definition), variant.variant),
                       disturbance_of(record, variant)});
    }
  }
  return disturbance_warnings(run, cases, record.neighbours, record.link_errors, record.warnings);
}

}  // namespace linkgain
