#include "linkgain/machines/machine_difference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <set>
#include <span>

#include "linkgain/analysis/variant_environment.hpp"
#include "linkgain/machines/machine_key.hpp"
#include "linkgain/record/record_members.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

using Kind = DifferenceKind;

/// Rates of copies and clocks wander by a few percent from run to run.
constexpr double kNoticeableRate = 0.05;

/// What may differ, and how one side is shown beside the other: empty where it is not known, or
/// where nothing follows from it.
template <typename Owner>
struct Row {
  Kind kind;
  Weight weight;
  const char* what;
  std::string (*text)(const Owner& own, const Owner& other);
  const char* unit = "";
};

/// Collects differences down to a weight.
class Differences {
 public:
  explicit Differences(Weight least) : least_(least) {}

  bool wants(Weight weight) const { return weight <= least_; }
  void add(Kind kind, Weight weight, const std::string& what, const std::string& before,
           const std::string& after) {
    if (before.empty() || after.empty() || before == after) return;
    all_.push_back({kind, weight, what, before, after});
  }
  /// Adds what the rows tell; the names stand before and behind theirs.
  template <typename Owner>
  void add_rows(std::span<const Row<Owner>> rows, const Owner& before, const Owner& after,
                const std::string& name = {}, const std::string& with = {}) {
    for (const Row<Owner>& row : rows) {
      if (!wants(row.weight)) continue;
      const std::string own = row.text(before, after);
      const std::string other = own.empty() ? own : row.text(after, before);
      if (own.empty() || other.empty() || own == other) continue;
      const char* gap = name.empty() || *row.what == '\0' ? "" : " ";
      add(row.kind, row.weight, name + gap + row.what + with, own + row.unit, other + row.unit);
    }
  }
  void add_rate(Kind kind, const std::string& what, double before, double after,
                std::string_view unit) {
    if (!wants(Weight::caution) || !(before > 0.0 && after > 0.0)) return;
    if (std::abs(std::log(after / before)) < kNoticeableRate) return;
    add(kind, Weight::caution, what, fmt::format("{:.4g} {}", before, unit),
        fmt::format("{:.4g} {}", after, unit));
  }
  std::vector<MachineDifference> take() { return std::move(all_); }

 private:
  Weight least_;
  std::vector<MachineDifference> all_;
};

/// Shows a value; empty where it is not known.
template <typename T>
std::string shown(const T& value) {
  if constexpr (std::constructible_from<std::string, T>) {
    return value;
  } else if constexpr (requires { value.has_value(); }) {
    return value ? fmt::format("{}", *value) : std::string();
  } else {
    return fmt::format("{}", value);
  }
}

template <auto member>
std::string of(const auto& own, const auto&) {
  return shown(own.*member);
}

/// Shows a member of GPUs of one model; others differ in it by themselves.
template <auto member>
std::string of_like(const GpuInfo& own, const GpuInfo& other) {
  return own.name == other.name ? shown(own.*member) : std::string();
}

/// Shows "4 of 4"; "4" where one side does not know how many there are.
std::string active_nvlinks(const GpuInfo& own, const GpuInfo& other) {
  if (!own.nvlink_links_active || !other.nvlink_links_active) return {};
  if (!own.nvlink_links || !other.nvlink_links) return shown(own.nvlink_links_active);
  return fmt::format("{} of {}", *own.nvlink_links_active, *own.nvlink_links);
}

/// Shows the rate of all links where they have different ones. Older records know the slowest
/// link's alone.
std::string unequal_nvlinks(const GpuInfo& own, const GpuInfo& other) {
  if (!own.nvlink_total_gb_per_s || !other.nvlink_total_gb_per_s) return {};
  const bool differ = has_unequal_nvlinks(own) || has_unequal_nvlinks(other);
  return differ ? shown(nvlink_total(own)) : std::string();
}

std::string pcie_of(const GpuInfo& own, const GpuInfo&) {
  if (!own.pcie_generation || !own.pcie_width) return {};
  return fmt::format("gen {} x{}", *own.pcie_generation, *own.pcie_width);
}

