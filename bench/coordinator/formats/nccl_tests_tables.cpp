#include "linkgain/formats/nccl_tests_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/nccl_tests/nccl_tests_cases.hpp"
#include "linkgain/nccl_tests/nccl_tests_output.hpp"
#include "linkgain/tables/prometheus.hpp"

namespace linkgain {
namespace {

/// Of one variant, that a row has a half for.
struct Measured {
  Case definition;
  const VariantResult* result = nullptr;
  const CaseResult* of = nullptr;
};

/// Cases of one table, and how -R of nccl-tests and the head name what they have in common.
struct Group {
  const NcclTestsProgram* program = nullptr;
  Buffers buffers = Buffers::plain;
  std::vector<Measured> cases;
};

/// Null where nccl-tests has none.
const NcclTestsProgram* program_of(OperationKind operation) {
  const auto* const found =
      std::ranges::find(kNcclTestsPrograms, operation, &NcclTestsProgram::operation);
  return found == kNcclTestsPrograms.end() ? nullptr : found;
}

/// Of buffers as linkgain and as nccl-tests allocates them, which has no other name for the first.
int registration_of(Buffers buffers) {
  if (buffers == Buffers::registered) return 1;
  return buffers == Buffers::symmetric ? 2 : 0;
}

/// In the order of appearance; and how many cases are in none.
std::pair<std::vector<Group>, int> groups_of(const Record& record, const RecordSelection& selection,
                                             const std::string& variant) {
  std::vector<Group> groups;
  int left_out = 0;
  for (const CaseResult* each : selected_cases(record, selection)) {
    const Case& c = each->definition;
    const NcclTestsProgram* program = program_of(c.operation);
    const VariantResult* result = find_variant(*each, variant);
    const bool has_row = program != nullptr && !c.pair && !c.kernel && result != nullptr;
    if (!has_row || !result->time) {
      ++left_out;
      continue;
    }
    auto group = std::ranges::find_if(groups, [&](const Group& known) {
      return known.program == program && known.buffers == c.buffers;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{program, c.buffers, {}});
    group->cases.push_back({c, result, each});
  }
  return {std::move(groups), left_out};
}

/// Whether a case was measured by graph and by stream.
bool has_both_launches(const Group& group) {
  std::set<std::string> names;
  for (Measured each : group.cases) {
    each.definition.launch = LaunchMode::stream;
    if (!names.insert(case_name(each.definition)).second) return true;
  }
  return false;
}

/// Groups that have both launch modes at some size become two.
std::vector<Group> with_launches_apart(const std::vector<Group>& groups) {
  std::vector<Group> apart;
  for (const Group& group : groups) {
    if (!has_both_launches(group)) {
      apart.push_back(group);
      continue;
    }
    for (const LaunchMode launch : {LaunchMode::stream, LaunchMode::graph}) {
      Group own = group;
      std::erase_if(own.cases,
                    [&](const Measured& each) { return each.definition.launch != launch; });
      apart.push_back(std::move(own));
    }
  }
  return apart;
}

/// Operations of the variant's samples.
std::int64_t operations_of(const Measured& measured) {
  const auto place = measured.result - measured.of->variants.data();
  std::int64_t operations = 0;
  for (const Sample& sample : measured.of->samples) {
    if (sample.variant == place) operations += sample.operations;
  }
  return operations;
}

NcclTestsResult half_of(const VariantResult& variant) {
  NcclTestsResult half{*variant.time, variant.algbw.value_or(0.0), variant.busbw.value_or(0.0), {}};
  if (variant.verification) half.wrong = variant.verification->wrong;
  return half;
}

NcclTestsRow row_of(const NcclTestsProgram& program, const Case& c) {
  const std::int64_t elements = program.counts_per_rank ? c.elements_per_rank() : c.elements();
  const bool reduces = program.takes_reduction && has_reduction(c.operation);
  return {c.size, elements, std::string(nccl_tests_name(c.type)),
          reduces ? std::string(name_of(c.reduction)) : "none", program.takes_root ? c.root : -1};
}

bool are_alike(const NcclTestsRow& a, const NcclTestsRow& b) {
  return a.size == b.size && a.type == b.type && a.reduction == b.reduction && a.root == b.root;
}

/// Type by type, reduction by reduction, root by root, the sizes ascending.
std::vector<NcclTestsRow> rows_of(const Group& group) {
  std::vector<NcclTestsRow> rows;
  for (const Measured& measured : group.cases) {
    const NcclTestsRow own = row_of(*group.program, measured.definition);
    auto row = std::ranges::find_if(
        rows, [&](const NcclTestsRow& known) { return are_alike(known, own); });
    if (row == rows.end()) row = rows.insert(rows.end(), own);
    (measured.definition.in_place ? row->in_place : row->out_of_place) = half_of(*measured.result);
    row->iterations = std::max(row->iterations, operations_of(measured));
  }
  std::ranges::stable_sort(rows, {}, [](const NcclTestsRow& row) {
    return std::tuple(row.type, row.reduction, row.root, row.size);
  });
  return rows;
}

/// The sizes as nccl-tests would be asked for them: a factor where there is one between all, else a
/// step.
void add_sizes(NcclTestsOptions& options, const std::vector<NcclTestsRow>& rows) {
  std::set<Bytes> sizes;
  for (const NcclTestsRow& row : rows) sizes.insert(row.size);
  options.smallest = *sizes.begin();
  options.largest = *sizes.rbegin();
  if (sizes.size() < 2) return;
  const Bytes second = *std::next(sizes.begin());
  options.step = Bytes{second.value - options.smallest.value};
  const std::int64_t factor = second.value / options.smallest.value;
  std::int64_t size = options.smallest.value;
  const bool is_geometric = std::ranges::all_of(sizes, [&](Bytes each) {
    const bool fits = each.value == size;
    if (size <= kLargestSize.value / factor) size *= factor;
    return fits;
  });
  if (is_geometric) options.factor = factor;
}

NcclTestsOptions options_of(const Group& group, const std::vector<NcclTestsRow>& rows) {
  NcclTestsOptions options;
  add_sizes(options, rows);
  options.iterations = static_cast<int>(rows.front().iterations);
  options.warm_ups = 0;
  options.checks = std::ranges::any_of(
      rows, [](const NcclTestsRow& row) { return row.out_of_place.wrong || row.in_place.wrong; });
  options.graph_launches = std::ranges::all_of(group.cases, [](const Measured& each) {
    return each.definition.launch == LaunchMode::graph;
  });
  options.registration = registration_of(group.buffers);
  options.arguments = {std::string(group.program->name), "-b",
                       fmt::to_string(options.smallest.value), "-e",
                       fmt::to_string(options.largest.value)};
  const bool steps = options.factor < 2;
  options.arguments.insert(
      options.arguments.end(),
      {steps ? "-i" : "-f", fmt::to_string(steps ? options.step.value : options.factor), "-R",
       fmt::to_string(options.registration)});
  return options;
}

std::vector<std::string> notes_of(const Record& record, const std::string& variant,
                                  const Group& group, int left_out) {
  std::vector<std::string> notes{
      fmt::format("From a record of linkgain run: {}, variant {}", record.started, variant),
      fmt::format("Times: on the device, of the slowest rank, over {}",
                  counted(count_launches(record), "launch", "launches"))};
  if (group.buffers != Buffers::plain) {
    notes.push_back(fmt::format("Buffers: {}", name_of(group.buffers)));
  }
  std::vector<std::string> by_graph;
  for (const Measured& each : group.cases) {
    const std::string size = exact_bytes(each.definition.size);
    if (each.definition.launch == LaunchMode::graph &&
        std::ranges::find(by_graph, size) == by_graph.end()) {
      by_graph.push_back(size);
    }
  }
  if (!by_graph.empty()) {
    notes.push_back(fmt::format("By CUDA graph: {}", fmt::join(by_graph, ", ")));
  }
  if (left_out > 0) {
    notes.push_back(fmt::format("Leaving out {} of pairs, of kernels or without a time",
                                counted(left_out, "case", "cases")));
  }
  return notes;
}

/// As nccl-tests writes times; UTC.
std::string time_text(const Record& record, double after) {
  const std::optional<double> started = timestamp_of(record.started);
  if (!started) return record.started;
  const auto time = static_cast<std::time_t>(*started + after);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

std::vector<NcclTestsReport> reports_of(const Record& record, const RecordSelection& selection) {
  const std::size_t variant = selected_variant(record, selection);
  const std::string& name = record.settings.variants[variant].name;
  auto [groups, left_out] = groups_of(record, selection, name);
  std::vector<NcclTestsReport> reports;
  for (const Group& group : with_launches_apart(groups)) {
    NcclTestsReport& report = reports.emplace_back();
    report.program = group.program->name;
    report.rows = rows_of(group);
    report.options = options_of(group, report.rows);
    report.hello.backend = record.settings.backend;
    report.hello.machine = record.machine;
    report.hello.environment = environment_of(record, variant);
    report.notes = notes_of(record, name, group, std::exchange(left_out, 0));
    report.start_time = time_text(record, 0.0);
    report.failed_checks = static_cast<int>(std::ranges::count_if(
        group.cases, [](const Measured& each) { return has_wrong_data(*each.result); }));
  }
  if (!reports.empty()) return reports;
  throw UsageError("the record has nothing that nccl-tests measures, with variant " + name,
                   "nccl-tests has no rows for pairs, copies, latencies, kernels and trainings");
}

}  // namespace

std::string nccl_tests_tables(const Record& record, const RecordSelection& selection) {
  std::string text;
  for (const NcclTestsReport& report : reports_of(record, selection)) {
    text += nccl_tests_head(report);
    for (const NcclTestsRow& row : report.rows) text += nccl_tests_line(row);
    text += nccl_tests_foot(report);
  }
  return text;
}

std::string nccl_tests_document(const Record& record, const RecordSelection& selection) {
  const std::vector<NcclTestsReport> reports = reports_of(record, selection);
  if (reports.size() > 1) {
    std::vector<std::string> programs;
    for (const NcclTestsReport& report : reports) {
      programs.push_back(report.program);
    }
    throw UsageError(fmt::format("nccl-tests' JSON is of one table, and the record has {}: {}",
                                 reports.size(), fmt::join(programs, ", ")),
                     "choose one operation with --only, or --format nccl-tests for all");
  }
  return nccl_tests_json(reports.front(), time_text(record, record.wall_seconds.value_or(0.0)));
}

}  // namespace linkgain
