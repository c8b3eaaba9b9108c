#include "case_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "less_time_sentences.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

/// The cells of one table and what they were seen to need explained.
class CaseRows {
 public:
  CaseRows(const RunSummary& summary, const Curve& curve, const RowLabels& rows)
      : summary_(summary), curve_(curve), rows_(rows) {
    for (const CaseSummary* each : curve.cases) {
      for (const Comparison& comparison : each->comparisons) {
        if (comparison.has_speed_up()) launches_.add(comparison.ratio->replicates);
      }
    }
  }

  /// A row for each case, the variants side by side.
  Document by_case(const std::string& caption);
  /// A row for each case and variant.
  Document by_variant(const std::string& caption);

 private:
  std::vector<Table::Column> first_columns() const;
  Cells first_cells(std::size_t row) const;
  std::vector<Table::Column> ratio_columns() const;
  Cells time_cells(const Case& definition, const VariantSummary* variant);
  Cells ratio_cells(const Comparison& comparison);
  std::string convergence_mark(const CaseSummary& each);
  std::string launch_mark(const CaseSummary& each);
  std::vector<std::string> variant_marks(const VariantSummary& variant);
  std::string marks_of_all(const CaseSummary& each);
  void add_legend(Document& document, const std::string& nvlink, const std::string& paths) const;

  const RunSummary& summary_;
  const Curve& curve_;
  const RowLabels& rows_;
  LaunchRange launches_;  ///< of the ratios that are shown
  Footnotes footnotes_;
  LimitLegend limits_;
};

/// What the case is, and where that differs from row to row how it was launched.
std::vector<Table::Column> CaseRows::first_columns() const {
  std::vector<Table::Column> columns{rows_.title};
  if (rows_.launches) columns.push_back({"Launch"});
  return columns;
}

Cells CaseRows::first_cells(std::size_t row) const {
  Cells cells{rows_.labels[row]};
  if (rows_.launches) cells.emplace_back(name_of(curve_.cases[row]->definition().launch));
  return cells;
}

/// Time and bus bandwidth of a variant of the case, or what stands in their place. Bandwidths of
/// the smallest messages say nothing, the CSV has their digits.
Cells CaseRows::time_cells(const Case& definition, const VariantSummary* variant) {
  if (variant == nullptr) return {"", ""};
  const VariantResult& result = *variant->result;
  if (variant->wrong_data) {
    const std::string what = one_line(describe_wrong(definition, *result.verification));
    return {"WRONG DATA " + footnotes_.number(what), ""};
  }
  if (result.skipped) return {"skipped " + footnotes_.number(one_line(why_skipped(result))), ""};
  std::string bandwidth;
  if (result.busbw) {
    const std::string with_unit = readable_bandwidth(*result.busbw);
    const bool tiny = *result.busbw > 0.0 && *result.busbw < 0.00995;
    bandwidth =
        (tiny ? "<0.01" : with_unit.substr(0, with_unit.find(' '))) + limits_.share(*variant);
  }
  return {result.time ? readable_time(*result.time) : "", bandwidth};
}

/// Where launches differ from row to row, each says over how many its interval is.
std::vector<Table::Column> CaseRows::ratio_columns() const {
  std::vector<Table::Column> columns{{"Speed-up", kRight}, {"95 % CI", kRight, false, 3}};
  if (!launches_.is_one()) columns.push_back({"Launches", kRight});
  columns.push_back({"Less time", kRight, false, 1});
  return columns;
}

/// Speed-up, interval and less time, or what stands in their place.
Cells CaseRows::ratio_cells(const Comparison& comparison) {
  if (comparison.verdict == Verdict::same_path) {
    footnotes_.mark("same path",
                    "the variants' bytes took the same path, so their times do not show what one "
                    "path is worth against another");
    Cells cells(ratio_columns().size());
    cells[0] = "same path";
    cells[1] = readable_path(comparison.first->path);
    return cells;
  }
  if (!comparison.has_speed_up()) return Cells(ratio_columns().size());
  const RatioText text = readable_ratio(*comparison.ratio);
  Cells cells{text.estimate, interval_cell(text)};
  if (!launches_.is_one()) cells.push_back(fmt::format("{}", comparison.ratio->replicates));
  cells.push_back(readable_percent(less_time(comparison.ratio->value)));
  return cells;
}

/// Where some ratio that is shown is less certain than was asked for.
std::string CaseRows::convergence_mark(const CaseSummary& each) {
  const bool shown = std::any_of(each.comparisons.begin(), each.comparisons.end(),
                                 [](const Comparison& entry) { return entry.has_speed_up(); });
  if (each.result->converged || !shown) return {};
  const bool has_interval =
      std::any_of(each.comparisons.begin(), each.comparisons.end(), [](const Comparison& entry) {
        return entry.has_speed_up() && entry.ratio->interval.has_value();
      });
  if (!has_interval) return {};
  return footnotes_.mark("*", fmt::format("not converged: the interval is wider than {}",
                                          precision_text(summary_.record.settings)));
}

