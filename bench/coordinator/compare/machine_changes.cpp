#include "linkgain/compare/machine_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "linkgain/analysis/variant_environment.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

/// Rates of copies and clocks wander by a few percent from run to run.
constexpr double kNoticeableRate = 0.05;

/// Collects changes; a side that is empty is not known.
class Changes {
 public:
  void add(ChangeKind kind, const std::string& what, const std::string& before,
           const std::string& after) {
    if (before.empty() || after.empty() || before == after) return;
    changes_.push_back({kind, what, before, after});
  }
  template <typename T>
  void add(ChangeKind kind, const std::string& what, const std::optional<T>& before,
           const std::optional<T>& after) {
    if (before && after) add(kind, what, fmt::format("{}", *before), fmt::format("{}", *after));
  }
  void add_rate(ChangeKind kind, const std::string& what, double before, double after,
                std::string_view unit) {
    if (!(before > 0.0 && after > 0.0)) return;
    if (std::abs(std::log(after / before)) < kNoticeableRate) return;
    add(kind, what, fmt::format("{:.4g} {}", before, unit), fmt::format("{:.4g} {}", after, unit));
  }
  std::vector<Change> take() { return std::move(changes_); }

 private:
  std::vector<Change> changes_;
};

void add_links(Changes& changes, const Machine& before, const Machine& after) {
  for (const PairLink& link : after.links) {
    const PairLink* same = find_link(before, link.from, link.to);
    if (same == nullptr || !links_differ(before, *same, after, link)) continue;
    changes.add(ChangeKind::link,
                fmt::format("{}–{}", gpu_label(after, link.from), gpu_label(after, link.to)),
                link_label(before, *same), link_label(after, link));
  }
}

/// "4 of 4"; empty where not known.
std::string active_links(const GpuInfo& gpu) {
  if (!gpu.nvlink_links || !gpu.nvlink_links_active) return {};
  return fmt::format("{} of {}", *gpu.nvlink_links_active, *gpu.nvlink_links);
}

std::string pcie_of(const GpuInfo& gpu) {
  if (!gpu.pcie_generation || !gpu.pcie_width) return {};
  return fmt::format("gen {} x{}", *gpu.pcie_generation, *gpu.pcie_width);
}

/// "1410 MHz"; empty where not known.
template <typename T>
std::string limit_text(const std::optional<T>& value, std::string_view unit) {
  return value ? fmt::format("{} {}", *value, unit) : std::string();
}

/// Limits are settings, unlike clocks that were reached: every difference counts.
void add_limits(Changes& changes, const std::string& label, const GpuInfo& before,
                const GpuInfo& after) {
  const auto add = [&](const char* what, const auto& first, const auto& last, const char* unit) {
    changes.add(ChangeKind::clock, fmt::format("{} {}", label, what), limit_text(first, unit),
                limit_text(last, unit));
  };
  add("highest SM clock possible", before.most_sm_clock_mhz, after.most_sm_clock_mhz, "MHz");
  add("application clock", before.application_clock_mhz, after.application_clock_mhz, "MHz");
  add("highest boost clock allowed", before.most_custom_boost_clock_mhz,
      after.most_custom_boost_clock_mhz, "MHz");
  add("power limit", before.power_limit_w, after.power_limit_w, "W");
}

void add_gpu(Changes& changes, const std::string& label, const GpuInfo& before,
             const GpuInfo& after) {
  changes.add(ChangeKind::link, label + " active NVLinks", active_links(before),
              active_links(after));
  changes.add(ChangeKind::link, label + " rate of an NVLink in GB/s", before.nvlink_rate_gb_per_s,
              after.nvlink_rate_gb_per_s);
  // Older records know the slowest link's rate alone.
  const bool both_know = before.nvlink_total_gb_per_s && after.nvlink_total_gb_per_s;
  if (both_know && (has_unequal_nvlinks(before) || has_unequal_nvlinks(after))) {
    changes.add(ChangeKind::link, label + " rate of all NVLinks in GB/s", nvlink_total(before),
                nvlink_total(after));
  }
  changes.add(ChangeKind::pcie, label + " PCIe", pcie_of(before), pcie_of(after));
  changes.add(ChangeKind::gpu, label + " PCI id", before.pci_bus_id, after.pci_bus_id);
  if (before.name != after.name) return;  // which have other limits and UUIDs by themselves
  changes.add(ChangeKind::gpu, label, before.uuid, after.uuid);
  add_limits(changes, label, before, after);
}

