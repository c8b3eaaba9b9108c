#include "linkgain/report/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "less_time_sentences.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/hardware/health.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/topology.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/table.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

/// "34–48 °C", or "SM 1980 MHz" where both ends are alike.
template <typename T>
void add_range(std::vector<std::string>& parts, std::string_view before,
               const std::optional<T>& least, const std::optional<T>& most, std::string_view unit) {
  if (!least || !most) {
    return;
  }
  const std::string low = fmt::format("{:.0f}", static_cast<double>(*least));
  const std::string high = fmt::format("{:.0f}", static_cast<double>(*most));
  parts.push_back(fmt::format("{}{}{} {}", before, low, low == high ? "" : "–" + high, unit));
}

void add_events(std::vector<std::string>& parts, const HealthSummary& summary) {
  if (summary.samples == 0) {
    parts.emplace_back("clock events not measured");
    return;
  }
  if (summary.unhealthy_samples == 0) {
    parts.emplace_back("no sample throttled");
  } else {
    parts.push_back(fmt::format("{} of {} samples THROTTLED by {}", summary.unhealthy_samples,
                                summary.samples, throttled_by(summary)));
  }
  if (summary.power_capped_samples > 0) {
    parts.push_back(fmt::format("{} of {} samples at the power limit", summary.power_capped_samples,
                                summary.samples));
  }
}

