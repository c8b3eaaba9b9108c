#pragma once

#include <map>
#include <optional>
#include <string>

#include "linkgain/core/run_figures.hpp"

namespace linkgain {

/// Standard deviation between launches of the log of a launch's median.
struct RunSpread {
  double deviation = 0.0;
  /// What it was estimated with; absent where there was nothing to estimate it from and it is an
  /// assumption.
  std::optional<int> degrees_of_freedom;
};

/// Spreads between launches, of a case by itself and pooled over like cases: the same operation and
/// variant, on the same side of kSteadySize. A case with few launches borrows from its pool: its
/// own variance and the pool's are averaged, weighted with the degrees of freedom of the one and
/// with at most kPoolWeight of the other (a moderated variance as in Smyth, Linear models and
/// empirical Bayes methods, 2004, with a fixed weight of the prior).
class RunSpreads {
 public:
  /// Adds a case of one of the runs; cases with one launch add nothing.
  void add(const CaseFigures& figures);

  /// For the difference between two runs of a case, both added before. Own launches of both count,
  /// then those of other cases in their pools; with neither the spread is assumed.
  RunSpread between(const CaseFigures& a, const CaseFigures& b) const;

  static constexpr int kPoolWeight = 4;

 private:
  struct Squares {
    double sum = 0.0;
    int degrees_of_freedom = 0;
  };
  static Squares squares_of(const CaseFigures& figures);
  static std::string pool_of(const CaseFigures& figures);
  Squares others_of(const CaseFigures& a, const CaseFigures& b) const;

  std::map<std::string, Squares> pools_;
};

/// From this size on transfers are bound by the link, and launches agree closely; smaller
/// operations are bound by their launch and wander.
inline constexpr Bytes kSteadySize{std::int64_t{1} << 20};

/// What is assumed where every case has one launch. Seen between runs of one launch each on two
/// H200 (results/README.md): at most 4.3 % apart from 1 MiB on, which is 1.96 sqrt(2) times the
/// first deviation; below, the three runs of all_reduce in results/ had root mean square
/// differences of 10 to 24 % with P2P, the larger ones sqrt(2) times the second.
inline constexpr double kAssumedSpread = 0.015;
inline constexpr double kAssumedSmallSpread = 0.15;

}  // namespace linkgain