void add_gpus(Changes& changes, const Machine& before, const Machine& after) {
  if (before.ranks.empty() || after.ranks.empty()) return;
  changes.add(ChangeKind::gpu, "GPUs", describe_ranks(before), describe_ranks(after));
  for (const RankInfo& rank : after.ranks) {
    const RankInfo* same = find_rank(before, rank.rank);
    if (same == nullptr) continue;
    const std::string label = gpu_label(after, rank.rank);
    if (same->gpu && rank.gpu) add_gpu(changes, label, *same->gpu, *rank.gpu);
    if (!same->host_copy || !rank.host_copy) continue;
    changes.add_rate(ChangeKind::pcie, label + " copies to it", same->host_copy->to_gpu_gb_per_s,
                     rank.host_copy->to_gpu_gb_per_s, "GB/s");
    changes.add_rate(ChangeKind::pcie, label + " copies from it",
                     same->host_copy->from_gpu_gb_per_s, rank.host_copy->from_gpu_gb_per_s, "GB/s");
  }
}

double highest_clock(const RunFigures& run) {
  int highest = 0;
  for (const CaseFigures& figures : run.cases) {
    highest = std::max(highest, figures.health.highest_sm_clock_mhz.value_or(0));
  }
  return highest;
}

/// What may differ from variant to variant; `with` is " with NAME", or empty where all are alike.
void add_libraries(Changes& changes, const std::string& with, const Software& before,
                   const Software& after) {
  // Older records know no build.
  const bool builds = before.nccl_build && after.nccl_build;
  changes.add(ChangeKind::nccl, "NCCL" + with, builds ? before.nccl_build : before.nccl_library,
              builds ? after.nccl_build : after.nccl_library);
  changes.add(ChangeKind::nccl, "NCCL's file" + with, before.nccl_path, after.nccl_path);
  changes.add(ChangeKind::software, "NCCL built with" + with, before.nccl_header,
              after.nccl_header);
  changes.add(ChangeKind::software, "CUDA runtime" + with, before.cuda_runtime, after.cuda_runtime);
  changes.add(ChangeKind::software, "MPI" + with, before.mpi, after.mpi);
  changes.add(ChangeKind::software, "linkgain" + with, before.linkgain, after.linkgain);
  changes.add(ChangeKind::software, "build" + with, before.build, after.build);
}

/// What a variant's processes had; what the run had, where that is not recorded.
const Software& software_of(const RunFigures& run, std::size_t variant) {
  const std::vector<Software>& own = run.settings.software_in_force;
  return variant < own.size() ? own[variant] : run.machine.software;
}

/// By variant where one has a library or a worker of its own.
void add_software(Changes& changes, const RunFigures& before, const RunFigures& after) {
  const Software& old = before.machine.software;
  const Software& now = after.machine.software;
  changes.add(ChangeKind::driver, "driver", old.driver, now.driver);
  changes.add(ChangeKind::software, "driver's CUDA", old.cuda_driver, now.cuda_driver);
  const auto differ = [](const Settings& settings) {
    return nccl_differs(settings) || worker_differs(settings);
  };
  if (!differ(before.settings) && !differ(after.settings)) {
    add_libraries(changes, "", old, now);
    return;
  }
  const std::vector<Variant>& earlier = before.settings.variants;
  const std::vector<Variant>& later = after.settings.variants;
  for (std::size_t i = 0; i < later.size(); ++i) {
    const auto same = std::ranges::find(earlier, later[i].name, &Variant::name);
    if (same == earlier.end()) continue;
    add_libraries(changes, " with " + later[i].name,
                  software_of(before, static_cast<std::size_t>(same - earlier.begin())),
                  software_of(after, i));
  }
}

void add_host(Changes& changes, const Machine& before, const Machine& after) {
  changes.add(ChangeKind::host, "host", before.host, after.host);
  changes.add(ChangeKind::host, "processor", before.processor, after.processor);
  if (before.processors > 0 && after.processors > 0) {
    changes.add(ChangeKind::host, "CPUs", std::optional(before.processors),
                std::optional(after.processors));
  }
  changes.add(ChangeKind::host, "kernel", before.kernel, after.kernel);
}

/// Of a variant that both have: by name, and the first one where the names have nothing in common.
void add_variables(Changes& changes, const std::string& variant, const Environment& before,
                   const Environment& after) {
  for (const VariableChange& each : variable_changes(before, after)) {
    const std::string what =
        variant.empty() ? each.name : fmt::format("{} with {}", each.name, variant);
    changes.add(ChangeKind::variable, what, each.before, each.after);
  }
}

std::string variant_names_of(const Settings& settings) {
  std::string names;
  for (const Variant& variant : settings.variants) {
    names += (names.empty() ? "" : ", ") + variant.name;
  }
  return names;
}

