#include "step_lines.hpp"

#include <fmt/format.h>

#include <cmath>

#include "linkgain/analysis/curve_steps.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "size_cells.hpp"

namespace linkgain {
namespace {

/// "2x", "2.67x".
std::string size_factor(const CurveStep& step) {
  const double factor =
      static_cast<double>(step.to.size.value) / static_cast<double>(step.from.size.value);
  return fmt::format("{:.{}f}x", factor, factor == std::round(factor) ? 0 : 2);
}

std::string time_factor(double factor) {
  return fmt::format("{:.{}f}x", factor, factor >= 9.995 ? 1 : 2);
}

/// What NCCL or our kernel does at either end; empty where that is not known of both.
std::string plan_change(const TransferPlan& from, const TransferPlan& to, bool kernel) {
  if (from.protocol.empty() || to.protocol.empty()) {
    return {};
  }
  if (from != to) {
    return fmt::format("; {} goes from {} to {} there", kernel ? "the kernel" : "NCCL",
                       readable_plan(from), readable_plan(to));
  }
  if (kernel) {
    return fmt::format("; the kernel's way stays the same ({})", readable_plan(from));
  }
  return fmt::format(
      "; {} the same ({})",
      from.algorithm.empty() ? "NCCL's protocol stays" : "NCCL's algorithm and protocol stay",
      readable_plan(from));
}

std::string step_line(const CurveStep& step, const std::string& variant, bool kernel) {
  return fmt::format(
      "- {} from {} to {} with {}: {} the size takes {} the time, where the pace before and after "
      "it gives {} and {}{}\n",
      step.falls() ? "Fall" : "Step", readable_bytes(step.from.size), readable_bytes(step.to.size),
      variant, size_factor(step), time_factor(step.to.time.value / step.from.time.value),
      time_factor(step.pace_before), time_factor(step.pace_after),
      plan_change(step.from.plan, step.to.plan, kernel));
}

}  // namespace

std::string step_lines(const Record& record, const Curve& curve) {
  std::string text;
  for (const std::string& variant : variant_names(curve.cases)) {
    for (const CurveStep& step : find_steps(curve_points(record, curve.name, variant))) {
      text += step_line(step, variant, curve.cases.front()->definition.kernel);
    }
  }
  return text;
}

}  // namespace linkgain