constexpr Row<GpuInfo> kGpuRows[] = {
    {Kind::link, Weight::machine, "active NVLinks", active_nvlinks},
    {Kind::link, Weight::caution, "rate of an NVLink in GB/s", of<&GpuInfo::nvlink_rate_gb_per_s>},
    {Kind::link, Weight::caution, "rate of all NVLinks in GB/s", unequal_nvlinks},
    {Kind::pcie, Weight::caution, "PCIe", pcie_of},
    {Kind::gpu, Weight::caution, "PCI id", of<&GpuInfo::pci_bus_id>},
    {Kind::gpu, Weight::caution, "", of_like<&GpuInfo::uuid>},
    // Limits are settings, unlike clocks that were reached: every difference counts.
    {Kind::clock, Weight::caution, "highest SM clock possible",
     of_like<&GpuInfo::most_sm_clock_mhz>, " MHz"},
    {Kind::clock, Weight::caution, "application clock", of_like<&GpuInfo::application_clock_mhz>,
     " MHz"},
    {Kind::clock, Weight::caution, "highest boost clock allowed",
     of_like<&GpuInfo::most_custom_boost_clock_mhz>, " MHz"},
    {Kind::clock, Weight::caution, "power limit", of_like<&GpuInfo::power_limit_w>, " W"},
};

/// What processes of a run, or of one of its variants, had.
struct Libraries {
  const Software* software;
  BackendKind backend;
};

template <auto member>
std::string of_software(const Libraries& own, const Libraries&) {
  return shown(own.software->*member);
}

/// Shows NCCL by its build; by its version where one side, as an older record, knows no build.
std::string nccl_of(const Libraries& own, const Libraries& other) {
  const bool builds = own.software->nccl_build && other.software->nccl_build;
  return shown(builds ? own.software->nccl_build : own.software->nccl_library);
}

bool is_over_mpi(const Libraries& own, const Libraries& other) {
  return own.backend == BackendKind::mpi && other.backend == BackendKind::mpi;
}

/// Returns whether another NCCL carried the messages.
bool has_other_release(const Libraries& own, const Libraries& other) {
  const auto first = nccl_release(own.software->nccl_library);
  const auto second = nccl_release(other.software->nccl_library);
  return first && second && *first != *second && !is_over_mpi(own, other);
}

/// Shows what follows only where a question about both sides has this answer.
template <auto text, auto question, bool answer>
std::string where(const auto& own, const auto& other) {
  return question(own, other) == answer ? text(own, other) : std::string();
}

constexpr Row<Libraries> kLibraryRows[] = {
    {Kind::nccl, Weight::reference, "NCCL", where<nccl_of, has_other_release, true>},
    {Kind::nccl, Weight::caution, "NCCL", where<nccl_of, has_other_release, false>},
    {Kind::nccl, Weight::caution, "NCCL's file", of_software<&Software::nccl_path>},
    {Kind::software, Weight::caution, "NCCL built with", of_software<&Software::nccl_header>},
    {Kind::software, Weight::caution, "CUDA runtime", of_software<&Software::cuda_runtime>},
    {Kind::software, Weight::reference, "MPI",
     where<of_software<&Software::mpi>, is_over_mpi, true>},
    {Kind::software, Weight::caution, "MPI",
     where<of_software<&Software::mpi>, is_over_mpi, false>},
    {Kind::software, Weight::caution, "linkgain", of_software<&Software::linkgain>},
    {Kind::software, Weight::caution, "build", of_software<&Software::build>},
};

template <auto member>
std::string of_machine(const Setup& own, const Setup&) {
  return shown(own.machine->*member);
}

template <auto member>
std::string of_driver(const Setup& own, const Setup&) {
  return shown(own.machine->software.*member);
}

template <auto member>
std::string of_settings(const Setup& own, const Setup&) {
  return std::string(name_of(own.settings->*member));
}

