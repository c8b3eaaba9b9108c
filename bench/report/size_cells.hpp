#pragma once

#include <string>
#include <vector>

#include "comparison.hpp"
#include "footnotes.hpp"
#include "limit_legend.hpp"

namespace linkgain {

/// What one curve's table needs beside its rows.
struct SizeLegend {
  std::string items;  ///< on the curve: its steps, and what NCCL leaves
  Footnotes footnotes;
  LimitLegend limits;
};

/// Names of all variants of a curve, in order of appearance.
std::vector<std::string> variant_names(const Curve& curve);

/// A case's result of this variant; null where it has none.
const VariantResult* find_variant(const CaseResult& result, const std::string& name);

/// Time and bus bandwidth, or what stands in their place.
std::vector<std::string> time_cells(const VariantResult* variant, SizeLegend& legend);

/// Speed-up, interval and less time, or what stands in their place.
std::vector<std::string> ratio_cells(const Comparison& comparison, Footnotes& footnotes);

/// "100.4", what NVLink carried in percent of what was expected; empty where it is not judged.
std::string evidence_cell(const VariantResult* variant);
bool any_evidence(const Curve& curve);

/// Of the case: that it did not converge.
std::string case_marks(const Record& record, const CaseResult& result,
                       const std::vector<Comparison>& comparisons, Footnotes& footnotes);
/// Of one variant: warm data, samples that were held back or at the power limit.
std::vector<std::string> variant_marks(const VariantResult& variant, Footnotes& footnotes);

/// The lines below a table that say what its columns mean.
std::string column_legend(const SizeLegend& legend, const std::string& evidence,
                          const std::string& paths);

/// The table of a curve with more than two variants: a row for each size and variant.
std::string table_by_variant(const Record& record, const Curve& curve);

}  // namespace linkgain
