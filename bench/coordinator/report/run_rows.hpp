#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/summary/run_summary.hpp"
#include "linkgain/tables/document.hpp"
#include "linkgain/tables/number_format.hpp"

/// Tables of cases. Their columns are declared once, each by what it says of a case's variant.
namespace linkgain {

/// A row of such a table: a case, or one of its variants.
struct RunRow {
  const CaseSummary* of = nullptr;
  std::size_t variant = 0;  ///< whose row it is, where the variants do not stand side by side
  std::string label{};      ///< of its case

  const Case& definition() const { return of->definition(); }
  const VariantSummary& summary() const { return of->variants[variant]; }
  const VariantResult& result() const { return *summary().result; }
  /// Compares the first variant with the row's; has no figures in the first one's own row.
  const Comparison& comparison() const;
};

struct RunColumn {
  Table::Column column;
  std::function<Text(const RunRow&)> cell;
};
using RunColumns = std::vector<RunColumn>;

/// Makes a table; with Narrow::from_the_right a terminal may leave_out_from_the_right().
enum class Narrow { as_declared, from_the_right };
Table table_of(const RunColumns& columns, const std::vector<RunRow>& rows, Narrow narrow,
               std::string caption = {});

/// Shows what each case is called, once.
RunColumn label_column(Table::Column column);

/// Adds columns that show this variant in every row.
void add_of_variant(RunColumns& columns, std::size_t variant, const RunColumns& own);

/// Shows what was measured, or what stands in its place: "WRONG DATA", "skipped", "not measured";
/// of a program's runs "failed", or "none" where they ended well without a number.
Text value_cell(const VariantSummary& variant, const std::string& measured);

/// Shows the time of one operation, or what a program's metric says.
RunColumn value_column(std::string title);

enum class SpeedUpOf { first, row };

/// Shows the speed-up of the first variant beside the row's, or of the row's beside the first, or
/// why there is none; and its interval.
RunColumn speed_up_column(std::string title, int leave_out = 0, SpeedUpOf of = SpeedUpOf::first);
RunColumn interval_column(int leave_out, SpeedUpOf of = SpeedUpOf::first);

/// Shows variants of one case in the form of the guide: "NVLink", Y and N, and what columns say.
Table variants_table(const CaseSummary& each, const std::vector<std::size_t>& variants,
                     RunColumns columns);
Table variants_table(const CaseSummary& each, RunColumns columns);

/// Says "11.8–12.0x"; "one launch" without an interval.
std::string interval_cell(const Estimate& ratio);

/// Writes the share of the limit beside bus bandwidths and remembers which limits those were.
class LimitLegend {
 public:
  /// Says " (73 %)", or empty where it is not known.
  std::string share(const VariantSummary& variant);

  /// Says "NVLink payload 450 GB/s, pinned host copy of a rank alone 54.9 to 55.3 GB/s", in order
  /// of appearance.
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
  Table::Column title{"Size", kRight};            ///< of the first column
  std::function<std::string(const Case&)> label;  ///< of a case
  std::vector<Text> items{};                      ///< on all of them: a curve's steps
  std::string_view place = "at this size";        ///< of a row
  bool launches = false;  ///< whether a column says how each case was launched
};

/// Makes one table of times, bandwidths and speed-ups, and says what its marks mean: a row for each
/// case, the variants side by side; where there are more than two, a row for each case and variant.
Document case_table(const RunSummary& summary, const Curve& curve, const RowLabels& rows,
                    const std::string& caption = {});

}  // namespace linkgain
