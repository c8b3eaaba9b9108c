#include "linkgain/screen/screen.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/tables/document.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kMostWarnings = 3;

/// "all_reduce p2p  16 B ▁▁▂▃▆▇██ 1 GiB  324.3 of 450 GB/s (72 %)": the first variant's bus
/// bandwidth by size, as a share of the limit where that is known. Empty of one size, and of a
/// latency.
std::string plot_of(const Curve& curve, const std::string& variant_name, const ScreenStyle& style) {
  if (is_latency(curve.definition().operation)) return {};
  static constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<const VariantResult*> points;
  std::vector<Bytes> sizes;
  double most = 0.0;
  for (const CaseSummary* each : curve.cases) {
    const VariantResult& variant = each->result->variants.front();
    if (!variant.busbw || has_wrong_data(variant)) continue;
    points.push_back(&variant);
    sizes.push_back(each->definition().size);
    most = std::max(most, *variant.busbw);
  }
  constexpr std::size_t kFewest = 2;
  if (points.size() < kFewest || most <= 0.0) return {};
  const VariantResult& largest = *points.back();
  std::string end = readable_bandwidth(*largest.busbw);
  if (largest.fraction_of_limit && *largest.fraction_of_limit > 0.0) {
    const double limit = *largest.busbw / *largest.fraction_of_limit;
    most = std::max(most, limit);
    end = fmt::format("{:.4g} of {:.3g} GB/s ({})", *largest.busbw, limit,
                      rounded_percent(*largest.fraction_of_limit, 0));
  }
  std::string plot;
  for (const VariantResult* point : points) {
    const auto level = static_cast<std::size_t>(*point->busbw / most * kBlocks.size());
    plot += kBlocks[std::min(level, kBlocks.size() - 1)];
  }
  const Case definition = curve.definition();
  const std::string bars =
      fmt::format("{} {} {}", readable_bytes(sizes.front()), plot, readable_bytes(sizes.back()));
  const std::string head = fmt::format("{}, {}", curve_label(definition), variant_name);
  for (const std::string& line : {fmt::format("  {}  {}  {}", head, bars, end),
                                  fmt::format("  {}  {}", bars, end), "  " + bars}) {
    if (display_width(line) <= style.columns) return line + "\n";
  }
  return {};
}

/// A run that compares nothing.
bool has_one_variant(const RunSummary& summary) {
  return summary.record.settings.variants.size() == 1;
}

/// What a row of figures is of.
Answer shown_answer(const RunSummary& summary, std::size_t most_rows = kMostAnswerRows) {
  return answer_of(summary,
                   has_one_variant(summary) ? &CaseSummary::is_measured : &CaseSummary::is_compared,
                   most_rows);
}

/// Its time, or what stands in its place.
std::string time_text(const CaseSummary& each, const VariantSummary& variant) {
  const VariantResult& result = *variant.result;
  return result.time && !variant.wrong_data ? readable_time(*result.time)
                                            : answer_value(each.definition(), result);
}

/// Empty of a latency, whose bytes over time mean nothing.
std::string bandwidth_text(const CaseSummary& each, const VariantSummary& variant) {
  const VariantResult& result = *variant.result;
  const bool shown = result.time && result.busbw && !variant.wrong_data;
  return shown && !is_latency(each.definition().operation) ? readable_bandwidth(*result.busbw) : "";
}

/// Time and bandwidth of a run's only variant.
Table one_variant_table(const std::vector<const CaseSummary*>& cases) {
  std::vector<Table::Column> columns{{.title = "Operation", .too_long = Table::TooLong::cut},
                                     {cases.front()->variants.front().result->variant, kRight}};
  if (std::ranges::any_of(cases, [](const CaseSummary* each) {
        return !bandwidth_text(*each, each->variants.front()).empty();
      })) {
    columns.push_back({"busbw", kRight, false, 1});
  }
  Table table(columns);
  for (const CaseSummary* each : cases) {
    const VariantSummary& variant = each->variants.front();
    table.add_row({answer_label(each->definition()),
                   toned(time_text(*each, variant), variant.wrong_data ? Tone::bad : Tone::plain),
                   bandwidth_text(*each, variant)});
  }
  return table;
}

