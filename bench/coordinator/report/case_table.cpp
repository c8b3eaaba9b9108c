#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linkgain/base/units.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/summary/judgement_text.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "run_rows.hpp"
#include "sentences.hpp"

namespace linkgain {
namespace {

/// What else than the path may explain a variant's time.
struct MarkRule {
  const char* symbol;
  const char* meaning;
  bool (*holds)(const VariantSummary& variant, const VariantResult& result);
};
constexpr double kClearlyMore = 1.005;  ///< than the limit, which is shown as 101 %
constexpr MarkRule kMarks[] = {
    {"m", "more than the limit, which was measured before: the path carried less then",
     [](const auto& variant, const auto&) {
       return variant.limit_share.value_or(0.0) >= kClearlyMore;
     }},
    {"w", "warm data: operations may find their buffers in the cache",
     [](const auto&, const auto& result) { return result.time && !result.execution.cold_data; }},
    {"g", "grouped: sends and receives in one group, not one collective of the library",
     [](const auto&, const auto& result) {
       return result.time && result.execution.form == kGroupedForm;
     }},
    {"h",
     "throttled: heat, a power brake or a hardware slowdown cut a GPU's clocks in some samples, so "
     "the times may be too long",
     [](const auto&, const auto& result) { return result.health.unhealthy_samples > 0; }},
    {"d", "disturbed: others worked on a GPU, or on the ranks' processors, meanwhile",
     [](const auto&, const auto& result) { return result.disturbed_samples > 0; }},
    {"c", "changed: within a launch the time changed level, by other work or clocks",
     [](const auto&, const auto& result) { return result.level_shift.has_value(); }},
    {"p", "a GPU ran at its power limit in some samples",
     [](const auto&, const auto& result) { return result.health.power_capped_samples > 0; }},
};

/// Collects what the cells of one table need explained.
class CaseTable {
 public:
  CaseTable(const RunSummary& summary, const Curve& curve, const RowLabels& rows)
      : summary_(summary), curve_(curve), rows_(rows), several_(curve.variants.size() > 2) {
    for (const CaseSummary* each : curve.cases) {
      for (const Comparison& comparison : each->comparisons) {
        if (comparison.has_speed_up()) launches_.add(comparison.ratio->replicates);
      }
    }
  }

  Document document(const std::string& caption);

 private:
  RunColumns columns();
  RunColumns time_columns(const std::string& title);
  void add_ratio_columns(RunColumns& columns);
  Text time_cell(const RunRow& row);
  std::string bandwidth_cell(const RunRow& row);
  std::string speed_up_cell(const Comparison& comparison);
  std::string nvlink_cell(const RunRow& row) const;
  std::string convergence_mark(const Comparison& comparison);
  std::string launch_mark(const CaseSummary& each);
  std::string marks_cell(const RunRow& row);
  void add_legend(Document& document) const;

