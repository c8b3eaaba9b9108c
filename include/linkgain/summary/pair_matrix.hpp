#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// Cases between two ranks that differ in nothing but the ranks, by from, then to. Points into the
/// record.
struct PairFamily {
  std::vector<const CaseResult*> cases;

  /// Gives the first case's; what it says holds for all but the pair's ranks.
  const Case& definition() const { return cases.front()->definition; }
  /// Tells whether a case stands for both entries: what goes from a to b goes back, too.
  bool symmetric() const { return definition().pair->both; }
};

enum class PairState {
  not_asked,     ///< the record has no such case
  not_measured,  ///< the variant has no time of it
  skipped,
  wrong_data,
  measured,
};

/// Says why a pair that was asked for has no value, in words; empty of others.
std::string_view why_no_value(PairState state);

/// What one variant gave between two ranks.
struct PairEntry {
  int from = 0;
  int to = 0;
  /// What joins the two, "NV18" or "PHB" (label_of()); empty where the record names no links.
  std::string label;
  PairState state = PairState::not_asked;
  /// The variant's result and its ratio to the first variant's; null where there is none. They live
  /// as long as the record.
  const VariantResult* result = nullptr;
  const Estimate* ratio = nullptr;
};

/// From this size on pairs are told apart by bandwidth, below it by time.
inline constexpr Bytes kBandwidthSize{1 << 20};

/// The pair that takes longest, which at one size is the one of the lowest bus bandwidth.
struct WeakestPair {
  int from = 0;
  int to = 0;
  std::string label;
  /// busbw in 1e9 B/s or time in seconds, as the matrix has it.
  double value = 0.0;
  /// Median of the other measured pairs that carry the same label, and how many they are; absent
  /// where there is no other.
  std::optional<double> median;
  int others = 0;

  /// Gives how far from the median to the worse side, never below 0: of bandwidths 1 −
  /// value/median, of times value/median − 1. Absent without a median.
  std::optional<double> shortfall(bool by_bandwidth) const;
};

/// One family's results of one variant, from × to.
struct PairMatrix {
  std::string variant;
  int ranks = 0;
  bool by_bandwidth = false;
  std::vector<PairEntry> entries;  ///< row by row, the diagonal not asked

  const PairEntry& at(int from, int to) const;
  /// Gives what the matrix shows of an entry: busbw or time; absent where it is not measured.
  std::optional<double> value(const PairEntry& entry) const;
};

/// Makes one for each variant of the family's cases, in order of appearance. By bandwidth where the
/// size is kBandwidthSize or more and every measured entry has one.
std::vector<PairMatrix> pair_matrices(const Record& record, const PairFamily& family);

/// Gives the weakest pair of every label, the weakest of all first. Of a symmetric family each pair
/// counts once. Empty where fewer than two pairs were measured.
std::vector<WeakestPair> weakest_pairs(const PairMatrix& matrix, const PairFamily& family);

}  // namespace linkgain
