#include "linkgain/report/pair_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/table.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "pair_groups.hpp"
#include "size_cells.hpp"

namespace linkgain {
namespace {

/// A pair that is not the weakest of all is named where it is this far from its like.
constexpr double kWeakForItsKind = 0.1;

/// In what a matrix shows its values; one unit for all of it.
struct Unit {
  std::string name;
  double scale = 1.0;
};

Unit unit_of(const PairMatrix& matrix) {
  if (matrix.by_bandwidth) return {"busbw in GB/s", 1.0};
  double least = 0.0;
  for (const PairEntry& entry : matrix.entries) {
    const double value = matrix.value(entry).value_or(0.0);
    if (value > 0.0) least = least > 0.0 ? std::min(least, value) : value;
  }
  if (least >= 1.0) return {"time in s", 1.0};
  return least >= 1e-3 ? Unit{"time in ms", 1e3} : Unit{"time in us", 1e6};
}

std::string with_digits(double value) {
  return fmt::format("{:.{}f}", value, value >= 99.95 ? 1 : value >= 0.995 ? 2 : 3);
}

std::string value_cell(const PairMatrix& matrix, const PairEntry& entry, const Unit& unit) {
  switch (entry.state) {
    case PairState::not_asked:
      return entry.from == entry.to ? "–" : "";
    case PairState::not_measured:
      return "not measured";
    case PairState::skipped:
      return "skipped";
    case PairState::wrong_data:
      return "WRONG DATA";
    case PairState::measured:
      return with_digits(matrix.value(entry).value() * unit.scale);
  }
  return {};
}

std::string matrix_text(const Record& record, const PairMatrix& matrix) {
  constexpr auto kRight = Table::Alignment::right;
  std::vector<Table::Column> columns{{"from \\ to"}};
  for (int to = 0; to < matrix.ranks; ++to) columns.push_back({end_label(record, to), kRight});
  Table table(columns);
  const Unit unit = unit_of(matrix);
  for (int from = 0; from < matrix.ranks; ++from) {
    std::vector<std::string> cells{end_label(record, from)};
    for (int to = 0; to < matrix.ranks; ++to) {
      const PairEntry& entry = matrix.at(from, to);
      const std::string value = value_cell(matrix, entry, unit);
      const bool labelled = !value.empty() && !entry.label.empty();
      cells.push_back(labelled ? fmt::format("{} {}", value, entry.label) : value);
    }
    table.add_row(cells);
  }
  return fmt::format("{} with {}:\n\n{}", unit.name, matrix.variant, table.markdown());
}

std::string readable_value(const PairMatrix& matrix, double value) {
  return matrix.by_bandwidth ? readable_bandwidth(value) : readable_time(Seconds{value});
}

/// ", 33 % below the median of the 3 other NV4 pairs"; empty where there is no other.
std::string beside_others(const PairMatrix& matrix, const WeakestPair& pair, double precision) {
  const std::optional<double> shortfall = pair.shortfall(matrix.by_bandwidth);
  if (!shortfall) return pair.label.empty() ? "" : fmt::format(", the only {} pair", pair.label);
  const std::string_view side = matrix.by_bandwidth ? "below" : "above";
  const std::string distance = differ({pair.value, *pair.median}, precision)
                                   ? fmt::format("{} {}", readable_percent(*shortfall), side)
                                   : fmt::format("within {} of", percent_of_digits(precision));
  const std::string kind = pair.label.empty() ? "" : pair.label + " ";
  const std::string others =
      pair.others == 1
          ? fmt::format("the other {}pair, {}", kind, readable_value(matrix, *pair.median))
          : fmt::format("the median of the {} other {}pairs, {}", pair.others, kind,
                        readable_value(matrix, *pair.median));
  return fmt::format(", {} {}", distance, others);
}

std::vector<double> measured_values(const PairMatrix& matrix) {
  std::vector<double> values;
  for (const PairEntry& entry : matrix.entries) {
    if (const std::optional<double> value = matrix.value(entry)) values.push_back(*value);
  }
  return values;
}

std::string no_difference_line(const PairMatrix& matrix, double precision) {
  const auto [least, most] = std::ranges::minmax(measured_values(matrix));
  const std::string low = readable_value(matrix, least);
  const std::string high = readable_value(matrix, most);
  return fmt::format("\n- No pair differs by more than {} with {}: {}{}\n",
                     percent_of_digits(precision), matrix.variant, low,
                     low == high ? "" : " to " + high);
}

/// Which pair is the weakest, and which are weak beside their like; that no pair differs where the
/// values do not tell. Empty where there are no two pairs.
std::string weakest_lines(const Record& record, const PairFamily& family,
                          const PairMatrix& matrix) {
  const std::vector<WeakestPair> weakest = weakest_pairs(matrix, family);
  const double precision = record.settings.precision;
  if (!weakest.empty() && !differ(measured_values(matrix), precision)) {
    return no_difference_line(matrix, precision);
  }
  std::string text;
  for (const WeakestPair& pair : weakest) {
    const bool weakest_of_all = text.empty();
    if (!weakest_of_all && pair.shortfall(matrix.by_bandwidth).value_or(0.0) < kWeakForItsKind) {
      continue;
    }
    const std::string ends = ends_label(record, {pair.from, pair.to, family.symmetric()});
    const std::string label = pair.label.empty() ? "" : fmt::format(" ({})", pair.label);
    text +=
        fmt::format("- {} with {}: {}, {}{}{}\n", weakest_of_all ? "Weakest" : "Weak for its kind",
                    matrix.variant, ends, readable_value(matrix, pair.value), label,
                    beside_others(matrix, pair, precision));
  }
  return text.empty() ? text : "\n" + text;
}

TableRows rows_of(const Record& record, const PairFamily& family) {
  TableRows rows;
  rows.title = {"Pair"};
  rows.place = "between these";
  for (const CaseResult* result : family.cases) {
    const Pair& pair = *result->definition.pair;
    const PairLink* link = find_link(record.machine, pair.from, pair.to);
    rows.labels.push_back(fmt::format("{} {} {}{}{}", pair.from, arrow_of(pair), pair.to,
                                      link != nullptr ? " " : "",
                                      link != nullptr ? label_of(*link) : ""));
  }
  rows.cases = family.cases;
  return rows;
}

std::string family_text(const Record& record, const ShownFamily& shown) {
  Case definition = shown.family.definition();
  definition.pair.reset();
  std::string text = fmt::format("### {}, every pair{}\n", case_name(definition),
                                 shown.family.symmetric() ? " both ways at once" : "");
  for (const PairMatrix& matrix : pair_matrices(record, shown.family)) {
    text += fmt::format("\n{}{}", matrix_text(record, matrix),
                        weakest_lines(record, shown.family, matrix));
  }
  if (shown.by_pair) text += "\n" + rows_table(record, rows_of(record, shown.family));
  return text;
}

/// What the labels mean that occur; empty where none does.
std::string legend_of(const Record& record) {
  std::set<std::string> labels;
  for (const PairLink& link : record.machine.links) labels.insert(label_of(link));
  std::string text;
  for (const LinkLabel& each : kLinkLabels) {
    const auto is_such = [&](const std::string& label) { return is_called(each, label); };
    if (std::any_of(labels.begin(), labels.end(), is_such)) {
      text += fmt::format("- {}: {}\n", each.label, each.meaning);
    }
  }
  if (labels.count("NV?") > 0) text += "- NV?: NVLinks, not counted\n";
  return text;
}

}  // namespace

std::string pair_tables(const Record& record) {
  std::string text;
  for (const ShownFamily& shown : shown_families(record)) {
    text += (text.empty() ? "" : "\n") + family_text(record, shown);
  }
  const std::string legend = text.empty() ? "" : legend_of(record);
  return legend.empty() ? text : fmt::format("{}\nWhat joins two GPUs:\n\n{}", text, legend);
}

}  // namespace linkgain
