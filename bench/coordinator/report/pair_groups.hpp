#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comparison.hpp"
#include "linkgain/analysis/pair_matrix.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// "GPU1" where ranks and GPUs have the same numbers, also for nvidia-smi and `linkgain topo`; else
/// "rank 1".
std::string end_label(const Record& record, int rank);

/// "→", both ways "↔".
std::string_view arrow_of(const Pair& pair);

/// "GPU0 → GPU1", both ways "GPU0 ↔ GPU1".
std::string ends_label(const Record& record, const Pair& pair);

/// Whether times or bandwidths of pairs, above 0, lie further apart than the run's precision: the
/// largest of them over the smallest. Nearer ones do not tell which pair is weaker.
bool differ(const std::vector<double>& values, double precision);

/// A family that is shown as matrices.
struct ShownFamily {
  PairFamily family;
  bool by_pair = true;  ///< its cases have a table with a row for each, too
};

/// The families of two pairs or more. Of such as differ in size only, the smallest and the largest,
/// without a table by pair: every pair has its own by size then.
std::vector<ShownFamily> shown_families(const Record& record);

/// The curves that no table by pair shows.
std::vector<Curve> curves_by_size(const Record& record);

/// Curves that differ in their pair's ranks only stand in one, in an order that has the pair that
/// takes longest with the first variant last of its size, and wrong data first. Where the pairs of
/// a size do not differ() the first of a matrix is last.
std::vector<Curve> curves_for_headline(const Record& record);

}  // namespace linkgain
