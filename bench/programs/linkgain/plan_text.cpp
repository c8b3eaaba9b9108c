#include "plan_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "linkgain/base/secrets.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/completion.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/run/pace.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

int jobs_at_once(const RunPlan& plan) {
  if (plan.schedule == Schedule::sequential) return 1;
  return launches_at_once(plan) * static_cast<int>(plan.variants.size());
}

std::string readable(Seconds time) {
  constexpr double kInSeconds = 100.0;
  if (time.value < kInSeconds) return fmt::format("{:.0f} s", std::ceil(time.value));
  return fmt::format("{:.0f} min", std::ceil(time.value / 60.0));
}

std::string row(std::string_view head, const std::string& text) {
  return hanging(fmt::format("{:<13} ", head), text, kUsualColumns);
}

/// Returns a variant's variables, and its linkgain-bench where it has one of its own.
std::string variables_of(const Variant& variant) {
  std::vector<std::string> all;
  for (const auto& [name, value] : without_secrets(variant.environment)) {
    all.push_back(fmt::format("{}={}", name, value));
  }
  if (!variant.worker.empty()) all.push_back("worker=" + variant.worker);
  return all.empty() ? "sets nothing" : fmt::format("{}", fmt::join(all, " "));
}

std::string rows_of(const std::vector<Variant>& variants) {
  std::string text;
  for (const Variant& variant : variants) {
    text += hanging(fmt::format("  {:<13} ", variant.name), variables_of(variant), kUsualColumns);
  }
  return text;
}

std::string memory_text(const RunPlan& plan) {
  const auto mebibytes = static_cast<double>(job_memory(plan)) / (1 << 20);
  const int jobs = jobs_at_once(plan);
  return fmt::format("up to {} of {} for each job; {}",
                     mebibytes < 1024.0 ? fmt::format("{:.0f} MiB", std::ceil(mebibytes))
                                        : fmt::format("{:.1f} GiB", mebibytes / 1024.0),
                     plan.backend == BackendKind::nccl ? "each GPU" : "each host",
                     jobs == 1 ? "one job at a time" : fmt::format("{} jobs at once", jobs));
}

RunPlan plan_of_one_node(const RunOptions& options, Site site) {
  site.allocation = Hosts{};
  RunPlan plan = make_plan(options, site);
  plan.warnings.push_back(warning_of(
      WarningCode::assumed_node,
      fmt::format("there is no Slurm allocation here: the plan is that of one node with {} ranks",
                  plan.ranks)));
  return plan;
}

}  // namespace

Seconds expected_duration(const RunPlan& plan) {
  const RunObserver clock;
  return {RunPace(plan, clock).seconds_left()};
}

RunPlan preview_plan(const RunOptions& options, Site site) {
  const bool has_gpus = site.has_nccl && site.gpus >= 2;
  const bool by_slurm = is_by_srun(options);
  const bool elsewhere = site.hostfile || options.hostfile || by_slurm;
  const bool for_gpus = options.backend.value_or(BackendKind::nccl) == BackendKind::nccl;
  if (by_slurm && !options.hostfile && !site.allocation) return plan_of_one_node(options, site);
  if (!for_gpus || elsewhere || has_gpus) return make_plan(options, site);
  const std::string lack = site.gpus < 2 ? site.no_gpus_reason : site.nccl_missing;
  const int listed = options.gpus.empty() ? 0 : 1 + *std::ranges::max_element(options.gpus);
  site.has_nccl = true;
  site.gpus = std::max({2, listed, site.gpus, options.ranks.value_or(2)});
  RunPlan plan = make_plan(options, site);
  plan.warnings.push_back(warning_of(
      WarningCode::assumed_gpus,
      fmt::format("this machine cannot run it ({}): the plan is that of a machine with {} GPUs. "
                  "Not known are their memory and whether they allow several jobs at once",
                  lack, plan.ranks)));
  return plan;
}

std::string plan_text(const RunPlan& plan, std::size_t columns) {
  const std::string gpus =
      plan.gpus.empty() ? "" : fmt::format(", GPUs {}", fmt::join(plan.gpus, ","));
  std::string text =
      row("Backend:", fmt::format("{}, {} ranks{}", name_of(plan.backend), plan.ranks, gpus));
  text += row("Profile:", plan.profile);
  text += row("Launches:", fmt::format("{} of every variant, {}", plan.launches,
                                       plan.schedule == Schedule::sequential ? "one job at a time"
                                                                             : "variants in turn"));
  text += row("Memory:", memory_text(plan));
  text += row("Time:",
              fmt::format("about {}{}", readable(expected_duration(plan)),
                          plan.budget ? fmt::format(", at most {}", readable(*plan.budget)) : ""));
  text += "\nVariants, and the variables they set:\n" + rows_of(plan.variants);
  text += fmt::format("\nCases ({}):\n", plan.cases.size());
  for (const Case& c : plan.cases) text += "  " + case_name(c) + "\n";
  for (const Warning& warning : plan.warnings) {
    constexpr std::string_view kLead = "Notice: ";
    text += "\n" + hanging(kLead, warning.text, columns);
    if (!warning.advice.empty()) {
      text += hanging(std::string(kLead.size(), ' '), warning.advice, columns);
    }
  }
  return text;
}

std::string choices_text() {
  std::string text;
  const auto add = [&](std::string_view head, std::string_view option, std::string_view value) {
    text += row(head, fmt::format("{}", fmt::join(words_of_option(option, value), ", ")));
  };
  add("Operations:", "--only", "OP,...");
  add("Profiles:", "--profile", "NAME");
  add("Types:", "--type", "TYPE,...");
  add("Reductions:", "--reduction", "RED,...");
  add("Buffers:", "--buffers", "KIND,...");
  add("Launch modes:", "--launch-mode", "MODE,...");
  add("Patterns:", "--pattern", "PATTERN,...");
  add("Model sizes:", "--model-size", "SIZE,...");
  add("Strategies:", "--strategy", "NAME,...");
  add("Precisions:", "--training-precision", "NAME,...");
  for (const BackendKind backend : {BackendKind::nccl, BackendKind::mpi}) {
    const VariantContext context{backend, false};
    text += fmt::format("\nVariants of the {} backend, and the variables they set:\n",
                        name_of(backend)) +
            rows_of(built_in_variants(context));
  }
  return text;
}

}  // namespace linkgain
