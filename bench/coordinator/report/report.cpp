#include "linkgain/report/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "linkgain/analysis/variant_environment.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/health.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/topology.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/summary/headroom_steps.hpp"
#include "linkgain/summary/inference_tables.hpp"
#include "linkgain/summary/judgement_text.hpp"
#include "linkgain/summary/repetition.hpp"
#include "linkgain/tables/document.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "linkgain/telemetry/program_traffic.hpp"
#include "linkgain/tuning/tuning_report.hpp"
#include "sentences.hpp"

namespace linkgain {
namespace {

/// Says "34–48 °C", or "SM 1980 MHz" where both ends are alike.
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

/// Says what a variant's samples show of themselves.
std::string describe_variant(const HealthSummary& summary) {
  std::vector<std::string> parts;
  add_range(parts, "SM ", summary.lowest_sm_clock_mhz, summary.highest_sm_clock_mhz, "MHz");
  add_events(parts, summary);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string health_text(const HealthSummary& summary) {
  if (summary == HealthSummary{}) {
    return "not measured";
  }
  std::vector<std::string> parts;
  add_range(parts, "", summary.lowest_temperature_c, summary.highest_temperature_c, "°C");
  add_range(parts, "", summary.lowest_power_w, summary.highest_power_w, "W");
  parts.push_back(describe_variant(summary));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Says "Neighbours: none on the GPUs in 12 looks", or what was seen; empty where nobody looked.
std::string neighbours_line(const Record& record) {
  if (!record.neighbours) return {};
  const Neighbours& neighbours = *record.neighbours;
  std::vector<std::string> parts;
  for (const GpuNeighbour& each : neighbours.seen) parts.push_back(neighbour_text(each));
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
  return fmt::format("Neighbours: {}", fmt::join(parts, "; "));
}

/// Shows health_lines(), and SM clock and what held samples back for each variant; or empty.
Document health_section(const RunSummary& summary) {
  const std::vector<std::string> lines = health_lines(summary);
  if (lines.empty()) return {};
  Document document;
  document.heading("Health");
  for (const std::string& line : lines) document.paragraph(line);
  std::vector<std::string> variants;
  for (const auto& [variant, health] : summary.health_of_variants) {
    if (health == HealthSummary{}) continue;
    variants.push_back(fmt::format("{}: {}", variant, describe_variant(health)));
  }
  if (variants.empty()) return document;
  // Power is the driver's average over longer than a batch, and heat lasts longer still.
  document.paragraph(
      "Temperature and power are the GPUs', which all variants share. Of each variant's own "
      "samples:");
  for (const std::string& variant : variants) document.item(variant);
  return document;
}

/// Says what a time and its interval are of: "the mean of 6 launches' medians, intervals over these
/// launches".
std::string launches_text(const RunSummary& summary) {
  const LaunchRange& launches = summary.launches;
  if (launches.most <= 1) return "medians of one launch, which has no confidence interval";
  return fmt::format("the geometric mean of the medians of {}, intervals over these",
                     launches.text());
}

Document sizes_section(const RunSummary& summary) {
  const Document tables = size_tables(summary);
  if (tables.empty()) return {};
  Document document;
  document.heading("By size");
  document.paragraph(fmt::format(
      "Times are of one operation, {}; busbw compares with the limit of the path that carried the "
      "bytes, where that is known. Less time is 1 − 1/speed-up.",
      launches_text(summary)));
  document.add(tables);
  return document;
}

Document pairs_section(const RunSummary& summary) {
  const Document tables = pair_tables(summary);
  if (tables.empty()) return {};
  Document document;
  document.heading("Pairs");
  document.paragraph(with_code(fmt::format(
      "One pair at a time, the others idle: from 1 MiB on bus bandwidth, else time, of one "
      "operation, {}. Beside each is what joins the two, as `linkgain topo` names it, whichever "
      "path the bytes took.",
      launches_text(summary))));
  document.add(tables);
  return document;
}

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

/// Tells whether there are bytes to take some path: none of a training without communication.
bool carries(const Case& definition) { return !definition.training || uses_link(definition); }

/// Says "NVLink (28 cases), unknown (1 case)".
std::string paths_of(const Record& record, const std::string& variant) {
  std::map<Path, int> counts;
  for (const CaseResult& result : record.cases) {
    for (const VariantResult& entry : result.variants) {
      if (entry.variant != variant || !entry.time.has_value() || !carries(result.definition)) {
        continue;
      }
      ++counts[entry.path];
    }
  }
  std::vector<std::string> words;
  for (const auto& [path, count] : counts) {
    words.push_back(fmt::format("{} ({})", readable_path(path), counted(count, "case", "cases")));
  }
  return words.empty() ? "nothing measured" : fmt::format("{}", fmt::join(words, ", "));
}

void add_item(Document& document, std::string_view what, const std::optional<std::string>& value) {
  if (value && !value->empty()) document.item(fmt::format("{}: {}", what, *value));
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

std::string yes_or_no(std::optional<bool> known) {
  return !known.has_value() ? "not known" : *known ? "yes" : "no";
}

std::string memory_cell(const GpuInfo& gpu) {
  if (gpu.memory_bytes == 0) return {};
  return fmt::format("{:.1f} GiB", static_cast<double>(gpu.memory_bytes) / kGibibyte);
}

std::string nvlink_cell(const GpuInfo& gpu) {
  const std::string links = nvlinks_text(gpu);
  if (links.empty()) return {};
  const std::string generation = nvlink_version_name(gpu.nvlink_version.value_or(0));
  return fmt::format("{} links{}{}", links, generation.empty() ? "" : ", NVLink ", generation);
}

std::string pcie_cell(const GpuInfo& gpu) {
  const auto text = [](std::optional<int> value) {
    return value.has_value() ? std::to_string(*value) : "?";
  };
  return gpu.pcie_generation.has_value() || gpu.pcie_width.has_value()
             ? fmt::format("gen {} x{}", text(gpu.pcie_generation), text(gpu.pcie_width))
             : std::string{};
}

/// Says "26.6 GB/s for each link and direction", of all GPUs alike; empty where they differ or none
/// is known. Of a GPU whose links differ it is the slowest link's.
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

/// Says the slowest rank's each way; empty where some rank's was not measured.
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

/// Leaves out columns that no rank fills, as on a machine without GPUs.
Table ranks_table(const Machine& machine) {
  const bool gpus =
      std::ranges::any_of(machine.ranks, [](const RankInfo& rank) { return rank.gpu.has_value(); });
  std::vector<Table::Column> columns{{"Rank", Table::Alignment::right}, {"Host"}, {"CPUs"}};
  if (gpus) {
    columns.insert(
        columns.end(),
        {{"GPU"}, {"Memory", Table::Alignment::right}, {"PCI id"}, {"PCIe"}, {"NVLink"}});
  }
  leave_out_from_the_right(columns);
  Table table(columns);
  for (const RankInfo& rank : machine.ranks) {
    Cells cells{std::to_string(rank.rank), rank.host, rank.cpus};
    if (rank.gpu.has_value()) {
      const GpuInfo& gpu = *rank.gpu;
      cells.insert(cells.end(),
                   {gpu.name, memory_cell(gpu), gpu.pci_bus_id, pcie_cell(gpu), nvlink_cell(gpu)});
    }
    table.add_row(cells);
  }
  return table;
}

constexpr std::size_t kMostColumns = 6;
constexpr std::size_t kMostLaunchRows = 24;
/// Rows with errors, beside those.
constexpr std::size_t kMostErrorRows = 24;

/// Chooses what drifted first, then the first variant's in their order.
std::vector<const SoakColumn*> shown_columns(const SoakSummary& soak) {
  std::vector<const SoakColumn*> shown;
  for (const SoakColumn& each : soak.columns) shown.push_back(&each);
  const std::string& first = soak.columns.front().variant;
  std::ranges::stable_sort(shown, std::greater{}, [&](const SoakColumn* each) {
    return std::pair(each->drift ? each->drift->ratio : 0.0, each->variant == first);
  });
  shown.resize(std::min(shown.size(), kMostColumns));
  return shown;
}

/// Chooses them evenly over the run, the last one included, and those in which errors were counted.
std::vector<std::size_t> shown_rows(const SoakSummary& soak) {
  const std::size_t count = soak.rows.size();
  const std::size_t step = divide_up(count, kMostLaunchRows);
  std::size_t with_errors = 0;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < count; ++i) {
    const bool errors = soak.rows[i].errors > 0 && ++with_errors <= kMostErrorRows;
    if (errors || i % step == 0 || i + 1 == count) shown.push_back(i);
  }
  return shown;
}

/// Says "1:02:05" of hours, minutes and seconds.
std::string clock_time(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

Document report_head(const Record& record) {
  const Machine& machine = record.machine;
  const std::optional<ProgramPlan>& program = record.settings.program;
  const std::string ranks =
      machine.ranks.empty() && !program ? "no ranks" : describe_ranks(machine);
  const std::string_view backend =
      record.settings.backend == BackendKind::mpi ? ", MPI in CPU memory" : "";
  const std::string wall =
      record.wall_seconds ? fmt::format(", in {:.1f} s of wall time", *record.wall_seconds) : "";
  Document document;
  document.title(program ? "linkgain exec: " + measured_command(record)
                         : fmt::format("linkgain: {}{}", ranks, backend));
  document.paragraph(fmt::format(
      "Measured on {}{} at {}{}: {}.", machine.host.empty() ? "an unnamed host" : machine.host,
      program ? fmt::format(" ({})", ranks) : "",
      record.started.empty() ? "an unknown time" : record.started, wall, ending_of(record)));
  return document;
}

Document warnings_section(const Record& record) {
  if (record.warnings.empty()) return {};
  Document document;
  document.heading("Warnings");
  for (const Warning& warning : record.warnings) {
    document.item(Document::Item{
        code(warning.code) + label_of(warning).substr(warning.code.size()) + ": " +
            with_code(warning.text),
        warning.advice.empty() ? Text() : Text("Advice: ") + with_code(warning.advice)});
  }
  return document;
}

/// Says "0.1.0 (nccl+mpi, sm_90)".
std::string build_text(const Software& software) {
  return software.build.empty() ? software.linkgain
                                : fmt::format("{} ({})", software.linkgain, software.build);
}

/// Adds what a variant had of its own, where variants differ in that.
void add_software(std::vector<Text>& items, const Settings& settings, const Variant& variant,
                  const Software& software) {
  if (nccl_differs(settings)) {
    const std::string nccl = nccl_text(software);
    items.emplace_back("NCCL: " + (nccl.empty() ? "not known" : nccl));
  }
  if (worker_differs(settings)) {
    Text file = variant.worker.empty() ? Text() : code(variant.worker) + ", ";
    items.push_back(Text("linkgain-bench: ") + file + build_text(software));
  }
}

/// Gives what else was in force: linkgain's own variables, those that change nothing, and what is
/// not as the variant sets it.
Environment set_otherwise(const Record& record, std::size_t variant, const Environment& inherited) {
  Environment others = in_force(record, variant);
  std::erase_if(others, [&](const auto& each) {
    return inherited.contains(each.first) ||
           value_of(record.settings.variants[variant].environment, each.first) == each.second;
  });
  return others;
}

Document variants_section(const Record& record) {
  const Settings& settings = record.settings;
  if (settings.variants.empty()) return {};
  Document document;
  document.heading("Variants");
  for (std::size_t i = 0; i < settings.variants.size(); ++i) {
    const Variant& variant = settings.variants[i];
    const std::string own = assignments(variant.environment);
    Document::Item item{Text(variant.name + ": ") +
                        (own.empty() ? Text("sets nothing") : Text("sets ") + code(own))};
    if (!variant.unset.empty()) {
      item.text += Text(", unsets ") + code(fmt::format("{}", fmt::join(variant.unset, " ")));
    }
    if (!settings.program) {
      item.below.emplace_back("path: " + paths_of(record, variant.name));
    } else if (!variant.arguments.empty()) {
      item.below.push_back(Text("arguments: ") + code(shown_command(variant.arguments)));
    }
    const Environment inherited = inherited_variables(record, i);
    for (const auto& [what, variables] :
         {std::pair("inherited: ", inherited),
          std::pair("in force, too: ", set_otherwise(record, i, inherited))}) {
      if (!variables.empty()) item.below.push_back(Text(what) + code(assignments(variables)));
    }
    const std::vector<RunEvidence> runs = counted_runs(record, variant.name);
    for (const std::string& said : engines_of(runs)) item.below.emplace_back("it says: " + said);
    if (const std::set<std::string> said = algorithms_of(runs); !said.empty()) {
      item.below.emplace_back(
          fmt::format("algorithms that NCCL's log names: {}", fmt::join(said, ", ")));
    }
    if (i < settings.software_in_force.size()) {
      add_software(item.below, settings, variant, settings.software_in_force[i]);
    }
    document.item(std::move(item));
  }
  return document;
}

Document machine_section(const Record& record) {
  const Machine& machine = record.machine;
  const Software& software = machine.software;
  Document document;
  if (!machine.ranks.empty()) add_item(document, "Measured with", describe_ranks(machine));
  add_item(document, "Host", machine.host);
  add_item(document, "Kernel", machine.kernel);
  add_item(document, "Processor",
           machine.processor.empty()
               ? std::string{}
               : fmt::format("{}, {} CPUs", machine.processor, machine.processors));
  add_item(document, "linkgain", build_text(software));
  add_item(document, "MPI", software.mpi);
  add_item(document, "NVIDIA driver", software.driver);
  add_item(document, "CUDA", cuda_versions(software));
  add_item(document, "NCCL", nccl_text(software));
  if (!machine.links.empty()) {
    add_item(document, "P2P possible between all pairs",
             yes_or_no(all_pairs(machine.links, allows_p2p)));
    add_item(document, "NVLink between all pairs",
             yes_or_no(all_pairs(machine.links, joined_by_nvlink)));
  }
  add_item(document, "NVLink rate", nvlink_rate(machine));
  add_item(document, "Pinned host copy", host_copy(machine));
  if (!machine.ranks.empty()) document.table(ranks_table(machine));
  if (document.empty()) return document;
  Document section;
  section.heading("Machine");
  section.add(document);
  return section;
}

/// Says what the run's time went into, the parts of starting and opening in brackets.
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

Document repeat_section(const Record& record) {
  const Settings& settings = record.settings;
  Document document;
  document.heading("Repeat it");
  if (!settings.argv.empty()) document.code(repetition(record) + "\n");
  add_item(document, "Label", settings.label);
  if (const std::optional<ProgramPlan>& program = settings.program) {
    const std::string command = shown_command(program->command);
    if (command != measured_command(record)) document.item(Text("Command: ") + code(command));
    for (const std::string& metric : program->metrics) add_item(document, "Metric", metric);
    add_item(document, "Rounds", std::to_string(settings.launches));
    add_item(document, "Warm-up runs of each variant", std::to_string(program->warm_up));
  }
  add_item(document, "Interval asked for", precision_text(settings));
  if (!settings.program) add_item(document, "Sample", readable_time(settings.sample_target));
  if (settings.require_healthy) add_item(document, "Healthy GPUs", "required");
  add_item(document, "Time", time_text(record));
  return document;
}

std::vector<std::string> health_lines(const RunSummary& summary) {
  std::vector<std::string> lines;
  if (summary.health) lines.push_back("Health: " + health_text(*summary.health));
  for (const std::string& line : {summary.is_of_program() ? "" : neighbours_line(summary.record),
                                  link_errors_line(summary.record.link_errors)}) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

Document run_details(const RunSummary& summary) {
  const Record& record = summary.record;
  Document document = training_section(summary);
  for (const Document& section :
       {tuning_section(summary), inference_section(summary), nvlink_bound(summary),
        soak_section(summary), health_section(summary), warnings_section(record),
        headroom_section(summary), sizes_section(summary), pairs_section(summary),
        nvlink_traffic_section(summary), variants_section(record), machine_section(record),
        repeat_section(record)}) {
    document.add(section);
  }
  return document;
}

Document run_report(const RunSummary& summary) {
  Document document = report_head(summary.record);
  document.add(answer_document(summary));
  document.add(run_details(summary));
  return document;
}

Document soak_section(const RunSummary& summary) {
  if (!summary.soak || summary.soak->columns.empty()) return {};
  const SoakSummary& soak = *summary.soak;
  std::vector<Table::Column> titles{{"Launch", kRight}, {"Begin", kRight}};
  if (soak.counted_errors) titles.push_back({"Errors", kRight});
  titles.push_back({"°C", kRight, true});
  const std::vector<const SoakColumn*> columns = shown_columns(soak);
  for (const SoakColumn* each : columns) {
    titles.push_back({fmt::format("{}, {}", case_label(each->definition), each->variant), kRight});
  }
  leave_out_from_the_right(titles);
  Table table(titles);
  const std::vector<std::size_t> rows = shown_rows(soak);
  for (const std::size_t place : rows) {
    const SoakRow& row = soak.rows[place];
    Cells cells{std::to_string(row.launch + 1), clock_time(row.after_s)};
    if (soak.counted_errors) cells.push_back(std::to_string(row.errors));
    const auto& temperature = row.highest_temperature_c;
    cells.push_back(temperature ? std::to_string(*temperature) : "");
    for (const SoakColumn* each : columns) {
      const std::optional<Seconds>& time = each->times[place];
      cells.push_back(time ? readable_result(each->definition, *time) : "");
    }
    table.add_row(cells);
  }
  Document document;
  document.heading("Over time");
  document.table(std::move(table));
  if (rows.size() < soak.rows.size() || columns.size() < soak.columns.size()) {
    document.paragraph(
        fmt::format("{} of {} launches and {} of {} times are shown; the record has all.",
                    rows.size(), soak.rows.size(), columns.size(), soak.columns.size()));
  }
  for (const std::string& each : soak.degraded) document.item(each);
  return document;
}

}  // namespace linkgain