std::ptrdiff_t measured_cases(const RunSummary& summary) {
  return std::ranges::count_if(summary.cases, [](const CaseSummary& each) {
    return std::ranges::any_of(each.result->variants,
                               [](const VariantResult& one) { return one.time.has_value(); });
  });
}

std::string machine_line(const RunSummary& summary, const ScreenStyle& style) {
  const Record& record = summary.record;
  const Machine& machine = record.machine;
  std::string text = machine.ranks.empty() ? "no ranks" : one_line(describe_ranks(machine));
  if (record.settings.backend == BackendKind::mpi) text += ", MPI in CPU memory (no GPU figures)";
  if (!machine.links.empty()) {
    const std::string link = label_of(machine.links.front());
    const bool alike = std::ranges::all_of(
        machine.links, [&](const PairLink& each) { return label_of(each) == link; });
    if (alike && !link.ends_with('?')) text += ", " + link;
  }
  if (machine.software.nccl_library) text += ", NCCL " + one_line(*machine.software.nccl_library);
  const std::string end =
      record.status == RunStatus::complete && record.wall_seconds
          ? fmt::format("finished in {:.0f} s", *record.wall_seconds)
          : fmt::format("{}: {} of {} measured", name_of(record.status), measured_cases(summary),
                        counted(std::ssize(summary.cases), "case", "cases"));
  return with_end(text, fmt::format("{}, {}", summary.launches.text(), end), style);
}

/// Nothing where the case is the largest that was asked for, or a latency, which is shown by its
/// smallest.
std::string larger_sizes(const RunSummary& summary, const CaseSummary& shown_case) {
  if (is_latency(shown_case.definition().operation)) return {};
  for (const Curve& curve : summary.headline) {
    if (std::ranges::find(curve.cases, &shown_case) == curve.cases.end()) continue;
    const Bytes largest = curve.cases.back()->definition().size;
    if (largest.value <= shown_case.definition().size.value) return {};
    return fmt::format("No larger size, of up to {}, was measured{}.", readable_bytes(largest),
                       has_one_variant(summary) ? "" : " with both");
  }
  return {};
}

}  // namespace

std::string warning_lines(const Record& record, std::size_t most, const ScreenStyle& style) {
  std::vector<Warning> warnings = record.warnings;
  std::ranges::stable_sort(warnings, {},
                           [](const Warning& warning) { return row_of(warning).weight; });
  std::string text;
  const std::size_t shown_warnings = std::min(warnings.size(), most);
  const std::size_t more = warnings.size() - shown_warnings;
  for (std::size_t i = 0; i < shown_warnings; ++i) {
    const bool last = i + 1 == shown_warnings;
    const std::string count = last && more > 0 ? fmt::format(" (and {} more)", more) : "";
    constexpr std::string_view kLead = "warning:";
    const std::size_t room = style.columns - kLead.size() - 1 - count.size();
    const Color color = row_of(warnings[i]).weight == WarningWeight::wrong ? kRed : kYellow;
    const bool is_known = !is(warnings[i], WarningCode::unknown);
    const std::string shown = (is_known ? "" : label_of(warnings[i]) + ": ") + warnings[i].text;
    text +=
        painted(std::string(kLead), color, style) + " " + cut(shown, room, style) + count + "\n";
  }
  return text;
}

namespace {

std::string screen_of(const RunSummary& summary, const Answer& answer, const std::string& footer,
                      const ScreenStyle& style) {
  const CaseSummary* const first = answer.main;
  const std::vector<const CaseSummary*>& rows = answer.rows;
  std::string text = machine_line(summary, style);
  std::string plot;
  std::string path;
  if (first != nullptr) {
    const auto fitted = [&](const Table& table) { return "\n" + to_terminal(table, style); };
    text += has_one_variant(summary)
                ? fitted(one_variant_table(rows))
                : fitted(variants_table(answer)) + fitted(answer_table(answer));
    for (const Curve& curve : summary.curves_by_size) {
      if (curve.definition().operation != rows.front()->definition().operation) continue;
      plot = plot_of(curve, variant_title(*rows.front(), 0), style);
      break;
    }
    path = in_lines("Path: " + path_sentence(*first), style);
    if (const std::string rest = left_out_text(answer, style.columns); !rest.empty()) {
      path += in_lines(rest, style);
    }
    if (const std::string larger = larger_sizes(summary, *rows.front()); !larger.empty()) {
      path += in_lines(larger, style);
    }
  }
  const std::string end =
      "\n" + in_lines(answer_sentence(summary, answer), answer_alarm(summary), style);
  const std::size_t used = line_count(text + path + end) + 1;
  std::size_t room = kMostScreenLines - std::min(kMostScreenLines, used);
  if (room > 1 && !plot.empty()) {
    text += plot;
    --room;
  }
  text += path + warning_lines(summary.record, std::min(kMostWarnings, room), style);
  text += footer + "\n" + end;
  return style.utf8 ? text : in_ascii(std::move(text));
}

}  // namespace

