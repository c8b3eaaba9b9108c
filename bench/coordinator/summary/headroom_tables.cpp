#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/cases/case_label.hpp"
#include "linkgain/summary/headroom_steps.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

constexpr std::array kFactors{HeadroomStation::setting, HeadroomStation::symmetric,
                              HeadroomStation::kernel, HeadroomStation::floor};

std::string time_cell(const HeadroomStep* step) { return step ? readable_time(step->time) : ""; }

std::string blocks_cell(const HeadroomStep* step) {
  return step && step->blocks ? fmt::to_string(*step->blocks) : "";
}

Table table_of(const HeadroomCurve& curve) {
  using enum HeadroomStation;
  constexpr bool kNeedsValues = true;
  std::vector<Table::Column> columns{{"Size", kRight}, {"NCCL", kRight}};
  for (const char* factor : {"Setting", "Symmetric", "Kernel", "Floor", "Whole"}) {
    columns.push_back({factor, kRight, kNeedsValues});
    columns.push_back({"95 % CI", kRight, kNeedsValues, 2});
  }
  for (const char* title : {"Kernel time", "Floor time", "NCCL blocks", "Kernel blocks"}) {
    columns.push_back({title, kRight, kNeedsValues, 1});
  }
  Table table(columns);
  for (const HeadroomRow& row : curve.rows) {
    Cells cells{readable_bytes(parse_case_name(row.name).size), time_cell(&row.steps.front())};
    for (const HeadroomStation each : kFactors) {
      const HeadroomStep* step = find_step(row, each);
      const RatioText ratio = step ? readable_ratio(*step->factor) : RatioText{};
      const std::string variant =
          step && !step->variant.empty() ? fmt::format(" ({})", step->variant) : "";
      append_cells(cells, {ratio.estimate + variant, ratio.interval()});
    }
    const RatioText whole = readable_ratio(*row.steps.back().whole);
    append_cells(cells, {whole.estimate, whole.interval()});
    append_cells(cells, {time_cell(find_step(row, kernel)), time_cell(find_step(row, floor)),
                         blocks_cell(&row.steps.front()), blocks_cell(find_step(row, kernel))});
    table.add_row(std::move(cells));
  }
  return table;
}

/// Says what the floor is, or what the run lacks for one.
Text floor_line(const HeadroomCurve& curve) {
  if (curve.latency && curve.stores) {
    return fmt::format("Floor: the time of {}, and all further bytes at {}, the rate of {}.",
                       case_label(*curve.latency), readable_bandwidth(curve.stores_gb_per_s),
                       case_label(*curve.stores));
  }
  const int token = curve.definition.hidden * static_cast<int>(size_of(curve.definition.type));
  std::vector<std::string> missing;
  if (!curve.latency) {
    missing.push_back(fmt::format("a sum of {} by kernel (`--kernels --sizes {},...`)",
                                  token > 0 ? "one token" : "16 bytes", token > 0 ? token : 16));
  }
  if (!curve.stores) {
    missing.emplace_back(
        "stores both ways by kernel (`--only all_reduce,copy_push --kernels`, to 256 MiB or more)");
  }
  return with_code(fmt::format("No floor: add {} to the run.", fmt::join(missing, " and ")));
}

}  // namespace

Document headroom_section(const RunSummary& summary) {
  const std::vector<HeadroomCurve> curves = headroom_curves(summary);
  if (curves.empty()) return {};
  Document document;
  document.heading("Headroom, step by step");
  document.paragraph(fmt::format(
      "What NCCL's time with {} is made of: its fastest setting, symmetric memory with its "
      "fastest setting, linkgain's kernel and a floor. Each factor is the time of the step before "
      "over that of its own, and the whole is their product. A step has no factor where it was "
      "not measured, and a setting or symmetric memory where it is not shown to be faster.",
      summary.record.settings.variants.front().name));
  for (const HeadroomCurve& curve : curves) {
    document.heading(curve_label(curve.definition), 3);
    document.table(table_of(curve));
    document.item(floor_line(curve));
  }
  return document;
}

}  // namespace linkgain