void add_variants(Changes& changes, const Settings& before, const Settings& after) {
  changes.add(ChangeKind::setting, "variants", variant_names_of(before), variant_names_of(after));
  bool common = false;
  for (std::size_t i = 0; i < after.variants.size(); ++i) {
    for (std::size_t j = 0; j < before.variants.size(); ++j) {
      if (after.variants[i].name != before.variants[j].name) continue;
      common = true;
      add_variables(changes, after.variants[i].name, environment_of(before, j),
                    environment_of(after, i));
    }
  }
  if (common || before.variants.empty() || after.variants.empty()) return;
  add_variables(changes, "", environment_of(before, 0), environment_of(after, 0));
}

/// Where both trained: a run without a training has no plan.
void add_training(Changes& changes, const Settings& before, const Settings& after) {
  if (!before.training || !after.training) return;
  changes.add(ChangeKind::setting, "steps of a training", std::optional(before.training->steps),
              std::optional(after.training->steps));
  const auto tokens = [](const TrainingPlan& plan) {
    return plan.tokens.empty() ? std::string("generated") : plan.tokens;
  };
  changes.add(ChangeKind::setting, "tokens of a training", tokens(*before.training),
              tokens(*after.training));
}

std::string shown(const std::string& text) { return text.empty() ? "none" : text; }

/// Where both ran a user's program.
void add_program(Changes& changes, const Settings& before, const Settings& after) {
  if (!before.program || !after.program) return;
  const ProgramPlan& old = *before.program;
  const ProgramPlan& now = *after.program;
  changes.add(ChangeKind::setting, "command", shown_command(old.command),
              shown_command(now.command));
  changes.add(ChangeKind::setting, "server", shown(old.server), shown(now.server));
  changes.add(ChangeKind::setting, "command before a run", shown(old.prepare), shown(now.prepare));
  changes.add(ChangeKind::setting, "command after a run", shown(old.cleanup), shown(now.cleanup));
  changes.add(ChangeKind::setting, "metrics", fmt::format("{}", fmt::join(old.metrics, "; ")),
              fmt::format("{}", fmt::join(now.metrics, "; ")));
  changes.add(ChangeKind::setting, "warm-up runs", std::optional(old.warm_up),
              std::optional(now.warm_up));
  for (const Variant& variant : after.variants) {
    const auto same = std::ranges::find(before.variants, variant.name, &Variant::name);
    if (same == before.variants.end()) continue;
    changes.add(ChangeKind::setting, "arguments with " + variant.name,
                shown(fmt::format("{}", fmt::join(same->arguments, " "))),
                shown(fmt::format("{}", fmt::join(variant.arguments, " "))));
  }
}

void add_settings(Changes& changes, const RunFigures& before, const RunFigures& after) {
  changes.add(ChangeKind::setting, "measured with", std::string(name_of(before.source)),
              std::string(name_of(after.source)));
  changes.add(ChangeKind::setting, "backend", std::string(name_of(before.settings.backend)),
              std::string(name_of(after.settings.backend)));
  if (before.source == RunSource::record && after.source == RunSource::record) {
    changes.add(ChangeKind::setting, "schedule", std::string(name_of(before.settings.schedule)),
                std::string(name_of(after.settings.schedule)));
    changes.add(ChangeKind::setting, "seconds a sample lasts",
                std::optional(before.settings.sample_target.value),
                std::optional(after.settings.sample_target.value));
  }
  add_training(changes, before.settings, after.settings);
  add_program(changes, before.settings, after.settings);
  add_variants(changes, before.settings, after.settings);
}

}  // namespace

std::string_view name_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::link:
      return "link";
    case ChangeKind::pcie:
      return "pcie";
    case ChangeKind::gpu:
      return "gpu";
    case ChangeKind::clock:
      return "clock";
    case ChangeKind::driver:
      return "driver";
    case ChangeKind::nccl:
      return "nccl";
    case ChangeKind::software:
      return "software";
    case ChangeKind::host:
      return "host";
    case ChangeKind::variable:
      return "variable";
    case ChangeKind::setting:
      return "setting";
  }
  throw std::invalid_argument("no such kind of change");
}

std::vector<Change> changes_between(const RunFigures& before, const RunFigures& after) {
  Changes changes;
  add_links(changes, before.machine, after.machine);
  add_gpus(changes, before.machine, after.machine);
  changes.add_rate(ChangeKind::clock, "highest SM clock seen", highest_clock(before),
                   highest_clock(after), "MHz");
  add_software(changes, before, after);
  add_host(changes, before.machine, after.machine);
  add_settings(changes, before, after);
  return changes.take();
}

}  // namespace linkgain
