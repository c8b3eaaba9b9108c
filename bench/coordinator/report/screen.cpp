#include "linkgain/report/screen.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "case_table.hpp"
#include "less_time_sentences.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

/// In the order of the rows; others follow as they were measured.
constexpr std::array kQuestions{OperationKind::all_reduce, OperationKind::send_recv,
                                OperationKind::copy_push, OperationKind::copy_pull,
                                OperationKind::latency};
constexpr std::size_t kMostRows = 6;
constexpr std::size_t kMostWarnings = 3;

enum class Color { none, red, green, yellow };

std::string_view code_of(Color color) {
  switch (color) {
    case Color::none:
      return "";
    case Color::red:
      return "\033[31m";
    case Color::green:
      return "\033[32m";
    case Color::yellow:
      return "\033[33m";
  }
  return "";
}

std::string painted(const std::string& text, Color color, const ScreenStyle& style) {
  if (!style.color || color == Color::none) return text;
  return fmt::format("{}{}\033[0m", code_of(color), text);
}

/// What reports write beyond ASCII, as far as it has a like.
std::string in_ascii(std::string text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kLikes{
      {{"–", "-"},
       {"−", "-"},
       {"±", "+-"},
       {"×", "x"},
       {"→", ">"},
       {"…", "~"},
       {"°", " "},
       {"µ", "u"},
       {"▁", "_"},
       {"▂", "."},
       {"▃", ":"},
       {"▄", "-"},
       {"▅", "="},
       {"▆", "+"},
       {"▇", "*"},
       {"█", "#"}}};
  for (const auto& [from, to] : kLikes) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
      text.replace(at, from.size(), to);
      at += to.size();
    }
  }
  // One mark for each character that is left.
  std::erase_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; });
  std::ranges::replace_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0x80) != 0; }, '?');
  return text;
}

std::string cut(const std::string& text, const ScreenStyle& style) {
  return first_columns(text, style.columns, "…");
}

std::string in_lines(std::string_view text, const ScreenStyle& style) {
  return fmt::format("{}\n", fmt::join(wrapped(one_line(text), style.columns), "\n"));
}

/// The largest that was measured with the first variant and another one; null where none was.
const CaseSummary* largest_compared(const Curve& curve) {
  const auto largest = std::find_if(curve.cases.rbegin(), curve.cases.rend(),
                                    [](const CaseSummary* each) { return each->is_compared; });
  return largest == curve.cases.rend() ? nullptr : *largest;
}

/// The largest compared case of each operation, those of kQuestions first, and the training.
std::vector<const CaseSummary*> cases_of_rows(const RunSummary& summary) {
  std::vector<const CaseSummary*> rows;
  const auto add_first_of = [&](OperationKind operation) {
    for (const Curve& curve : summary.headline) {
      if (curve.definition().operation != operation) continue;
      if (const CaseSummary* largest = largest_compared(curve)) return rows.push_back(largest);
    }
  };
  for (const OperationKind operation : kQuestions) add_first_of(operation);
  const std::size_t trained = summary.trainings.empty() ? 0 : 1;
  for (const OperationKind operation : kOperations) {
    const bool known = std::ranges::find(kQuestions, operation) != kQuestions.end();
    if (!known && rows.size() + trained < kMostRows) add_first_of(operation);
  }
  if (trained > 0 && summary.trainings.front()->is_compared) {
    rows.push_back(summary.trainings.front());
  }
  return rows;
}

std::string name_of_variant(const CaseSummary& each, bool first) {
  if (each.contrast == Contrast::variant) {
    return each.result->variants[first ? 0 : 1].variant;
  }
  return first ? "Y" : "N";
}

/// Bandwidth of what is large enough for one, else time.
std::string value_of(const Case& definition, const VariantResult& variant) {
  constexpr std::int64_t kLeastForBandwidth = 1 << 20;
  if (has_wrong_data(variant)) return "WRONG DATA";
  if (!variant.time) return variant.skipped ? "skipped" : "not measured";
  const bool large = definition.size.value >= kLeastForBandwidth;
  return variant.busbw && large && !is_training(definition.operation)
             ? readable_bandwidth(*variant.busbw)
             : readable_time(*variant.time);
}

Color color_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::wrong_data:
    case Outcome::same_path:
      return Color::red;
    case Outcome::no_difference:
      return Color::yellow;
    case Outcome::less_time:
      return Color::green;
    case Outcome::not_measured:
    case Outcome::no_interval:
    case Outcome::more_time:
      return Color::none;
  }
  return Color::none;
}

std::string speed_up_of(const Comparison& comparison) {
  if (comparison.has_speed_up()) return readable_ratio(*comparison.ratio).estimate;
  if (comparison.outcome == Outcome::wrong_data) return "wrong data";
  return comparison.outcome == Outcome::same_path ? "same path" : "none";
}

/// Columns of cells within so many columns of the screen. All but the first line up at the right.
class FittedTable {
 public:
  struct Cell {
    std::string text;
    Color color = Color::none;
  };
  using Row = std::vector<Cell>;

