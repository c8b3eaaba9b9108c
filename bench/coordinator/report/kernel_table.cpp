#include "kernel_table.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "linkgain/analysis/kernel_ratio.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/tables/table.hpp"
#include "size_cells.hpp"

namespace linkgain {
namespace {

/// Ratio and interval, empty where there is none.
std::vector<std::string> cells_of(const std::optional<Ratio>& ratio) {
  if (!ratio) return {"", ""};
  const RatioText text = readable_ratio(*ratio);
  return {text.estimate, text.low ? interval_cell(text) : ""};
}

Table table_for(const std::vector<std::string>& variants) {
  using Alignment = Table::Alignment;
  std::vector<Table::Column> columns{{"Size", Alignment::right}};
  for (const std::string& variant : variants) {
    columns.push_back({variant, Alignment::right, true});
    columns.push_back({"95 % CI", Alignment::right, true});
  }
  return Table(columns);
}

}  // namespace

std::string kernel_table(const Record& record, const Curve& curve) {
  if (curve.cases.empty() || !curve.cases.front()->definition.kernel) return {};
  const std::vector<std::string> variants = variant_names(curve.cases);
  Table table = table_for(variants);
  bool any = false;
  for (const CaseResult* result : curve.cases) {
    std::vector<std::string> cells{readable_bytes(result->definition.size)};
    for (const std::string& variant : variants) {
      const std::optional<Ratio> ratio = library_ratio(record, *result, variant);
      any = any || ratio;
      for (const std::string& cell : cells_of(ratio)) cells.push_back(cell);
    }
    table.add_row(cells);
  }
  if (!any) return {};
  const bool copy = is_copy(curve.cases.front()->definition.operation);
  return fmt::format("\n{}:\n\n{}",
                     copy ? "By kernel, times as fast as by copy engine"
                          : "NCCL leaves (its time over the kernel's)",
                     table.markdown());
}

}  // namespace linkgain
