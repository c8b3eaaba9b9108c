#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "linkgain/base/units.hpp"
#include "linkgain/hardware/topology.hpp"
#include "linkgain/report/report.hpp"
#include "run_rows.hpp"

namespace linkgain {
namespace {

/// A pair that is not the weakest of all is named where it is this far from its like.
constexpr double kWeakForItsKind = 0.1;

/// Says "GPU1" where ranks and GPUs have the same numbers; else "rank 1".
std::string end_label(const RunSummary& summary, int rank) {
  return fmt::format("{}{}", summary.ranks_are_gpus ? "GPU" : "rank ", rank);
}

std::string_view arrow_of(bool both) { return both ? "↔" : "→"; }

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
  if (entry.from == entry.to) return "–";
  if (entry.state != PairState::measured) return std::string(why_no_value(entry.state));
  return with_digits(matrix.value(entry).value() * unit.scale);
}

Table matrix_table(const RunSummary& summary, const PairMatrix& matrix) {
  std::vector<Table::Column> columns{{"from \\ to"}};
  for (int to = 0; to < matrix.ranks; ++to) columns.push_back({end_label(summary, to), kRight});
  leave_out_from_the_right(columns);
  const Unit unit = unit_of(matrix);
  Table table(columns, fmt::format("{} with {}", unit.name, matrix.variant));
  for (int from = 0; from < matrix.ranks; ++from) {
    Cells cells{end_label(summary, from)};
    for (int to = 0; to < matrix.ranks; ++to) {
      const PairEntry& entry = matrix.at(from, to);
      const std::string value = value_cell(matrix, entry, unit);
      const bool labelled = !value.empty() && !entry.label.empty();
      cells.push_back(labelled ? fmt::format("{} {}", value, entry.label) : value);
    }
    table.add_row(cells);
  }
  return table;
}

std::string readable_value(const PairMatrix& matrix, double value) {
  return matrix.by_bandwidth ? readable_bandwidth(value) : readable_time(Seconds{value});
}

/// Says ", 33 % below the median of the 3 other NV4 pairs"; empty where there is no other.
std::string beside_others(const RunSummary& summary, const PairMatrix& matrix,
                          const WeakestPair& pair) {
  const std::optional<double> shortfall = pair.shortfall(matrix.by_bandwidth);
  if (!shortfall) return pair.label.empty() ? "" : fmt::format(", the only {} pair", pair.label);
  const std::string_view side = matrix.by_bandwidth ? "below" : "above";
  const std::string distance =
      summary.differ({pair.value, *pair.median})
          ? fmt::format("{} {}", readable_percent(*shortfall), side)
          : fmt::format("within {} of", percent_of_digits(summary.distinct()));
  const std::string kind = pair.label.empty() ? "" : pair.label + " ";
  const std::string others =
      pair.others == 1
          ? fmt::format("the other {}pair, {}", kind, readable_value(matrix, *pair.median))
          : fmt::format("the median of the {} other {}pairs, {}", pair.others, kind,
                        readable_value(matrix, *pair.median));
  return fmt::format(", {} {}", distance, others);
}

std::string no_difference_line(const RunSummary& summary, const PairMatrixSummary& each) {
  const auto [least, most] = std::ranges::minmax(each.values);
  const std::string low = readable_value(each.matrix, least);
  const std::string high = readable_value(each.matrix, most);
  return fmt::format("No pair differs by more than {} with {}: {}{}",
                     percent_of_digits(summary.distinct()), each.matrix.variant, low,
                     low == high ? "" : " to " + high);
}

/// Says "Weakest with p2p: GPU1 → GPU0, 36.6 GB/s (NV18), 2.6 % below …".
std::string weak_pair_text(const RunSummary& summary, const PairMatrixSummary& each,
                           const WeakestPair& pair, std::string_view what, bool is_symmetric) {
  const std::string label = pair.label.empty() ? "" : fmt::format(" ({})", pair.label);
  return fmt::format("{} with {}: {} {} {}, {}{}{}", what, each.matrix.variant,
                     end_label(summary, pair.from), arrow_of(is_symmetric),
                     end_label(summary, pair.to), readable_value(each.matrix, pair.value), label,
                     beside_others(summary, each.matrix, pair));
}

bool is_weak_for_its_kind(const PairMatrix& matrix, const WeakestPair& pair) {
  return pair.shortfall(matrix.by_bandwidth).value_or(0.0) >= kWeakForItsKind;
}

/// Says which pair is the weakest, and which are weak beside their like; that no pair differs where
/// the values do not tell. Nothing where there are no two pairs.
void add_weakest(Document& document, const RunSummary& summary, const PairMatrixSummary& each,
                 bool is_symmetric) {
  if (!each.weakest.empty() && !summary.differ(each.values)) {
    document.item(no_difference_line(summary, each));
    return;
  }
  bool weakest_of_all = true;
  for (const WeakestPair& pair : each.weakest) {
    if (!weakest_of_all && !is_weak_for_its_kind(each.matrix, pair)) continue;
    document.item(weak_pair_text(summary, each, pair,
                                 weakest_of_all ? "Weakest" : "Weak for its kind", is_symmetric));
    weakest_of_all = false;
  }
}

/// Names the family without its ranks: "copy_push/256MiB/np2, every pair".
std::string name_of(const PairsSummary& shown) {
  Case definition = shown.cases.definition();
  definition.pair.reset();
  return fmt::format("{}, every pair{}", case_name(definition),
                     shown.is_symmetric ? " both ways at once" : "");
}

/// Says "0 → 1 NV18".
std::string pair_label(const Case& definition, const Machine& machine) {
  const Pair& pair = *definition.pair;
  const PairLink* const link = find_link(machine, pair.from, pair.to);
  return fmt::format("{} {} {}{}", pair.from, arrow_of(pair.both), pair.to,
                     link != nullptr ? " " + label_of(*link) : "");
}

void add_pairs(Document& document, const RunSummary& summary, const PairsSummary& shown) {
  document.heading(name_of(shown), 3);
  for (const PairMatrixSummary& each : shown.matrices) {
    document.table(matrix_table(summary, each.matrix));
    add_weakest(document, summary, each, shown.is_symmetric);
  }
  if (!shown.by_pair) return;
  const auto label = [&](const Case& of) { return pair_label(of, summary.record.machine); };
  document.add(case_table(summary, shown.cases,
                          {.title = {"Pair"}, .label = label, .place = "between these"}));
}

/// Shows of a condensed summary a matrix of the first variant for the first family of each
/// operation, and for every family the weakest pair and those that are weak for their kind.
Document condensed_pairs(const RunSummary& summary) {
  Document matrices;
  Document weakest;
  std::set<OperationKind> seen;
  for (const PairsSummary* shown : summary.pairs()) {
    const bool is_first = seen.insert(shown->cases.definition().operation).second;
    if (is_first && !shown->matrices.empty()) {
      matrices.heading(name_of(*shown), 3);
      matrices.table(matrix_table(summary, shown->matrices.front().matrix));
    }
    Document own;
    for (const PairMatrixSummary& each : shown->matrices) {
      add_weakest(own, summary, each, shown->is_symmetric);
    }
    if (own.empty()) continue;
    weakest.paragraph(name_of(*shown) + ":");
    weakest.add(own);
  }
  matrices.heading("Weakest pairs", 3);
  matrices.add(weakest);
  matrices.paragraph("Times, intervals and bandwidths of every pair: " +
                     code("linkgain report --format csv") + ".");
  return matrices;
}

/// Says what the labels mean that occur.
void add_legend(Document& document, const Record& record) {
  std::set<std::string> labels;
  for (const PairLink& link : record.machine.links) labels.insert(label_of(link));
  std::vector<std::string> items;
  for (const LinkLabel& each : kLinkLabels) {
    const auto is_such = [&](const std::string& label) { return is_called(each, label); };
    if (std::ranges::any_of(labels, is_such)) {
      items.push_back(fmt::format("{}: {}", each.label, each.meaning));
    }
  }
  if (labels.count("NV?") > 0) items.emplace_back("NV?: NVLinks, not counted");
  if (!items.empty()) document.paragraph("What joins two GPUs:");
  for (const std::string& item : items) document.item(item);
}

}  // namespace

Document pair_tables(const RunSummary& summary) {
  const std::vector<const PairsSummary*> pairs = summary.pairs();
  if (pairs.empty()) return {};
  Document document;
  if (summary.is_condensed) {
    document = condensed_pairs(summary);
  } else {
    for (const PairsSummary* shown : pairs) add_pairs(document, summary, *shown);
  }
  add_legend(document, summary.record);
  return document;
}

}  // namespace linkgain