  void add(Row row) { rows_.push_back(std::move(row)); }

  /// While it is too wide, the columns of `drop` go, in this order; then the first one is cut.
  std::string text(std::vector<std::size_t> drop, const ScreenStyle& style) const {
    std::vector<std::size_t> shown(rows_.front().size());
    for (std::size_t i = 0; i < shown.size(); ++i) shown[i] = i;
    std::ranges::reverse(drop);
    while (width_of(shown) > style.columns && !drop.empty()) {
      std::erase(shown, drop.back());
      drop.pop_back();
    }
    const std::size_t too_wide = width_of(shown) - std::min(width_of(shown), style.columns);
    const std::size_t first = width(0) - std::min(width(0), too_wide);
    std::string text;
    for (const Row& row : rows_) {
      const std::string label = first_columns(row[0].text, first, "…");
      std::string line = "  " + label + std::string(first - display_width(label), ' ');
      for (const std::size_t column : shown) {
        if (column == 0) continue;
        const Cell& cell = row[column];
        line += "  " + std::string(width(column) - display_width(cell.text), ' ') +
                painted(cell.text, cell.color, style);
      }
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
  }

 private:
  std::size_t width(std::size_t column) const {
    std::size_t widest = 0;
    for (const Row& row : rows_) widest = std::max(widest, display_width(row[column].text));
    return widest;
  }
  std::size_t width_of(const std::vector<std::size_t>& columns) const {
    std::size_t all = 0;
    for (const std::size_t column : columns) all += 2 + width(column);
    return all;
  }

  std::vector<Row> rows_;
};

/// Of the case's first two variants, in the form of the guide: "NVLink", Y and N, and the time.
std::string two_rows(const CaseSummary& each, const ScreenStyle& style) {
  FittedTable table;
  table.add({{std::string(words_of(each.contrast).title)}, {case_label(each.definition())}});
  for (std::size_t i = 0; i < 2; ++i) {
    const VariantResult& variant = each.result->variants[i];
    const bool wrong = has_wrong_data(variant);
    table.add({{name_of_variant(each, i == 0)},
               {wrong             ? "WRONG DATA"
                : variant.time    ? readable_time(*variant.time)
                : variant.skipped ? "skipped"
                                  : "not measured",
                wrong ? Color::red : Color::none}});
  }
  return table.text({}, style);
}

std::string table_of(const std::vector<const CaseSummary*>& cases, const ScreenStyle& style) {
  const std::vector<VariantResult>& variants = cases.front()->result->variants;
  FittedTable table;
  table.add(
      {{"Operation"}, {variants[0].variant}, {variants[1].variant}, {"Speed-up"}, {"95 % CI"}});
  for (const CaseSummary* each : cases) {
    const Comparison& comparison = each->comparisons.front();
    const Color color = color_of(comparison.outcome);
    const bool shown = comparison.has_speed_up();
    table.add({{case_label(each->definition())},
               {value_of(each->definition(), *comparison.first)},
               {value_of(each->definition(), *comparison.other)},
               {speed_up_of(comparison), color},
               {shown ? interval_cell(readable_ratio(*comparison.ratio)) : ""}});
  }
  constexpr std::size_t kInterval = 4;
  constexpr std::size_t kOther = 2;
  constexpr std::size_t kFirst = 1;
  return table.text({kInterval, kOther, kFirst}, style);
}

/// "all_reduce p2p  16 B ▁▁▂▃▆▇██ 1 GiB  324.3 of 450 GB/s (72 %)": the first variant's bus
/// bandwidth by size, as a share of the limit where that is known. Empty below three sizes.
std::string plot_of(const Curve& curve, const ScreenStyle& style) {
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
  constexpr std::size_t kFewest = 3;
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
  Case definition = curve.definition();
  const std::string bars =
      fmt::format("{} {} {}", readable_bytes(sizes.front()), plot, readable_bytes(sizes.back()));
  const std::string head = fmt::format("{}, {}", curve_label(definition), largest.variant);
  for (const std::string& line : {fmt::format("  {}  {}  {}", head, bars, end),
                                  fmt::format("  {}  {}", bars, end), "  " + bars}) {
    if (display_width(line) <= style.columns) return line + "\n";
  }
  return {};
}

std::string path_of(const CaseSummary& each, const ScreenStyle& style) {
  std::vector<std::string> parts;
  for (const VariantSummary& variant : each.variants) {
    if (!variant.result->time) continue;
    parts.push_back(fmt::format(
        "{} with {}{}", readable_path(variant.result->path), variant.result->variant,
        variant.nvlink_share ? fmt::format(" (NVLink traffic: {} of the expected bytes)",
                                           rounded_percent(*variant.nvlink_share, 1))
                             : ""));
  }
  return in_lines(fmt::format("Path: {}.", fmt::join(parts, ", ")), style);
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
    if (alike) text += ", " + link;
  }
  if (machine.software.nccl_library) text += ", NCCL " + *machine.software.nccl_library;
  const std::string end = record.status == RunStatus::complete && record.wall_seconds
                              ? fmt::format("finished in {:.0f} s", *record.wall_seconds)
                              : fmt::format("not complete: {}", name_of(record.status));
  const std::size_t both = display_width(text) + 2 + display_width(end);
  if (both > style.columns) return cut(text, style) + "\n" + cut(end, style) + "\n";
  constexpr std::size_t kUsual = 80;
  return text + std::string(std::min(style.columns, std::max(kUsual, both)) - both + 2, ' ') + end +
         "\n";
}