bool have_like_gpus(const Machine& own, const Machine& other) {
  return std::ranges::equal(own.ranks, other.ranks, [](const RankInfo& a, const RankInfo& b) {
    return a.gpu.has_value() == b.gpu.has_value() && (!a.gpu || a.gpu->name == b.gpu->name);
  });
}

/// Shows models and count; empty where nothing is known of the machine.
std::string gpus_of(const Setup& own, const Setup& other) {
  if (own.machine->ranks.empty() && own.machine->processor.empty()) return {};
  if (have_like_gpus(*own.machine, *other.machine)) return {};
  return describe_ranks(*own.machine);
}

std::string hosts_of(const Setup& own, const Setup&) {
  std::set<std::string_view> hosts;
  for (const RankInfo& rank : own.machine->ranks) hosts.insert(rank.host);
  return hosts.empty() ? std::string() : shown(hosts.size());
}

std::string processors_of(const Setup& own, const Setup&) {
  return own.machine->processors > 0 ? shown(own.machine->processors) : std::string();
}

/// Returns whether processors carried the messages of both.
bool is_without_gpus(const Setup& own, const Setup& other) {
  const auto has_gpus = [](const Setup& setup) {
    return setup.settings->backend != BackendKind::mpi &&
           std::ranges::any_of(setup.machine->ranks,
                               [](const RankInfo& rank) { return rank.gpu.has_value(); });
  };
  return !has_gpus(own) && !has_gpus(other);
}

/// Returns whether linkgain measured both; other programs have no such settings.
bool is_ours(const Setup& own, const Setup& other) {
  return own.program == Setup{}.program && other.program == Setup{}.program;
}

std::string sample_target_of(const Setup& own, const Setup&) {
  return shown(own.settings->sample_target.value);
}

constexpr Row<Setup> kGpusRows[] = {{Kind::gpu, Weight::machine, "GPUs", gpus_of}};
constexpr Row<Setup> kDriverRows[] = {
    {Kind::driver, Weight::caution, "driver", of_driver<&Software::driver>},
    {Kind::software, Weight::caution, "driver's CUDA", of_driver<&Software::cuda_driver>},
};
constexpr Row<Setup> kOtherRows[] = {
    {Kind::host, Weight::caution, "host", of_machine<&Machine::host>},
    {Kind::host, Weight::reference, "hosts", hosts_of},
    {Kind::host, Weight::machine, "processor",
     where<of_machine<&Machine::processor>, is_without_gpus, true>},
    {Kind::host, Weight::caution, "processor",
     where<of_machine<&Machine::processor>, is_without_gpus, false>},
    {Kind::host, Weight::caution, "CPUs", processors_of},
    {Kind::host, Weight::caution, "kernel", of_machine<&Machine::kernel>},
    {Kind::setting, Weight::caution, "measured with",
     [](const Setup& own, const Setup&) { return std::string(own.program); }},
    {Kind::setting, Weight::reference, "backend", of_settings<&Settings::backend>},
    {Kind::setting, Weight::caution, "schedule",
     where<of_settings<&Settings::schedule>, is_ours, true>},
    {Kind::setting, Weight::caution, "seconds a sample lasts",
     where<sample_target_of, is_ours, true>},
};

std::string tokens_of(const TrainingPlan& own, const TrainingPlan&) {
  return own.tokens.empty() ? "generated" : own.tokens;
}

constexpr Row<TrainingPlan> kTrainingRows[] = {
    {Kind::setting, Weight::caution, "steps of a training", of<&TrainingPlan::steps>},
    {Kind::setting, Weight::caution, "tokens of a training", tokens_of},
};

std::string or_none(const std::string& text) { return text.empty() ? "none" : text; }

template <auto member>
std::string of_program(const ProgramPlan& own, const ProgramPlan&) {
  return or_none(own.*member);
}

std::string command_of(const ProgramPlan& own, const ProgramPlan&) {
  return shown_command(own.command);
}

std::string metrics_of(const ProgramPlan& own, const ProgramPlan&) {
  return fmt::format("{}", fmt::join(own.metrics, "; "));
}

