#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/summary/run_summary.hpp"
#include "linkgain/tables/document.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {

/// Writes the share of the limit beside bus bandwidths and remembers which limits those were.
class LimitLegend {
 public:
  /// " (73 %)", or empty where it is not known.
  std::string share(const VariantSummary& variant);

  /// "NVLink payload 450 GB/s, pinned host copy of a rank alone 54.9 to 55.3 GB/s", in order of
  /// appearance.
  std::string text() const;

 private:
  struct Range {
    LimitKind kind = LimitKind::unknown;
    double least_gb_per_s = 0.0;
    double most_gb_per_s = 0.0;
  };
  std::vector<Range> limits_;
};

/// What the rows of one table are called.
struct RowLabels {
  Table::Column title{"Size", Table::Alignment::right};  ///< of the first column
  std::vector<std::string> labels{};                     ///< what it says of each case
  std::vector<Text> items{};                             ///< on all of them: a curve's steps
  std::string_view place = "at this size";               ///< of a row
  bool launches = false;  ///< whether a column says how each case was launched
};

/// One table and what its marks mean: a row for each case, the variants side by side; where there
/// are more than two, a row for each case and variant.
Document case_table(const RunSummary& summary, const Curve& curve, const RowLabels& rows,
                    const std::string& caption = {});

/// "11.8–12.0x"; "one launch" without an interval.
std::string interval_cell(const RatioText& text);

}  // namespace linkgain