/// What a variant's samples show of themselves.
std::string describe_variant(const HealthSummary& summary) {
  std::vector<std::string> parts;
  add_range(parts, "SM ", summary.lowest_sm_clock_mhz, summary.highest_sm_clock_mhz, "MHz");
  add_events(parts, summary);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string describe(const HealthSummary& summary) {
  if (summary == HealthSummary{}) {
    return "not measured";
  }
  std::vector<std::string> parts;
  add_range(parts, "", summary.lowest_temperature_c, summary.highest_temperature_c, "°C");
  add_range(parts, "", summary.lowest_power_w, summary.highest_power_w, "W");
  parts.push_back(describe_variant(summary));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "Neighbours: none on the GPUs in 12 looks", or what was seen; empty where nobody looked.
std::string neighbours_line(const Record& record) {
  if (!record.neighbours) return {};
  const Neighbours& neighbours = *record.neighbours;
  std::vector<std::string> parts;
  for (const GpuNeighbour& each : neighbours.seen) parts.push_back(describe(each));
  const bool looked = neighbours.looks + neighbours.idle_windows > 0;
  if (looked && parts.empty()) {
    parts.push_back(
        fmt::format("none seen on the GPUs, {} at their processes and {} at their "
                    "utilization while no job worked",
                    counted(neighbours.looks, "look", "looks"), neighbours.idle_windows));
  }
  if (!neighbours.not_looked.empty()) {
    parts.push_back(
        fmt::format("not looked for{}: {}", looked ? " on all GPUs" : "", neighbours.not_looked));
  }
  return fmt::format("Neighbours: {}\n",
                     markdown_text(one_line(fmt::format("{}", fmt::join(parts, "; ")))));
}

/// health_line(), and SM clock and what held samples back for each variant; or empty.
std::string health_section(const RunSummary& summary) {
  const std::string line = health_line(summary);
  if (line.empty()) {
    return {};
  }
  std::string text = fmt::format("## Health\n\n{}", line);
  std::string variants;
  for (const auto& [variant, health] : summary.health_of_variants) {
    if (health != HealthSummary{}) {
      variants += fmt::format("- {}: {}\n", variant, describe_variant(health));
    }
  }
  if (variants.empty()) {
    return text;
  }
  // Power is the driver's average over longer than a batch, and heat lasts longer still.
  return fmt::format(
      "{}\nTemperature and power are the GPUs', which all variants share. Of each variant's own "
      "samples:\n\n{}",
      text, variants);
}

/// What a time and its interval are of: "the mean of 6 launches' medians, intervals over these
/// launches".
std::string launches_text(const RunSummary& summary) {
  const LaunchRange& launches = summary.launches;
  if (launches.most <= 1) return "medians of one launch, which has no confidence interval";
  return fmt::format("the geometric mean of the medians of {}, intervals over these",
                     launches.text());
}

std::string sizes_section(const RunSummary& summary) {
  const std::string tables = size_tables(summary);
  return tables.empty()
             ? tables
             : fmt::format(
                   "## By size\n\nTimes are of one operation, {}; busbw compares with the limit of "
                   "the path that carried the bytes, where that is known. Less time is 1 − "
                   "1/speed-up.\n\n{}",
                   launches_text(summary), tables);
}

std::string pairs_section(const RunSummary& summary) {
  const std::string tables = pair_tables(summary);
  return tables.empty()
             ? tables
             : fmt::format(
                   "## Pairs\n\nOne pair at a time, the others idle: from 1 MiB on bus bandwidth, "
                   "else time, of one operation, {}. Beside each is what joins the two, as "
                   "`linkgain topo` names it, whichever path the bytes took.\n\n{}",
                   launches_text(summary), tables);
}

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

std::string assignments(const Environment& environment) {
  std::vector<std::string> words;
  for (const auto& [name, value] : environment) {
    words.push_back(fmt::format("{}={}", one_line(name), shown_word(value)));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

/// Whether there are bytes to take some path: none of a training without communication.
bool carries(const Case& definition) { return !definition.training || uses_link(definition); }

/// "NVLink (28 cases), unknown (1 case)", in order of appearance.
std::string paths_of(const Record& record, const std::string& variant) {
  std::vector<std::pair<Path, int>> counts;
  for (const CaseResult& result : record.cases) {
    for (const VariantResult& entry : result.variants) {
      if (entry.variant != variant || !entry.time.has_value() || !carries(result.definition)) {
        continue;
      }
      const auto known = std::find_if(counts.begin(), counts.end(),
                                      [&](const auto& count) { return count.first == entry.path; });
      if (known != counts.end()) {
        ++known->second;
      } else {
        counts.emplace_back(entry.path, 1);
      }
    }
  }
  std::vector<std::string> words;
  for (const auto& [path, count] : counts) {
    words.push_back(fmt::format("{} ({})", readable_path(path), counted(count, "case", "cases")));
  }
  return words.empty() ? "nothing measured" : fmt::format("{}", fmt::join(words, ", "));
}

void add_item(std::string& text, std::string_view what, const std::optional<std::string>& value) {
  if (value.has_value() && !value->empty()) {
    text += fmt::format("- {}: {}\n", what, markdown_text(one_line(*value)));
  }
}

std::string cuda_versions(const Software& software) {
  std::vector<std::string> words;
  if (software.cuda_runtime.has_value()) {
    words.push_back("runtime " + *software.cuda_runtime);
  }
  if (software.cuda_driver.has_value()) {
    words.push_back("driver's " + *software.cuda_driver);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string answer(std::optional<bool> known) {
  return !known.has_value() ? "not known" : *known ? "yes" : "no";
}

std::string nvlink_cell(const GpuInfo& gpu) {
  if (!gpu.nvlink_links.has_value()) {
    return {};
  }
  const std::string active =
      gpu.nvlink_links_active.has_value() ? std::to_string(*gpu.nvlink_links_active) : "?";
  const std::string generation = nvlink_version_name(gpu.nvlink_version.value_or(0));
  return fmt::format("{} of {} links{}{}", active, *gpu.nvlink_links,
                     generation.empty() ? "" : ", NVLink ", generation);
}

std::string pcie_cell(const GpuInfo& gpu) {
  const auto text = [](std::optional<int> value) {
    return value.has_value() ? std::to_string(*value) : "?";
  };
  return gpu.pcie_generation.has_value() || gpu.pcie_width.has_value()
             ? fmt::format("gen {} x{}", text(gpu.pcie_generation), text(gpu.pcie_width))
             : std::string{};
}

/// "26.6 GB/s for each link and direction", of all GPUs alike; empty where they differ or none is
/// known. Of a GPU whose links differ it is the slowest link's.
std::string nvlink_rate(const Machine& machine) {
  std::optional<double> rate;
  bool unequal = false;
  for (const RankInfo& rank : machine.ranks) {
    const std::optional<double> own = rank.gpu ? rank.gpu->nvlink_rate_gb_per_s : std::nullopt;
    if (!own || (rate && *rate != *own)) {
      return {};
    }
    rate = own;
    unequal = unequal || has_unequal_nvlinks(*rank.gpu);
  }
  if (!rate) return {};
  return fmt::format("{:.4g} GB/s {}for each link and direction", *rate,
                     unequal ? "or more, not alike, " : "");
}

CopyRates slower_of(const std::optional<CopyRates>& a, const CopyRates& b) {
  return a ? CopyRates{std::min(a->to_gpu_gb_per_s, b.to_gpu_gb_per_s),
                       std::min(a->from_gpu_gb_per_s, b.from_gpu_gb_per_s)}
           : b;
}

/// The slowest rank's each way; empty where some rank's was not measured.
std::string host_copy(const Machine& machine) {
  std::optional<CopyRates> at_once;
  std::optional<CopyRates> alone;
  bool all_alone = true;
  for (const RankInfo& rank : machine.ranks) {
    if (!rank.host_copy) {
      return {};
    }
    at_once = slower_of(at_once, rank.host_copy->at_once());
    all_alone = all_alone && rank.host_copy->alone;
    if (all_alone) {
      alone = slower_of(alone, *rank.host_copy->alone);
    }
  }
  if (!at_once) {
    return {};
  }
  std::string text =
      fmt::format("{:.1f} GB/s to the GPU, {:.1f} GB/s back (slowest rank, all ranks at once)",
                  at_once->to_gpu_gb_per_s, at_once->from_gpu_gb_per_s);
  if (all_alone) {
    text += fmt::format("; {:.1f} GB/s and {:.1f} GB/s (slowest rank, each alone)",
                        alone->to_gpu_gb_per_s, alone->from_gpu_gb_per_s);
  }
  return text;
}

/// Columns that no rank fills are not there on a machine without GPUs.
std::string ranks_table(const Machine& machine) {
  const bool gpus = std::any_of(machine.ranks.begin(), machine.ranks.end(),
                                [](const RankInfo& rank) { return rank.gpu.has_value(); });
  std::vector<Table::Column> columns{{"Rank", Table::Alignment::right}, {"Host"}, {"CPUs"}};
  if (gpus) {
    columns.insert(
        columns.end(),
        {{"GPU"}, {"Memory", Table::Alignment::right}, {"PCI id"}, {"PCIe"}, {"NVLink"}});
  }
  Table table(columns);
  for (const RankInfo& rank : machine.ranks) {
    std::vector<std::string> cells{std::to_string(rank.rank), rank.host, rank.cpus};
    if (rank.gpu.has_value()) {
      const GpuInfo& gpu = *rank.gpu;
      cells.insert(
          cells.end(),
          {gpu.name, fmt::format("{:.1f} GiB", static_cast<double>(gpu.memory_bytes) / kGibibyte),
           gpu.pci_bus_id, pcie_cell(gpu), nvlink_cell(gpu)});
    }
    table.add_row(cells);
  }
  return table.markdown();
}

/// One below the other, a blank line before each.
std::string joined_sections(const std::vector<std::string>& sections) {
  std::string text;
  for (const std::string& section : sections) text += section.empty() ? section : "\n" + section;
  return text;
}

}  // namespace

std::string report_head(const Record& record) {
  const Machine& machine = record.machine;
  const std::string ranks = machine.ranks.empty() ? "no ranks" : describe_ranks(machine);
  const std::string_view backend =
      record.settings.backend == BackendKind::mpi ? ", MPI in CPU memory" : "";
  const std::string wall =
      record.wall_seconds ? fmt::format(", in {:.1f} s of wall time", *record.wall_seconds) : "";
  return fmt::format(
      "# linkgain: {}{}\n\nMeasured on {} at {}{}: {}.\n", markdown_text(one_line(ranks)), backend,
      machine.host.empty() ? "an unnamed host" : markdown_text(one_line(machine.host)),
      record.started.empty() ? "an unknown time" : markdown_text(one_line(record.started)), wall,
      name_of(record.status));
}

std::string warnings_section(const Record& record) {
  if (record.warnings.empty()) return {};
  std::string text = "## Warnings\n\n";
  for (const Warning& warning : record.warnings) {
    text += fmt::format("- `{}`: {}\n", warning.code, markdown_text(one_line(warning.text)));
    if (warning.advice.empty()) continue;
    text += fmt::format("  Advice: {}\n", markdown_text(one_line(warning.advice)));
  }
  return text;
}

/// "0.1.0 (nccl+mpi, sm_90)".
std::string build_text(const Software& software) {
  return software.build.empty() ? software.linkgain
                                : fmt::format("{} ({})", software.linkgain, software.build);
}

/// What a variant had of its own, where variants differ in that.
std::string software_items(const Settings& settings, const Variant& variant,
                           const Software& software) {
  std::string text;
  if (nccl_differs(settings)) {
    const std::string nccl = nccl_text(software);
    text +=
        fmt::format("  - NCCL: {}\n", nccl.empty() ? "not known" : markdown_text(one_line(nccl)));
  }
  if (worker_differs(settings)) {
    const std::string file = variant.worker.empty() ? "" : markdown_code(one_line(variant.worker));
    text += fmt::format("  - linkgain-bench: {}{}{}\n", file, file.empty() ? "" : ", ",
                        markdown_text(one_line(build_text(software))));
  }
  return text;
}

std::string variants_section(const Record& record) {
  const Settings& settings = record.settings;
  if (settings.variants.empty()) return {};
  std::string text = "## Variants\n\n";
  for (std::size_t i = 0; i < settings.variants.size(); ++i) {
    const Variant& variant = settings.variants[i];
    const std::string own = assignments(variant.environment);
    text +=
        fmt::format("- {}: {}\n", variant.name, own.empty() ? "nothing set" : markdown_code(own));
    if (settings.program) {
      if (!variant.arguments.empty()) {
        text += fmt::format("  - arguments: {}\n", markdown_code(shown_command(variant.arguments)));
      }
    } else {
      text += fmt::format("  - path: {}\n", paths_of(record, variant.name));
    }
    if (i < settings.environment_in_force.size()) {
      const std::string in_force = assignments(settings.environment_in_force[i]);
      text += fmt::format("  - in force: {}\n",
                          in_force.empty() ? "nothing set" : markdown_code(in_force));
    }
    if (i < settings.software_in_force.size()) {
      text += software_items(settings, variant, settings.software_in_force[i]);
    }
  }
  return text;
}

std::string machine_section(const Record& record) {
  const Machine& machine = record.machine;
  const Software& software = machine.software;
  std::string text;
  if (!machine.ranks.empty()) add_item(text, "Measured with", describe_ranks(machine));
  add_item(text, "Host", machine.host);
  add_item(text, "Kernel", machine.kernel);
  add_item(text, "Processor",
           machine.processor.empty()
               ? std::string{}
               : fmt::format("{}, {} CPUs", machine.processor, machine.processors));
  add_item(text, "linkgain", build_text(software));
  add_item(text, "MPI", software.mpi);
  add_item(text, "NVIDIA driver", software.driver);
  add_item(text, "CUDA", cuda_versions(software));
  add_item(text, "NCCL", nccl_text(software));
  if (!machine.links.empty()) {
    add_item(text, "P2P possible between all pairs", answer(all_pairs(machine.links, allows_p2p)));
    add_item(text, "NVLink between all pairs", answer(all_pairs(machine.links, joined_by_nvlink)));
  }
  add_item(text, "NVLink rate", nvlink_rate(machine));
  add_item(text, "Pinned host copy", host_copy(machine));
  if (!machine.ranks.empty()) {
    text += fmt::format("\n{}", ranks_table(machine));
  }
  return text.empty() ? text : "## Machine\n\n" + text;
}

/// What the run's time went into, the parts of starting and opening in brackets.
std::string time_text(const Record& record) {
  if (!record.time_spent || !record.wall_seconds) return {};
  const TimeSpent& spent = *record.time_spent;
  const auto time = [](double seconds) { return readable_time(Seconds{seconds}); };
  const double known =
      spent.starting_s + spent.opening_s + spent.sampling_s + spent.verifying_s + spent.ending_s;
  return fmt::format(
      "{}: starting jobs {} (ranks {}, GPUs {}, communicator {}), opening cases {} (buffers {}, "
      "clocks {}, first operations {}, calibration {}), sampling {}, verifying {}, ending jobs {}, "
      "all else {}",
      time(*record.wall_seconds), time(spent.starting_s), time(spent.ranks_s), time(spent.gpus_s),
      time(spent.connecting_s), time(spent.opening_s), time(spent.buffers_s), time(spent.clocks_s),
      time(spent.first_operations_s), time(spent.calibrating_s), time(spent.sampling_s),
      time(spent.verifying_s), time(spent.ending_s),
      time(std::max(0.0, *record.wall_seconds - known)));
}

std::string repeat_section(const Record& record) {
  const Settings& settings = record.settings;
  std::string text = "## Repeat it\n\n";
  if (!settings.argv.empty()) {
    text += markdown_shell(repetition(settings, record.machine.ranks.size()) + "\n") + "\n";
  }
  add_item(text, "Label", settings.label);
  if (const std::optional<ProgramPlan>& program = settings.program) {
    for (const std::string& metric : program->metrics) add_item(text, "Metric", metric);
    add_item(text, "Rounds", std::to_string(settings.launches));
    add_item(text, "Warm-up runs of each variant", std::to_string(program->warm_up));
  }
  add_item(text, "Interval asked for", precision_text(settings));
  if (!settings.program) add_item(text, "Sample", readable_time(settings.sample_target));
  if (settings.require_healthy) add_item(text, "Healthy GPUs", "required");
  add_item(text, "Time", time_text(record));
  return text;
}

std::string health_line(const RunSummary& summary) {
  const std::string health =
      summary.health ? fmt::format("Health: {}\n", describe(*summary.health)) : std::string();
  return health + neighbours_line(summary.record) + link_errors_line(summary.record.link_errors);
}

std::string markdown_details(const RunSummary& summary) {
  const Record& record = summary.record;
  return joined_sections({headline(summary), soak_section(summary), health_section(summary),
                          warnings_section(record), sizes_section(summary), pairs_section(summary),
                          nvlink_traffic_section(summary), variants_section(record),
                          machine_section(record), repeat_section(record)});
}

std::string circumstances(const Record& record) {
  return joined_sections({warnings_section(record), variants_section(record),
                          machine_section(record), repeat_section(record)});
}

std::string markdown_report(const RunSummary& summary) {
  return report_head(summary.record) + "\n" + answer_in_markdown(summary) +
         markdown_details(summary);
}

}  // namespace linkgain