  const RunSummary& summary_;
  const Curve& curve_;
  const RowLabels& rows_;
  const bool several_;    ///< variants, each of which has its rows
  LaunchRange launches_;  ///< of the ratios that are shown
  Footnotes footnotes_;
  LimitLegend limits_;
};

/// Shows a time, or what stands in its place and why.
Text CaseTable::time_cell(const RunRow& row) {
  const VariantResult& result = row.result();
  if (row.summary().wrong_data) {
    const std::string what = describe_wrong(row.definition(), *result.verification);
    return "WRONG DATA " + footnotes_.number(one_line(what));
  }
  if (result.skipped) return "skipped " + footnotes_.number(one_line(why_skipped(result)));
  return result.time ? readable_time(*result.time) : "";
}

/// Shows no digits of the smallest messages' bandwidths, which say nothing; the CSV has them.
std::string CaseTable::bandwidth_cell(const RunRow& row) {
  const VariantResult& result = row.result();
  if (!result.busbw || row.summary().wrong_data || result.skipped) return {};
  const std::string with_unit = readable_bandwidth(*result.busbw);
  const bool tiny = *result.busbw > 0.0 && *result.busbw < 0.00995;
  return (tiny ? "<0.01" : with_unit.substr(0, with_unit.find(' '))) + limits_.share(row.summary());
}

RunColumns CaseTable::time_columns(const std::string& title) {
  return {
      {{title, kRight}, [this](const RunRow& row) { return time_cell(row); }},
      {{"busbw GB/s", kRight, true}, [this](const RunRow& row) { return bandwidth_cell(row); }}};
}

std::string CaseTable::speed_up_cell(const Comparison& comparison) {
  if (comparison.verdict == Verdict::same_path) {
    return footnotes_.mark("same path",
                           "the variants' bytes took the same path, so their times do not show "
                           "what one path is worth against another");
  }
  return comparison.has_speed_up() ? readable_ratio(*comparison.ratio).estimate : "";
}

/// Adds speed-up, interval and less time, or what stands in their place. Where launches differ from
/// row to row, each says over how many its interval is.
void CaseTable::add_ratio_columns(RunColumns& columns) {
  const auto add = [&](Table::Column column, std::function<std::string(const Comparison&)> cell) {
    const bool is_first_beside_other = !several_;
    columns.push_back({std::move(column), [=](RunRow row) {
                         if (is_first_beside_other) row.variant = 1;
                         return cell(row.comparison());
                       }});
  };
  const auto with_ratio = [](auto text) {
    return [=](const Comparison& comparison) {
      return comparison.has_speed_up() ? text(*comparison.ratio) : std::string();
    };
  };
  add({"Speed-up", kRight}, [this](const Comparison& each) { return speed_up_cell(each); });
  add({"95 % CI", kRight, false, 3}, [=](const Comparison& each) {
    return each.verdict == Verdict::same_path ? std::string(readable_path(each.first->path))
                                              : with_ratio(interval_cell)(each);
  });
  if (!launches_.is_one()) {
    add({"Launches", kRight},
        with_ratio([](const Estimate& ratio) { return std::to_string(ratio.replicates); }));
  }
  add({"Less time", kRight, false, 1},
      with_ratio([](const Estimate& ratio) { return readable_percent(less_time(ratio.value)); }));
}

/// Marks a ratio that is less certain than was asked for.
std::string CaseTable::convergence_mark(const Comparison& comparison) {
  if (comparison.is_precise || !comparison.has_interval() || !comparison.has_speed_up()) return {};
  return footnotes_.mark("*", fmt::format("not converged: the interval is wider than {}",
                                          precision_text(summary_.record.settings)));
}

/// Marks where the link is not what was measured most.
std::string CaseTable::launch_mark(const CaseSummary& each) {
  if (!each.is_measured || !is_launch_bound(summary_.record.settings.backend, each.definition())) {
    return {};
  }
  return footnotes_.mark("l",
                         fmt::format("launch-bound: below {} by stream the CPU's launches decide "
                                     "the time more than the link does",
                                     readable_bytes(kLaunchBoundBelow)));
}

/// Shows each mark once, and paths that are not those of most rows.
std::string CaseTable::marks_cell(const RunRow& row) {
  std::vector<std::string> marks;
  const auto add = [&marks](const std::string& mark) {
    if (!mark.empty() && std::ranges::count(marks, mark) == 0) marks.push_back(mark);
  };
  add(convergence_mark(RunRow{row.of, several_ ? row.variant : 1}.comparison()));
  if (row.variant == 0) add(launch_mark(*row.of));
  for (const VariantSummary& variant : row.of->variants) {
    if (several_ && &variant != &row.summary()) continue;
    const VariantResult& result = *variant.result;
    for (const auto& [symbol, meaning, holds] : kMarks) {
      if (holds(variant, result)) add(footnotes_.mark(symbol, meaning));
    }
    if (several_ || !result.time || result.path == curve_.usual_paths.at(result.variant)) continue;
    add(footnotes_.number(
        fmt::format("path of {} {}: {}", result.variant, rows_.place, readable_path(result.path))));
  }
  return fmt::format("{}", fmt::join(marks, " "));
}

/// Says "100.4", what NVLink carried in percent of what was expected; empty where it is not judged.
std::string nvlink_percent(const VariantSummary& variant) {
  if (!variant.nvlink_share) return {};
  const std::string percent = rounded_percent(*variant.nvlink_share, 1);
  return percent.substr(0, percent.find(' '));
}

/// Shows "100.4 / 0" of variants side by side; nothing where none is judged.
std::string CaseTable::nvlink_cell(const RunRow& row) const {
  if (several_) return nvlink_percent(row.summary());
  std::vector<std::string> cells;
  bool judged = false;
  for (const VariantSummary& variant : row.of->variants) {
    const std::string cell = nvlink_percent(variant);
    judged = judged || !cell.empty();
    cells.push_back(cell.empty() ? "?" : cell);
  }
  return judged ? fmt::format("{}", fmt::join(cells, " / ")) : std::string{};
}

RunColumns CaseTable::columns() {
  RunColumns columns{label_column(rows_.title)};
  if (rows_.launches) {
    columns.push_back({{"Launch"}, [](const RunRow& row) {
                         return row.variant == 0 ? name_of(row.definition().launch) : "";
                       }});
  }
  const RunColumn nvlink{{"NVLink %", kRight, false, 2},
                         [this](const RunRow& row) { return nvlink_cell(row); }};
  if (several_) {
    columns.push_back({{"Variant"}, [](const RunRow& row) { return row.result().variant; }});
    std::ranges::copy(time_columns("Time"), std::back_inserter(columns));
    columns.push_back({{"Path"}, [](const RunRow& row) {
                         return row.result().time ? readable_path(row.result().path) : "";
                       }});
    if (curve_.is_judged) columns.push_back(nvlink);
  }
  for (std::size_t i = 0; !several_ && i < curve_.variants.size(); ++i) {
    add_of_variant(columns, i, time_columns(curve_.variants[i]));
  }
  if (curve_.variants.size() > 1) add_ratio_columns(columns);
  if (!several_ && curve_.is_judged) columns.push_back(nvlink);
  columns.push_back({{"Marks"}, [this](const RunRow& row) { return marks_cell(row); }});
  return columns;
}

/// Says "NVLink with p2p, host memory with host", "host memory with both"; empty where no path is
/// known.
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

/// Says below a table what its columns mean.
void CaseTable::add_legend(Document& document) const {
  for (const Text& item : rows_.items) document.item(item);
  const std::string limits = limits_.text();
  const std::string paths = several_ ? "" : usual_paths_text(curve_);
  if (!paths.empty()) document.item("Path: " + paths);
  if (launches_.most > 1 && launches_.is_one() && !summary_.launches.is_one()) {
    document.item("Intervals: over " + launches_.text());
  }
  if (!limits.empty()) {
    document.item("busbw: in brackets its share of the path's limit: " + limits);
  }
  if (curve_.is_judged) {
    document.item(fmt::format(
        "NVLink %: bytes that NVLink carried, of those expected if it carries every message{}",
        several_ ? "; empty where it is not judged"
                 : fmt::format(": {}", fmt::join(curve_.variants, " / "))));
  }
  document.notes(footnotes_);
  if (!several_) return;
  document.item(
      fmt::format("Speed-up and less time: {} against the row's variant", curve_.variants.front()));
}

Document CaseTable::document(const std::string& caption) {
  std::vector<RunRow> rows;
  for (const CaseSummary* each : curve_.cases) {
    const std::string label = rows_.label(each->definition());
    for (std::size_t i = 0; i < (several_ ? each->variants.size() : 1); ++i) {
      rows.push_back({each, i, i == 0 ? label : ""});
    }
  }
  Document document;
  document.table(table_of(columns(), rows, Narrow::from_the_right, caption));
  add_legend(document);
  return document;
}

}  // namespace

Document case_table(const RunSummary& summary, const Curve& curve, const RowLabels& rows,
                    const std::string& caption) {
  return CaseTable(summary, curve, rows).document(caption);
}

}  // namespace linkgain
