#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/summary/run_summary.hpp"

/// What a variant changed beside the first one, and where.
namespace linkgain {

/// A case, the first variant beside a later one.
struct AnswerRow {
  const CaseSummary* of = nullptr;
  std::size_t other = 0;  ///< place of that variant; 0: there is none, or all are meant

  /// Gives the comparison of the two; null where there is none.
  const Comparison* comparison() const;
  bool operator==(const AnswerRow&) const = default;
};

/// Returns the logarithm of the row's ratio, whichever way it changed; it has one.
double change_of(const AnswerRow& row);

/// Tells whether names tell what its variant changed, as of a setting, and no path does. The row
/// has a comparison.
bool is_of_setting(const AnswerRow& row);

Verdict contrary_of(Verdict change);

/// Tells whether the row, of the same curve, shows this verdict by a few per cent, which is what
/// anybody asks about beside a larger change, or by as much as what is spoken of.
bool changes_with(const AnswerRow& row, const AnswerRow& spoken, Verdict verdict);

/// Neighbouring sizes of a curve.
using SizeRange = std::span<const CaseSummary* const>;

/// Says "8 B to 1 MiB and of 16 MiB to 1 GiB", with this preposition; of many ranges the ends, "8 B
/// to 1 GiB (9 sizes)".
std::string ranges_text(const std::vector<SizeRange>& ranges, std::string_view preposition);

/// Finds the neighbouring sizes of the row's curve that are such; the row alone where it has none.
/// The row must outlive them.
std::vector<SizeRange> ranges_where(const RunSummary& summary, const AnswerRow& row,
                                    const std::function<bool(const CaseSummary*)>& is);

/// Finds the sizes of the row's curve that changed as it did, its own among them. The row, which
/// must outlive them, has a comparison with a ratio.
std::vector<SizeRange> ranges_like(const RunSummary& summary, const AnswerRow& row);

/// Gives the interval of the change, on the log scale; {0, 0} where none is shown.
Interval change_interval(const Comparison* comparison);

/// Finds the size of the row's curve that is shown to have changed most the other way, by a few per
/// cent or as much as the row; no case where none has.
AnswerRow most_contrary(const RunSummary& summary, const AnswerRow& row);

/// Finds what of the curve is shown to have changed most beside this variant, by a few per cent or
/// more, and by this verdict where one is given; no case where nothing has.
AnswerRow most_changed(const Curve& curve, std::size_t other, std::optional<Verdict> only = {});

/// Lists what a race confirmed, the largest gain first.
std::vector<AnswerRow> confirmed_rows(const RunSummary& summary);

/// Tells whether the case may answer what this variant changes. linkgain's own kernels answer
/// nothing of NCCL or MPI: theirs do where the variant has a linkgain-bench of its own, or sets
/// what NCCL alone does not read.
bool may_answer(const RunSummary& summary, const Case& definition, std::size_t other);

/// Gives the curves that may_answer(), and those of kernels beside a kernel's row, without the
/// row's own.
std::vector<const Curve*> curves_beside(const RunSummary& summary, const AnswerRow& row);

/// Says what curves_beside() are: "operations", "operations and launch modes", else
/// "operations and forms".
std::string_view word_for_curves(const RunSummary& summary, const AnswerRow& row);

}  // namespace linkgain