std::string warning_lines(const Record& record, const ScreenStyle& style) {
  std::string text;
  const std::size_t shown = std::min(record.warnings.size(), kMostWarnings);
  const std::size_t more = record.warnings.size() - shown;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string count = i + 1 == shown && more > 0 ? fmt::format(" (and {} more)", more) : "";
    constexpr std::string_view kLead = "warning: ";
    const std::size_t room = style.columns - kLead.size() - count.size();
    text += painted("warning:", Color::yellow, style) + " " +
            first_columns(one_line(record.warnings[i].text), room, "…") + count + "\n";
  }
  return text;
}

/// "NVLink makes all-reduce of 1 GiB 12.6 times faster (324.3 against 25.7 GB/s; 95 % CI 12.4 to
/// 12.9)."
std::string speed_up_sentence(const CaseSummary& each, const Comparison& comparison) {
  const bool named = each.contrast == Contrast::variant;
  const std::string subject =
      named ? comparison.first->variant : std::string(words_of(each.contrast).title);
  const Case& definition = each.definition();
  const std::string what =
      is_training(definition.operation)
          ? std::string("the GPT-2 training")
          : fmt::format("{} of {}", spoken_operation(definition), readable_bytes(definition.size));
  const RatioText text = readable_ratio(*comparison.ratio);
  const std::string interval = text.low && text.high
                                   ? fmt::format("95 % CI {} to {}", *text.low, *text.high)
                                   : "one launch, no confidence interval";
  const std::string figures =
      fmt::format("({} against {}; {})", value_of(definition, *comparison.first),
                  value_of(definition, *comparison.other), interval);
  const std::string than = named ? " than " + comparison.other->variant : "";
  if (comparison.outcome == Outcome::no_difference) {
    return fmt::format("{} makes no significant difference to {}: {} {}.", subject, what,
                       text.estimate, figures);
  }
  const double ratio = comparison.ratio->estimate;
  constexpr double kTimes = 2.0;
  const std::string change =
      ratio >= kTimes
          ? fmt::format("{} times faster", text.estimate.substr(0, text.estimate.find('x')))
      : ratio >= 1.0 ? fmt::format("{} faster", readable_percent(ratio - 1.0, Whole::no))
                     : fmt::format("{} slower", readable_percent(1.0 / ratio - 1.0, Whole::no));
  return fmt::format("{} makes {} {}{} {}.", subject, what, change, than, figures);
}

std::string answer_of(const CaseSummary& each) {
  const Comparison& comparison = each.comparisons.front();
  switch (comparison.outcome) {
    case Outcome::wrong_data:
    case Outcome::not_measured:
      return fmt::format("No conclusion: {} has no right results of both {} and {}.",
                         case_label(each.definition()), comparison.first->variant,
                         comparison.other->variant);
    case Outcome::same_path:
      return fmt::format("{} and {} took the same path, {}: this run cannot compare paths.",
                         comparison.first->variant, comparison.other->variant,
                         readable_path(comparison.first->path));
    case Outcome::no_interval:
    case Outcome::no_difference:
    case Outcome::less_time:
    case Outcome::more_time:
      return speed_up_sentence(each, comparison);
  }
  return {};
}

std::string answer(const RunSummary& summary, const CaseSummary* shown) {
  const auto wrong = std::ranges::count_if(
      summary.cases, [](const CaseSummary& each) { return each.has_wrong_data; });
  if (wrong > 0) {
    return fmt::format("WRONG DATA in {} of {}: do not rely on this machine's results.", wrong,
                       counted(static_cast<std::int64_t>(summary.cases.size()), "case", "cases"));
  }
  if (shown != nullptr) return answer_of(*shown);
  return "No conclusion: nothing was measured with two variants.";
}

}  // namespace

std::string screen(const RunSummary& summary, const std::string& record, const ScreenStyle& style) {
  const std::vector<const CaseSummary*> rows = cases_of_rows(summary);
  std::string text = machine_line(summary, style);
  if (!rows.empty()) {
    text += "\n" + two_rows(*rows.front(), style);
    text += "\n" + table_of(rows, style);
    for (const Curve& curve : summary.curves_by_size) {
      if (curve.definition().operation != rows.front()->definition().operation) continue;
      text += plot_of(curve, style);
      break;
    }
    text += path_of(*rows.front(), style);
  }
  text += warning_lines(summary.record, style);
  text += fmt::format("Record: {}\n\n", record);
  text += in_lines(answer(summary, rows.empty() ? nullptr : rows.front()), style);
  return style.utf8 ? text : in_ascii(std::move(text));
}

}  // namespace linkgain