/// Where the link is not what was measured most.
std::string CaseRows::launch_mark(const CaseSummary& each) {
  if (!each.is_measured || !is_launch_bound(summary_.record.settings.backend, each.definition())) {
    return {};
  }
  return footnotes_.mark("l",
                         fmt::format("launch-bound: below {} by stream the CPU's launches decide "
                                     "the time more than the link does",
                                     readable_bytes(kLaunchBoundBelow)));
}

/// Of one variant: more than the limit, warm data, samples that were throttled or at the power
/// limit.
std::vector<std::string> CaseRows::variant_marks(const VariantSummary& variant) {
  constexpr double kClearlyMore = 1.005;  // which is shown as 101 %
  const VariantResult& result = *variant.result;
  std::vector<std::string> marks;
  if (variant.limit_share.value_or(0.0) >= kClearlyMore) {
    marks.push_back(footnotes_.mark(
        "m", "more than the limit, which was measured before: the path carried less then"));
  }
  if (result.time && !result.execution.cold_data) {
    marks.push_back(
        footnotes_.mark("w", "warm data: operations may find their buffers in the cache"));
  }
  if (result.time && result.execution.form == kGroupedForm) {
    marks.push_back(footnotes_.mark(
        "g", "grouped: sends and receives in one group, not one collective of the library"));
  }
  if (result.health.unhealthy_samples > 0) {
    marks.push_back(footnotes_.mark(
        "h",
        "throttled: heat, a power brake or a hardware slowdown cut a GPU's clocks in some "
        "samples, so the times may be too long"));
  }
  if (result.disturbed_samples > 0) {
    marks.push_back(footnotes_.mark(
        "d", "disturbed: others worked on a GPU, or on the ranks' processors, meanwhile"));
  }
  if (result.level_shift) {
    marks.push_back(footnotes_.mark(
        "c", "changed: within a launch the time changed level, by other work or clocks"));
  }
  if (result.health.power_capped_samples > 0) {
    marks.push_back(footnotes_.mark("p", "a GPU ran at its power limit in some samples"));
  }
  return marks;
}

/// Each mark once, and paths that are not those of most rows.
std::string CaseRows::marks_of_all(const CaseSummary& each) {
  std::vector<std::string> marks;
  const auto add = [&marks](const std::string& mark) {
    if (!mark.empty() && std::find(marks.begin(), marks.end(), mark) == marks.end()) {
      marks.push_back(mark);
    }
  };
  add(convergence_mark(each));
  add(launch_mark(each));
  for (const VariantSummary& variant : each.variants) {
    for (const std::string& mark : variant_marks(variant)) add(mark);
    const std::string& name = variant.result->variant;
    const Path path = variant.result->path;
    if (variant.result->time && path != curve_.usual_paths.at(name)) {
      add(footnotes_.number(
          fmt::format("path of {} {}: {}", name, rows_.place, readable_path(path))));
    }
  }
  return fmt::format("{}", fmt::join(marks, " "));
}

/// Says below a table what its columns mean.
void CaseRows::add_legend(Document& document, const std::string& nvlink,
                          const std::string& paths) const {
  for (const Text& item : rows_.items) document.item(item);
  const std::string limits = limits_.text();
  if (!paths.empty()) document.item("Path: " + paths);
  if (launches_.most > 1 && launches_.is_one() && !summary_.launches.is_one()) {
    document.item("Intervals: over " + launches_.text());
  }
  if (!limits.empty()) {
    document.item("busbw: in brackets its share of the path's limit: " + limits);
  }
  if (curve_.is_judged) {
    document.item(
        "NVLink %: bytes that NVLink carried, of those expected if it carries every message" +
        nvlink);
  }
  document.notes(footnotes_);
}

/// "100.4", what NVLink carried in percent of what was expected; empty where it is not judged.
std::string nvlink_cell(const VariantSummary* variant) {
  if (variant == nullptr || !variant->nvlink_share) return {};
  const std::string percent = rounded_percent(*variant->nvlink_share, 1);
  return percent.substr(0, percent.find(' '));
}

/// "100.4 / 0": every variant's, in the order of the columns; empty where none is judged.
std::string nvlink_cells(const CaseSummary& each, const std::vector<std::string>& variants) {
  std::vector<std::string> cells;
  bool judged = false;
  for (const std::string& variant : variants) {
    const std::string cell = nvlink_cell(each.find(variant));
    judged = judged || !cell.empty();
    cells.push_back(cell.empty() ? "?" : cell);
  }
  return judged ? fmt::format("{}", fmt::join(cells, " / ")) : std::string{};
}