std::string screen(const RunSummary& summary, const std::string& footer, const ScreenStyle& style) {
  for (std::size_t rows = kMostAnswerRows;; --rows) {
    const std::string text = screen_of(summary, shown_answer(summary, rows), footer, style);
    if (rows == 1 || line_count(text) <= kMostScreenLines) return text;
  }
}

namespace {

constexpr ScreenStyle kCardStyle{.columns = kCardColumns};

/// The guide's table; of columns that are empty there are none.
std::string card_rows(const Answer& answer) {
  const CaseSummary& each = *answer.main;
  const auto is_any_shown = [&](const auto& has) {
    return std::ranges::any_of(answer.variants,
                               [&](std::size_t i) { return has(each.variants[i]); });
  };
  const bool busbw = is_any_shown(
      [&](const VariantSummary& variant) { return !bandwidth_text(each, variant).empty(); });
  const bool counted_bytes =
      is_any_shown([](const VariantSummary& variant) { return variant.nvlink_share.has_value(); });
  std::vector<Table::Column> columns{
      {.title = contrast_title(each.contrast), .too_long = Table::TooLong::cut},
      {answer_label(each.definition()), kRight}};
  if (busbw) columns.push_back({"busbw", kRight});
  columns.push_back({"Path"});
  if (counted_bytes) columns.push_back({"NVLink traffic", kRight});
  Table table(columns);
  for (const std::size_t i : answer.variants) {
    const VariantSummary& variant = each.variants[i];
    Cells cells{row_name(each, i), time_text(each, variant)};
    if (busbw) cells.push_back(bandwidth_text(each, variant));
    cells.emplace_back(readable_path(variant.result->path));
    if (counted_bytes && variant.nvlink_share) {
      cells.push_back(rounded_percent(*variant.nvlink_share, 1) + " of expected");
    }
    table.add_row(cells);
  }
  return to_terminal(table, kCardStyle);
}

/// Without the folder that the program lay in.
std::string card_command(Settings settings, std::size_t ranks) {
  if (settings.argv.empty()) return {};
  settings.argv.front() = std::filesystem::path(settings.argv.front()).filename();
  return "$ " + repetition(settings, ranks) + "\n";
}

}  // namespace

std::string card_circumstances(const Record& record, std::string_view runs) {
  const Software& software = record.machine.software;
  std::vector<std::string> parts;
  if (software.driver) parts.push_back("driver " + *software.driver);
  if (software.cuda_runtime) parts.push_back("CUDA " + *software.cuda_runtime);
  if (!record.machine.kernel.empty()) parts.push_back(record.machine.kernel);
  if (!software.linkgain.empty()) parts.push_back("linkgain " + software.linkgain);
  if (!runs.empty()) parts.emplace_back(runs);
  return cut(fmt::format("{}", fmt::join(parts, ", ")), kCardColumns, kCardStyle) + "\n";
}

std::string card_warnings(const Record& record, std::size_t used) {
  const std::size_t room = kMostCardLines - std::min(kMostCardLines, used);
  return warning_lines(record, std::min(kMostWarnings, room), kCardStyle);
}

std::string card(const RunSummary& summary) {
  const Record& record = summary.record;
  constexpr std::size_t kMostRows = 3;
  const Answer answer = shown_answer(summary, kMostRows);
  std::string text = machine_line(summary, kCardStyle);
  text += card_circumstances(record, "");
  if (answer.main != nullptr) text += card_rows(answer);
  text += in_lines(answer_sentence(summary, answer), kCardStyle);
  const std::string command = card_command(record.settings, record.machine.ranks.size());
  constexpr std::size_t kFences = 2;
  text += card_warnings(record, line_count(text + command) + kFences);
  return fenced(text + command);
}

}  // namespace linkgain
