#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linkgain/summary/answer_choice.hpp"
#include "linkgain/summary/run_summary.hpp"
#include "linkgain/tables/document.hpp"

/// What the headroom of NCCL's all-reduces is made of: NCCL's setting, symmetric memory, the kernel
/// and what remains above the floor.
namespace linkgain {

/// All-reduces of a curve, with their first variant.
struct HeadroomCurve {
  Case definition;                ///< Curve::definition() of NCCL's
  std::vector<HeadroomRow> rows;  ///< by size
  std::optional<Case> latency{};  ///< the smallest sum by kernel, by stream or by graph
  std::optional<Case> stores{};   ///< the fastest copy_push by kernel, both ways at once
  double stores_gb_per_s = 0.0;
};

/// The latency is taken from no larger sum: one token of 8192 elements in bfloat16.
inline constexpr Bytes kLargestLatency{16 << 10};

/// Makes the curves of a record for which more was measured than NCCL's default and one other
/// station: by type, launch mode and what the sums stand between.
///
/// The floor of S bytes is Hockney's t(S) = latency + bytes / rate (Parallel Computing 20, 1994):
/// the time of the smallest sum, and 2 (n-1)/n of the bytes that S has more, which each of n ranks
/// must send at least without multicast (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69,
/// 2009), at the rate of stores. Both are of the same run, launch by launch.
///
/// All times of a row are of the launches that all its stations have, so the factors' product is
/// the whole; intervals are those of ratio_between(). A setting, and symmetric memory with any of
/// the settings, has its station where it is shown to be faster than the station before, at 2.5 %
/// over all settings: chosen by the times that it is then quoted with, so a close race flatters the
/// winner.
std::vector<HeadroomCurve> headroom_curves(const RunSummary& summary);

/// Finds the row's step; null where it has none.
const HeadroomStep* find_step(const HeadroomRow& row, HeadroomStation station);

/// Gives the last step that is NCCL's: what it comes to with the best of settings and memories.
const HeadroomStep& best_of_nccl(const HeadroomRow& row);

/// Finds the row that has the kernel's case; absent where there is none.
std::optional<HeadroomRow> headroom_row(std::span<const HeadroomCurve> curves, Case kernel);

/// Says what kernels leave of the library's time, and how far NCCL is from the floor, as far as
/// both are shown.
std::vector<std::string> headroom_sentences(const RunSummary& summary, const Answer& answer);

/// Makes a section with a table for each curve, its floor, or which cases it lacks; empty where
/// there is no curve.
Document headroom_section(const RunSummary& summary);

}  // namespace linkgain
