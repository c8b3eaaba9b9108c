#include "linkgain/summary/inference_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

/// How a sum between a product and a norm was made.
struct Way {
  bool kernel = false;
  Buffers buffers = Buffers::plain;
  bool back_to_back = false;
  std::size_t variant = 0;
  auto operator<=>(const Way&) const = default;
};

constexpr Way kNccl{};

/// Sums of one size: of so many tokens' rows.
struct SumRow {
  int hidden = 0;
  std::int64_t tokens = 0;
  std::map<Way, Seconds> times;

  std::optional<Seconds> time(const Way& way) const {
    const auto found = times.find(way);
    return found == times.end() ? std::nullopt : std::optional(found->second);
  }
};

using Rows = std::map<Bytes, SumRow>;

/// Returns what may be shown of a variant: a time, and not of wrong data.
std::optional<Seconds> shown_time(const VariantSummary& variant) {
  return variant.wrong_data ? std::nullopt : variant.result->time;
}

Rows rows_of(const RunSummary& summary) {
  Rows rows;
  const auto add = [&](const CaseSummary& each, bool in_decoder) {
    const Case& c = each.definition();
    if (c.operation != OperationKind::all_reduce || (c.hidden != 0) != in_decoder) return;
    if (c.type != DataType::bfloat16 || c.launch != LaunchMode::graph) return;
    if (!in_decoder && !rows.contains(c.size)) return;
    SumRow& row = rows[c.size];
    if (in_decoder) row.hidden = c.hidden;
    if (in_decoder) row.tokens = c.tokens();
    for (std::size_t i = 0; i < each.variants.size(); ++i) {
      const std::optional<Seconds> time = shown_time(each.variants[i]);
      if (time) row.times[{c.kernel, c.buffers, !in_decoder, i}] = *time;
    }
  };
  for (const bool in_decoder : {true, false}) {
    for (const CaseSummary& each : summary.cases) add(each, in_decoder);
  }
  return rows;
}

std::string microseconds(std::optional<Seconds> time, double times = 1.0) {
  return time ? fmt::format("{:.2f}", 1e6 * times * time->value) : "";
}

struct WayColumn {
  std::string title;
  Way way;
};

/// Returns NCCL's for each variant, then what else the first has.
std::vector<WayColumn> columns_of(const std::vector<std::string>& variants) {
  std::vector<WayColumn> columns;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    columns.push_back({"NCCL, " + variants[i], {.variant = i}});
  }
  columns.push_back({"symmetric", {.buffers = Buffers::symmetric}});
  columns.push_back({"kernel", {.kernel = true}});
  columns.push_back({"NCCL back to back", {.back_to_back = true}});
  columns.push_back({"kernel back to back", {.kernel = true, .back_to_back = true}});
  return columns;
}

constexpr bool kNeedsValues = true;

Table times_table(const Rows& rows, const std::vector<std::string>& variants) {
  const std::vector<WayColumn> ways = columns_of(variants);
  std::vector<Table::Column> titles{{"Hidden", kRight}, {"Tokens", kRight}, {"Size", kRight}};
  for (const WayColumn& each : ways) titles.push_back({each.title, kRight, kNeedsValues});
  leave_out_from_the_right(titles);
  Table table(titles, "One sum, in us");
  for (const auto& [size, row] : rows) {
    Cells cells{std::to_string(row.hidden), std::to_string(row.tokens), readable_bytes(size)};
    for (const WayColumn& each : ways) cells.push_back(microseconds(row.time(each.way)));
    table.add_row(cells);
  }
  return table;
}

constexpr int kLayers[] = {32, 80};

Table tokens_table(const Rows& rows, const std::vector<std::string>& variants) {
  std::vector<Table::Column> titles{{"Hidden", kRight}, {"Tokens", kRight}, {"Size", kRight}};
  std::vector<std::pair<int, Way>> columns;
  for (const int layers : kLayers) {
    for (std::size_t i = 0; i < variants.size(); ++i) {
      titles.push_back({fmt::format("{} layers, {}", layers, variants[i]), kRight, kNeedsValues});
      columns.push_back({layers, {.variant = i}});
    }
    titles.push_back({fmt::format("{} layers, kernel", layers), kRight, kNeedsValues});
    columns.push_back({layers, {.kernel = true}});
  }
  leave_out_from_the_right(titles);
  Table table(titles, "All sums of a step, two a layer, in us for each of its tokens");
  for (const auto& [size, row] : rows) {
    Cells cells{std::to_string(row.hidden), std::to_string(row.tokens), readable_bytes(size)};
    for (const auto& [layers, way] : columns) {
      cells.push_back(microseconds(row.time(way), 2.0 * layers / static_cast<double>(row.tokens)));
    }
    table.add_row(cells);
  }
  return table;
}

/// Says between which sizes one way turns from slower to faster than another: "linkgain's kernel is
/// faster than NCCL up to 1 MiB, NCCL is from 2 MiB on."; empty where not both were measured.
std::string crossing(const Rows& rows, const Way& one, const std::string& name, const Way& other,
                     const std::string& other_name) {
  struct Point {
    Bytes size;
    bool faster;
  };
  std::vector<Point> points;
  for (const auto& [size, row] : rows) {
    const std::optional<Seconds> a = row.time(one);
    const std::optional<Seconds> b = row.time(other);
    if (a && b) points.push_back({size, *a < *b});
  }
  if (points.empty()) return {};
  const auto who = [&](bool faster) {
    return faster ? fmt::format("{} is faster than {}", name, other_name)
                  : fmt::format("{} is faster than {}", other_name, name);
  };
  std::vector<std::string> parts;
  for (std::size_t first = 0; first < points.size();) {
    std::size_t last = first;
    while (last + 1 < points.size() && points[last + 1].faster == points[first].faster) ++last;
    const std::string from = readable_bytes(points[first].size);
    const std::string to = readable_bytes(points[last].size);
    parts.push_back(
        fmt::format("{} {}", who(points[first].faster),
                    first == last ? "at " + from : fmt::format("from {} to {}", from, to)));
    first = last + 1;
  }
  return fmt::format("{}.", fmt::join(parts, ", "));
}

}  // namespace

Document inference_section(const RunSummary& summary) {
  const Rows rows = rows_of(summary);
  if (rows.empty()) return {};
  std::vector<std::string> variants;
  for (const Variant& each : summary.record.settings.variants) {
    if (!each.is_control) variants.push_back(each.name);
  }
  Document document;
  document.heading("Sums of a language model");
  document.paragraph(
      "What an all-reduce in bfloat16 adds between a matrix product and a norm. A step of a model "
      "that is split over these GPUs has two a layer, for a token of each sequence or a prompt.");
  document.table(times_table(rows, variants));
  document.table(tokens_table(rows, variants));
  const std::string first = "NCCL with " + variants.front();
  std::set<std::string> sentences;
  for (const std::string& sentence :
       {variants.size() > 1 ? crossing(rows, kNccl, first, {.variant = 1}, "with " + variants[1])
                            : std::string(),
        crossing(rows, {.kernel = true}, "linkgain's kernel", kNccl, first)}) {
    if (!sentence.empty() && sentences.insert(sentence).second) document.item(sentence);
  }
  return document;
}

}  // namespace linkgain