/// "NVLink with p2p, host memory with host", "host memory with both"; empty where no path is known.
std::string usual_paths_text(const Curve& curve) {
  std::vector<std::string> parts;
  bool known = false;
  bool alike = curve.usual_paths.size() > 1;
  for (const std::string& variant : curve.variants) {
    const auto path = curve.usual_paths.find(variant);
    if (path == curve.usual_paths.end()) continue;
    known = known || path->second != Path::unknown;
    alike = alike && path->second == curve.usual_paths.begin()->second;
    parts.push_back(fmt::format("{} with {}", readable_path(path->second), variant));
  }
  if (!known) return {};
  return alike ? fmt::format("{} with both", readable_path(curve.usual_paths.begin()->second))
               : fmt::format("{}", fmt::join(parts, ", "));
}

Document CaseRows::by_case(const std::string& caption) {
  const std::vector<std::string>& variants = curve_.variants;
  std::vector<Table::Column> columns = first_columns();
  for (const std::string& variant : variants) {
    columns.push_back({variant, kRight});
    columns.push_back({"busbw GB/s", kRight, true});
  }
  if (variants.size() > 1) std::ranges::copy(ratio_columns(), std::back_inserter(columns));
  if (curve_.is_judged) columns.push_back({"NVLink %", kRight, false, 2});
  columns.push_back({"Marks"});
  leave_out_from_the_right(columns);
  Table table(columns, caption);
  for (std::size_t i = 0; i < curve_.cases.size(); ++i) {
    const CaseSummary& each = *curve_.cases[i];
    Cells cells = first_cells(i);
    for (const std::string& variant : variants) {
      append_cells(cells, time_cells(each.definition(), each.find(variant)));
    }
    if (variants.size() > 1) {
      append_cells(cells,
                   ratio_cells(each.comparisons.empty() ? Comparison{} : each.comparisons.front()));
    }
    if (curve_.is_judged) cells.push_back(nvlink_cells(each, variants));
    cells.push_back(marks_of_all(each));
    table.add_row(cells);
  }
  Document document;
  document.table(std::move(table));
  add_legend(document, fmt::format(": {}", fmt::join(variants, " / ")), usual_paths_text(curve_));
  return document;
}

Document CaseRows::by_variant(const std::string& caption) {
  std::vector<Table::Column> columns = first_columns();
  columns.insert(columns.end(),
                 {{"Variant"}, {"Time", kRight}, {"busbw GB/s", kRight, true}, {"Path"}});
  if (curve_.is_judged) columns.push_back({"NVLink %", kRight, false, 2});
  std::ranges::copy(ratio_columns(), std::back_inserter(columns));
  columns.push_back({"Marks"});
  leave_out_from_the_right(columns);
  Table table(columns, caption);
  for (std::size_t i = 0; i < curve_.cases.size(); ++i) {
    const CaseSummary& each = *curve_.cases[i];
    for (std::size_t j = 0; j < each.variants.size(); ++j) {
      const VariantSummary& variant = each.variants[j];
      Cells cells = j == 0 ? first_cells(i) : Cells(first_columns().size());
      cells.push_back(variant.result->variant);
      append_cells(cells, time_cells(each.definition(), &variant));
      cells.emplace_back(variant.result->time ? readable_path(variant.result->path) : "");
      if (curve_.is_judged) cells.push_back(nvlink_cell(&variant));
      append_cells(cells, ratio_cells(j == 0 ? Comparison{} : each.comparisons[j - 1]));
      std::vector<std::string> marks = variant_marks(variant);
      for (const std::string& mark : {launch_mark(each), convergence_mark(each)}) {
        if (j == 0 && !mark.empty()) marks.insert(marks.begin(), mark);
      }
      cells.push_back(fmt::format("{}", fmt::join(marks, " ")));
      table.add_row(cells);
    }
  }
  Document document;
  document.table(std::move(table));
  add_legend(document, "; empty where it is not judged", "");
  document.item(
      fmt::format("Speed-up and less time: {} against the row's variant", curve_.variants.front()));
  return document;
}

}  // namespace

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

Document case_table(const RunSummary& summary, const Curve& curve, const RowLabels& rows,
                    const std::string& caption) {
  CaseRows table(summary, curve, rows);
  return curve.variants.size() > 2 ? table.by_variant(caption) : table.by_case(caption);
}

std::string interval_cell(const RatioText& text) {
  return text.low ? text.interval() : "one launch";
}

}  // namespace linkgain
