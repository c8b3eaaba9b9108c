#include "kernel_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/core/case_ratio.hpp"
#include "linkgain/core/units.hpp"
#include "markdown_table.hpp"
#include "size_cells.hpp"

namespace linkgain {
namespace {

int place_of(const Record& record, const CaseResult& result) {
  return static_cast<int>(&result - record.cases.data());
}

/// The same case by NCCL or copy engine; null where the record has none.
const CaseResult* twin_of(const Record& record, Case definition) {
  definition.kernel = false;
  const auto found =
      std::find_if(record.cases.begin(), record.cases.end(),
                   [&](const CaseResult& result) { return result.definition == definition; });
  return found == record.cases.end() ? nullptr : &*found;
}

bool has_right_time(const CaseResult& result, const std::string& variant) {
  const VariantResult* own = find_variant(result, variant);
  return own != nullptr && own->time && !has_wrong_data(*own);
}

/// Ratio and interval, empty where there is none.
std::vector<std::string> cells_of(const Record& record, const CaseResult& result,
                                  const CaseResult* twin, const std::string& variant) {
  if (twin == nullptr || !has_right_time(result, variant) || !has_right_time(*twin, variant)) {
    return {"", ""};
  }
  const RatioText text = readable_ratio(
      ratio_of_cases(record, place_of(record, result), place_of(record, *twin), variant));
  return {text.estimate, text.low ? interval_cell(text) : ""};
}

MarkdownTable table_for(const std::vector<std::string>& variants) {
  using Alignment = MarkdownTable::Alignment;
  std::vector<MarkdownTable::Column> columns{{"Size", Alignment::right}};
  for (const std::string& variant : variants) {
    columns.push_back({variant, Alignment::right, true});
    columns.push_back({"95 % CI", Alignment::right, true});
  }
  return MarkdownTable(columns);
}

}  // namespace

std::string kernel_table(const Record& record, const Curve& curve) {
  if (curve.cases.empty() || !curve.cases.front()->definition.kernel) return {};
  const std::vector<std::string> variants = variant_names(curve.cases);
  MarkdownTable table = table_for(variants);
  bool any = false;
  for (const CaseResult* result : curve.cases) {
    const CaseResult* twin = twin_of(record, result->definition);
    std::vector<std::string> cells{readable_bytes(result->definition.size)};
    for (const std::string& variant : variants) {
      for (std::string& cell : cells_of(record, *result, twin, variant)) {
        any = any || !cell.empty();
        cells.push_back(std::move(cell));
      }
    }
    table.add_row(cells);
  }
  if (!any) return {};
  const bool copy = is_copy(curve.cases.front()->definition.operation);
  return fmt::format("\n{}:\n\n{}",
                     copy ? "By kernel, times as fast as by copy engine"
                          : "NCCL leaves (its time over the kernel's)",
                     table.text());
}

}  // namespace linkgain
