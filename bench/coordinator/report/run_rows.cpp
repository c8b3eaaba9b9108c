#include "run_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "linkgain/cases/case_label.hpp"
#include "sentences.hpp"

namespace linkgain {

const Comparison& RunRow::comparison() const {
  static const Comparison kNone;
  return variant == 0 || variant > of->comparisons.size() ? kNone : of->comparisons[variant - 1];
}

Table table_of(const RunColumns& columns, const std::vector<RunRow>& rows, Narrow narrow,
               std::string caption) {
  std::vector<Table::Column> titles;
  for (const RunColumn& each : columns) titles.push_back(each.column);
  if (narrow == Narrow::from_the_right) leave_out_from_the_right(titles);
  Table table(std::move(titles), std::move(caption));
  for (const RunRow& row : rows) {
    Cells cells;
    for (const RunColumn& each : columns) cells.push_back(each.cell(row));
    table.add_row(std::move(cells));
  }
  return table;
}

RunColumn label_column(Table::Column column) {
  return {std::move(column), [](const RunRow& row) { return row.label; }};
}

void add_of_variant(RunColumns& columns, std::size_t variant, const RunColumns& own) {
  for (const RunColumn& each : own) {
    columns.push_back({each.column, [variant, cell = each.cell](RunRow row) {
                         row.variant = variant;
                         return variant < row.of->variants.size() ? cell(row) : Text();
                       }});
  }
}

Text wrong_data_mark() { return Text::Run{"WRONG DATA", Text::Form::strong, Tone::bad}; }

Text value_cell(const VariantSummary& variant, const std::string& measured) {
  if (variant.wrong_data) return wrong_data_mark();
  if (variant.result->time) return measured;
  if (variant.ended.all > 0) return variant.ended.failed > 0 ? "failed" : "none";
  return variant.result->skipped ? "skipped" : "not measured";
}

RunColumn value_column(std::string title) {
  return {{std::move(title), kRight}, [](const RunRow& row) {
            const std::optional<Seconds>& time = row.result().time;
            return value_cell(row.summary(), time ? readable_result(row.definition(), *time) : "");
          }};
}

namespace {

Tone tone_of_speed_up(Verdict verdict, SpeedUpOf of) {
  if (verdict == Verdict::wrong_data) return Tone::bad;
  const Verdict gain = of == SpeedUpOf::first ? Verdict::faster : Verdict::slower;
  if (verdict == gain) return Tone::good;
  const bool shows_nothing = verdict == Verdict::same_path || verdict == Verdict::inconclusive;
  return shows_nothing ? Tone::doubtful : Tone::plain;
}

/// Gives the ratio of a comparison that has one.
Estimate ratio_of(const Comparison& comparison, SpeedUpOf of) {
  return of == SpeedUpOf::first ? *comparison.ratio : inverse_of(*comparison.ratio);
}

std::string speed_up_of(const Comparison& comparison, SpeedUpOf of) {
  if (comparison.has_speed_up()) return readable_ratio(ratio_of(comparison, of)).estimate;
  if (comparison.verdict == Verdict::wrong_data) return "wrong data";
  return comparison.verdict == Verdict::same_path ? "same path" : "none";
}

}  // namespace

RunColumn speed_up_column(std::string title, int leave_out, SpeedUpOf of) {
  return {{std::move(title), kRight, false, leave_out}, [of](const RunRow& row) {
            if (row.variant == 0) return Text();
            const Comparison& comparison = row.comparison();
            return toned(speed_up_of(comparison, of), tone_of_speed_up(comparison.verdict, of));
          }};
}

RunColumn interval_column(int leave_out, SpeedUpOf of) {
  return {{"95 % CI", kRight, false, leave_out}, [of](const RunRow& row) {
            const Comparison& comparison = row.comparison();
            return comparison.has_speed_up() ? interval_cell(ratio_of(comparison, of)) : "";
          }};
}

Table variants_table(const CaseSummary& each, const std::vector<std::size_t>& variants,
                     RunColumns columns) {
  columns.insert(columns.begin(), label_column({.title = std::string(words_of(each.contrast).title),
                                                .too_long = Table::TooLong::cut}));
  std::vector<RunRow> rows;
  for (const std::size_t i : variants) rows.push_back({&each, i, row_name(each, i)});
  return table_of(columns, rows, Narrow::as_declared);
}

Table variants_table(const CaseSummary& each, RunColumns columns) {
  std::vector<std::size_t> all(each.variants.size());
  std::iota(all.begin(), all.end(), 0);
  return variants_table(each, all, std::move(columns));
}

std::string interval_cell(const Estimate& ratio) {
  return ratio.interval ? readable_ratio(ratio).interval() : "one launch";
}

std::string LimitLegend::share(const VariantSummary& variant) {
  const double fraction = variant.limit_share.value_or(0.0);
  if (!variant.result->busbw || fraction <= 0.0) {
    return {};
  }
  const double limit = *variant.result->busbw / fraction;
  const LimitKind kind = variant.result->limit;
  const auto known = std::ranges::find(limits_, kind, &Range::kind);
  if (known == limits_.end()) {
    limits_.push_back({kind, limit, limit});
  } else {
    known->least_gb_per_s = std::min(known->least_gb_per_s, limit);
    known->most_gb_per_s = std::max(known->most_gb_per_s, limit);
  }
  return fmt::format(" ({})", rounded_percent(fraction, 0));
}

std::string LimitLegend::text() const {
  const auto digits = [](double gb_per_s) {
    return fmt::format("{:.{}f}", gb_per_s, gb_per_s >= 99.95 ? 0 : 1);
  };
  std::vector<std::string> words;
  for (const Range& range : limits_) {
    const std::string least = digits(range.least_gb_per_s);
    const std::string most = digits(range.most_gb_per_s);
    words.push_back(least == most
                        ? fmt::format("{} {} GB/s", name_of(range.kind), least)
                        : fmt::format("{} {} to {} GB/s", name_of(range.kind), least, most));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace linkgain
