#include "plan_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/secrets.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/completion.hpp"
#include "linkgain/plan/same_path.hpp"
#include "linkgain/race/race.hpp"
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
  for (const std::string& name : variant.unset) all.push_back("-" + name);
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

/// Rounds to what is shown, so that the amounts that are shown add up.
double shown_mebibytes(std::int64_t bytes) {
  constexpr double kTenthOfGibibyte = 102.4;
  const auto mebibytes = static_cast<double>(bytes) / (1 << 20);
  return mebibytes < 1024.0 ? std::ceil(mebibytes)
                            : std::round(mebibytes / kTenthOfGibibyte) * kTenthOfGibibyte;
}

std::string amount(double mebibytes) {
  return mebibytes < 1024.0 ? fmt::format("{:.0f} MiB", mebibytes)
                            : fmt::format("{:.1f} GiB", mebibytes / 1024.0);
}

std::string memory_text(const RunPlan& plan) {
  const JobMemory job = job_memory(plan);
  const int jobs = jobs_at_once(plan);
  const int measuring = std::min(jobs, static_cast<int>(plan.variants.size()));
  const int waiting = jobs - measuring;
  const double of_measuring = shown_mebibytes(job.measuring);
  const double of_waiting = shown_mebibytes(job.waiting);
  std::string text =
      fmt::format("up to {}{} on {}: ", amount(measuring * of_measuring + waiting * of_waiting),
                  plan.memory ? " of " + amount(shown_mebibytes(*plan.memory)) : "",
                  plan.backend == BackendKind::nccl ? "each GPU" : "each host");
  if (jobs == 1) return text + "one job at a time";
  text += fmt::format("{} for each of {} jobs that measure", amount(of_measuring), measuring);
  if (waiting == 0) return text;
  return text + fmt::format(", {} for each of {} that wait", amount(of_waiting), waiting);
}

/// Returns the plan of a machine that has what this one `lacks`: GPUs, or a build for them.
RunPlan plan_of_assumed_gpus(const RunOptions& options, Site site, const MachineError& lacks) {
  const int found = site.gpus;
  const bool has_nccl = std::exchange(site.has_nccl, true);
  site.driver_cuda.clear();
  const int listed = options.gpus.empty() ? 0 : 1 + *std::ranges::max_element(options.gpus);
  site.gpus = std::max({2, listed, found, options.ranks.value_or(2)});
  RunPlan plan = make_plan(options, site);
  std::string unknown;
  if (found < site.gpus) {
    unknown = fmt::format(". Not known are {} memory and whether they allow several jobs at once",
                          found == 0 ? "their" : "the others'");
  }
  Warning warning = warning_of(
      WarningCode::assumed_gpus,
      fmt::format("this machine cannot run it ({}): the plan is that of a machine with {} GPUs{}",
                  lacks.what(), plan.ranks, unknown));
  if (!has_nccl) warning.advice = lacks.advice();
  plan.warnings.push_back(std::move(warning));
  return plan;
}

std::string time_text(const RunPlan& plan) {
  const std::string expected = readable(expected_duration(plan));
  if (plan.is_soak) return expected + ", all of the budget";
  return fmt::format("about {}{}", expected,
                     plan.budget ? fmt::format(", at most {}", readable(*plan.budget)) : "");
}

}  // namespace

std::vector<NcclSettings> nccl_settings_of(const std::vector<Variant>& variants,
                                           const SurveySources& sources) {
  std::vector<NcclSettings> all;
  for (const Variant& variant : variants) {
    Environment environment = variant.environment;
    environment.insert(sources.environment.begin(), sources.environment.end());
    for (const std::string& name : variant.unset) environment.erase(name);
    all.push_back(survey_nccl_settings(environment, sources.home, sources.etc));
  }
  return all;
}

std::optional<Warning> same_path_notice(const RunPlan& plan, Topology topology,
                                        const SurveySources& sources) {
  if (plan.backend != BackendKind::nccl) return std::nullopt;
  for (TopologyGpu& gpu : topology.gpus) {
    if (!uses_gpu(plan, gpu.cuda_index.value_or(-1))) gpu.cuda_index = hidden_from_cuda();
  }
  const auto same = same_path(plan.variants, nccl_settings_of(plan.variants, sources), topology);
  if (!same) return std::nullopt;
  const bool fits = std::ranges::any_of(seen_pairs(topology), [&](const TopologyPair& pair) {
    return could_be_bridged(topology.gpus[static_cast<std::size_t>(pair.from)],
                            topology.gpus[static_cast<std::size_t>(pair.to)]);
  });
  const bool may_be_one = std::ranges::any_of(topology.gpus, may_have_nvlink, &TopologyGpu::nvlink);
  return Warning{
      name_of(WarningCode::same_path),
      fmt::format("{} take the same path, through host memory ({}), so that there is no ratio "
                  "between them. The run still gives times over this path{}",
                  listed(same->variants), same->why,
                  fits         ? ", and an estimate of what a bridge could save"
                  : may_be_one ? ""
                               : "; no bridge fits"),
      same->advice};
}

Seconds expected_duration(const RunPlan& plan) {
  if (plan.is_soak) return *plan.budget;
  const RunObserver clock;
  double seconds = RunPace(plan, clock).seconds_left();
  if (!plan.race) return {seconds};
  // As if half of the candidates were to be measured again, and as many to be confirmed as may be.
  RunPlan stage = plan;
  const auto take = [&](std::size_t candidates, int launches) {
    stage.variants.resize(1 + std::min(candidates, plan.variants.size() - 1));
    stage.launches = launches;
    seconds += RunPace(stage, clock).seconds_left();
  };
  take(plan.variants.size() / 2, plan.race->choosing);
  take(kMostWinners, plan.race->confirming);
  return {seconds};
}

/// Says how often variants are started, in which order.
std::string launches_text(const RunPlan& plan) {
  const std::string_view order =
      plan.schedule == Schedule::sequential ? "one job at a time" : "variants in turn";
  if (!plan.race) return fmt::format("{} of every variant, {}", plan.launches, order);
  return fmt::format(
      "{} of all variants, {} of those that may still win, {} of the default and of at most {} "
      "winners, {}",
      plan.race->screening, plan.race->choosing, plan.race->confirming, kMostWinners, order);
}

RunPlan preview_plan(const RunOptions& options, Site site) {
  const bool by_slurm = is_by_srun(options);
  const bool is_assumed_node = by_slurm && !options.hostfile && !site.allocation;
  const bool elsewhere = site.hostfile || options.hostfile || (by_slurm && !is_assumed_node);
  if (is_assumed_node) site.allocation = Hosts{};
  RunPlan plan;
  try {
    plan = make_plan(options, site);
  } catch (const MachineError& lacks) {
    if (elsewhere) throw;
    plan = plan_of_assumed_gpus(options, site, lacks);
  }
  if (is_assumed_node) {
    plan.warnings.push_back(warning_of(
        WarningCode::assumed_node,
        fmt::format("there is no Slurm allocation here: the plan is that of one node with {} ranks",
                    plan.ranks)));
  }
  return plan;
}

std::string plan_text(const RunPlan& plan, std::size_t columns) {
  const std::string gpus =
      plan.gpus.empty() ? "" : fmt::format(", GPUs {}", fmt::join(plan.gpus, ","));
  std::string text =
      row("Backend:", fmt::format("{}, {} ranks{}", name_of(plan.backend), plan.ranks, gpus));
  text += row("Profile:", plan.profile);
  text += row("Launches:", launches_text(plan));
  text += row("Memory:", memory_text(plan));
  text += row("Time:", time_text(plan));
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