constexpr Row<ProgramPlan> kProgramRows[] = {
    {Kind::setting, Weight::caution, "command", command_of},
    {Kind::setting, Weight::caution, "server", of_program<&ProgramPlan::server>},
    {Kind::setting, Weight::caution, "command before a run", of_program<&ProgramPlan::prepare>},
    {Kind::setting, Weight::caution, "command after a run", of_program<&ProgramPlan::cleanup>},
    {Kind::setting, Weight::caution, "metrics", metrics_of},
    {Kind::setting, Weight::caution, "warm-up runs", of<&ProgramPlan::warm_up>},
};

void add_links(Differences& all, const Machine& before, const Machine& after) {
  for (const PairLink& link : after.links) {
    const PairLink* same = find_link(before, link.from, link.to);
    if (same == nullptr || !links_differ(before, *same, after, link)) continue;
    all.add(Kind::link, Weight::machine,
            fmt::format("{}–{}", gpu_label(after, link.from), gpu_label(after, link.to)),
            link_label(before, *same), link_label(after, link));
  }
}

void add_ranks(Differences& all, const Machine& before, const Machine& after) {
  for (const RankInfo& rank : after.ranks) {
    const RankInfo* same = find_rank(before, rank.rank);
    if (same == nullptr) continue;
    const std::string label = gpu_label(after, rank.rank);
    if (same->gpu && rank.gpu) all.add_rows<GpuInfo>(kGpuRows, *same->gpu, *rank.gpu, label);
    if (!same->host_copy || !rank.host_copy) continue;
    all.add_rate(Kind::pcie, label + " copies to it", same->host_copy->to_gpu_gb_per_s,
                 rank.host_copy->to_gpu_gb_per_s, "GB/s");
    all.add_rate(Kind::pcie, label + " copies from it", same->host_copy->from_gpu_gb_per_s,
                 rank.host_copy->from_gpu_gb_per_s, "GB/s");
  }
}

/// Returns what a variant's processes had; what the run had, where that is not recorded.
const Software& software_of(const Setup& setup, std::size_t variant) {
  const std::vector<Software>& own = setup.settings->software_in_force;
  return variant < own.size() ? own[variant] : setup.machine->software;
}

/// Calls `use` with the places of every variant that both runs have.
template <typename Use>
bool for_common_variants(const Setup& before, const Setup& after, Use use) {
  const std::vector<Variant>& earlier = before.settings->variants;
  const std::vector<Variant>& later = after.settings->variants;
  bool any = false;
  for (std::size_t i = 0; i < later.size(); ++i) {
    const auto same = std::ranges::find(earlier, later[i].name, &Variant::name);
    if (same == earlier.end()) continue;
    any = true;
    use(static_cast<std::size_t>(same - earlier.begin()), i);
  }
  return any;
}

/// Adds libraries by variant where one has a library or a worker of its own.
void add_libraries(Differences& all, const Setup& before, const Setup& after) {
  const auto add = [&](const Software& old, const Software& now, const std::string& with) {
    all.add_rows<Libraries>(kLibraryRows, {&old, before.settings->backend},
                            {&now, after.settings->backend}, "", with);
  };
  const auto differ = [](const Setup& setup) {
    return nccl_differs(*setup.settings) || worker_differs(*setup.settings);
  };
  const bool by_variant = !before.settings->variants.empty() && (differ(before) || differ(after));
  if (!by_variant) return add(before.machine->software, after.machine->software, "");
  for_common_variants(before, after, [&](std::size_t old, std::size_t now) {
    add(software_of(before, old), software_of(after, now),
        " with " + after.settings->variants[now].name);
  });
}

void add_variables(Differences& all, const std::string& with, const Environment& before,
                   const Environment& after) {
  for (const VariableChange& each : variable_changes(before, after)) {
    all.add(Kind::variable, Weight::caution, each.name + with, each.before, each.after);
  }
}

