#pragma once

#include <string>
#include <vector>

#include "comparison.hpp"
#include "limit_legend.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/table.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {

/// What one table needs beside its rows.
struct SizeLegend {
  Footnotes footnotes;
  LimitLegend limits;
};

/// The rows of one table: cases, and what tells them apart.
struct TableRows {
  Table::Column title{"Size", Table::Alignment::right};  ///< of the first column
  std::vector<std::string> labels;                       ///< what it says of each case
  std::vector<const CaseResult*> cases;
  std::string items{};                      ///< on all of them: a curve's steps, what NCCL leaves
  std::string_view place = "at this size";  ///< of a row
};

/// Names of all variants of the cases, in order of appearance.
std::vector<std::string> variant_names(const std::vector<const CaseResult*>& cases);

/// Time and bus bandwidth of a variant of the case, or what stands in their place.
std::vector<std::string> time_cells(const Case& definition, const VariantResult* variant,
                                    SizeLegend& legend);

/// Speed-up, interval and less time, or what stands in their place.
std::vector<std::string> ratio_cells(const Comparison& comparison, Footnotes& footnotes);

/// "11.8–12.0x"; "too few rounds" without an interval.
std::string interval_cell(const RatioText& text);

/// "100.4", what NVLink carried in percent of what was expected; empty where it is not judged.
std::string evidence_cell(const VariantResult* variant);
bool any_evidence(const std::vector<const CaseResult*>& cases);

/// Of the case: that it did not converge.
std::string case_marks(const Record& record, const CaseResult& result,
                       const std::vector<Comparison>& comparisons, Footnotes& footnotes);
/// Of one variant: warm data, samples that were held back or at the power limit, more than the
/// limit.
std::vector<std::string> variant_marks(const Case& definition, const VariantResult& variant,
                                       Footnotes& footnotes);

/// The lines below a table that say what its columns mean.
std::string column_legend(const std::string& items, const SizeLegend& legend,
                          const std::string& evidence, const std::string& paths);

/// One table and what its marks mean: a row for each case, the variants side by side; where there
/// are more than two, a row for each case and variant.
std::string rows_table(const Record& record, const TableRows& rows);
std::string table_by_variant(const Record& record, const TableRows& rows);

}  // namespace linkgain