std::string variant_names_of(const Settings& settings) {
  std::vector<std::string> names;
  for (const Variant& variant : settings.variants) names.push_back(variant.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Adds variables of the variants that both have; of the first ones where no name is common.
void add_variants(Differences& all, const Setup& before, const Setup& after) {
  const Settings& old = *before.settings;
  const Settings& now = *after.settings;
  all.add(Kind::setting, Weight::caution, "variants", variant_names_of(old), variant_names_of(now));
  const bool common =
      for_common_variants(before, after, [&](std::size_t earlier, std::size_t later) {
        add_variables(all, " with " + now.variants[later].name, environment_of(old, earlier),
                      environment_of(now, later));
      });
  if (common || old.variants.empty() || now.variants.empty()) return;
  add_variables(all, "", environment_of(old, 0), environment_of(now, 0));
}

/// Adds what both trained, or ran.
void add_plans(Differences& all, const Setup& before, const Setup& after) {
  const Settings& old = *before.settings;
  const Settings& now = *after.settings;
  if (old.training && now.training) {
    all.add_rows<TrainingPlan>(kTrainingRows, *old.training, *now.training);
  }
  if (!old.program || !now.program) return;
  all.add_rows<ProgramPlan>(kProgramRows, *old.program, *now.program);
  for_common_variants(before, after, [&](std::size_t earlier, std::size_t later) {
    const auto arguments = [](const Variant& variant) {
      return or_none(fmt::format("{}", fmt::join(variant.arguments, " ")));
    };
    all.add(Kind::setting, Weight::caution, "arguments with " + now.variants[later].name,
            arguments(old.variants[earlier]), arguments(now.variants[later]));
  });
}

/// Lists what differs between two documents, in the order of their members.
std::vector<MachineDifference> member_differences(DifferenceKind kind, const json::Out& before,
                                                  const json::Out& after) {
  const auto value_at = [](const json::Out& document, const std::string& pointer) {
    const json::Out::json_pointer place(pointer);
    return document.contains(place) ? document.at(place).dump() : std::string("absent");
  };
  std::vector<MachineDifference> all;
  for (const json::Out& change : json::Out::diff(before, after)) {
    const std::string pointer = change.at("path").get<std::string>();
    all.push_back({kind, Weight::part, pointer.substr(1), value_at(before, pointer),
                   value_at(after, pointer)});
  }
  return all;
}

}  // namespace

std::vector<MachineDifference> differences_between(const Setup& before, const Setup& after,
                                                   Weight least) {
  Differences all(least);
  add_links(all, *before.machine, *after.machine);
  all.add_rows<Setup>(kGpusRows, before, after);
  add_ranks(all, *before.machine, *after.machine);
  all.add_rate(Kind::clock, "highest SM clock seen", before.highest_sm_clock_mhz,
               after.highest_sm_clock_mhz, "MHz");
  all.add_rows<Setup>(kDriverRows, before, after);
  add_libraries(all, before, after);
  all.add_rows<Setup>(kOtherRows, before, after);
  if (!all.wants(Weight::caution)) return all.take();
  add_plans(all, before, after);
  add_variants(all, before, after);
  return all.take();
}

std::vector<MachineDifference> differences_of_parts(const Machine& before, const Machine& after) {
  const auto comparable = [](Machine machine) {
    for (RankInfo& rank : machine.ranks) {
      rank.pid = 0;
      rank.host_copy.reset();  // measured anew
    }
    return json::write(machine);
  };
  return member_differences(Kind::host, comparable(before), comparable(after));
}

std::vector<MachineDifference> differences_of_parts(const Settings& before, const Settings& after) {
  const auto comparable = [](const Settings& settings) {
    json::Out json = json::write(settings);
    for (const char* apart : {"argv", "environment_in_force", "software_in_force", "cases_digest"})
      json.erase(apart);
    return json;
  };
  return member_differences(Kind::setting, comparable(before), comparable(after));
}

std::vector<MachineDifference> differences_of_parts(Environment before, Environment after) {
  for (Environment* each : {&before, &after}) {
    each->erase("NCCL_DEBUG_FILE");  // has the launch in its name
  }
  return member_differences(Kind::variable, json::write(before), json::write(after));
}

}  // namespace linkgain
