#pragma once

#include <map>
#include <optional>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/statistics/statistics.hpp"

/// How far two sets of launches lie apart, and how sure that is: for all commands.
namespace linkgain {

/// By how much the log of a launch's median differs between launches.
struct LaunchDeviation {
  double deviation = 0.0;
  /// Absent where it was not observed and is an assumption: the normal distribution then.
  std::optional<int> degrees_of_freedom = 1;
  /// The case scatters so much more than those like it that it was left out of their pool, and this
  /// is its own.
  bool alone = false;
  bool operator==(const LaunchDeviation&) const = default;
};

/// Weights both by their degrees of freedom; where one of them stands alone takes the larger of the
/// two. Absent where both are.
std::optional<LaunchDeviation> combine_deviations(const std::optional<LaunchDeviation>& a,
                                                  const std::optional<LaunchDeviation>& b);

/// What one variant's launches of one case say together, or a program's runs.
struct LaunchMean {
  Seconds time;  ///< geometric mean of the launches' medians
  int launches = 0;
  std::optional<LaunchDeviation> deviation{};  ///< of one launch; absent where none is known
  double resolution = 0.0;                     ///< resolution_of() the launches

  /// Gives the 95 % interval of the time in seconds; absent of one launch and without a deviation,
  /// and where neither launches nor printed digits leave any doubt.
  std::optional<Interval> interval() const;
};

/// A part of a shift's variance: what one launch scatters by, on the sides that have it.
struct ShiftPart {
  LaunchDeviation deviation;
  double before = 0.0;  ///< times its square is the variance of a launch before
  double after = 0.0;
};

/// By how much the mean log of launch medians, or of runs' means, moved between two sets of them;
/// slower is positive.
struct LaunchShift {
  double log = 0.0;
  int before = 1;  ///< launches or runs
  int after = 1;
  std::vector<ShiftPart> parts{};
  double rounding = 0.0;  ///< rounding_between() the two sides
};

/// One launch tells nothing of how the next one differs: no command gives an interval of it,
/// whatever like cases or the other side tell.
inline constexpr int kFewestOfASide = 2;

/// Two launches tell next to nothing of how far the next one lies from them, and may agree by
/// chance: of two things by turns, launches of two variants are constant, and differ, in 1 of 8
/// where each has two launches; in 1 of 32 where each has three.
inline constexpr int kFewestAlone = 3;

/// Measures the shift from one side to the other by Welch's t: each side has its own deviation (B.
/// L. Welch, Biometrika 34, 1947). A side of fewer than kFewestAlone launches beside one of more
/// shares one with it. Absent where a side has fewer than kFewestOfASide, where nothing is known
/// of how launches of a side differ, and where fewer than kFewestAlone agree without any deviation.
///
/// What a program printed is uniform within half a unit of its last digit, and all runs of a side
/// may be rounded alike: the variance of that is added to each mean's, however many runs there are.
std::optional<LaunchShift> shift_between(const LaunchMean& before, const LaunchMean& after);

/// The runs of a side, and the launches of all of them.
struct LaunchesOfRuns {
  LaunchMean runs;                             ///< of which each counts as one launch
  int launches = 1;                            ///< in all
  std::optional<LaunchDeviation> deviation{};  ///< between launches
  double of_each() const { return static_cast<double>(launches) / runs.launches; }
};

/// Measures the same between runs, of which one will do if it has kFewestOfASide: it shares the
/// other side's deviation between runs. Adds what launches make runs scatter by after more than
/// before: there are fewer of them, or they lie further apart. Runs of more launches, or of closer
/// ones, are taken for no steadier. Nothing is added where each side has its own deviation between
/// runs, of which launches are a part.
std::optional<LaunchShift> shift_between_runs(const LaunchesOfRuns& before,
                                              const LaunchesOfRuns& after);

/// Tells how far printed digits alone may have moved the log of a ratio: half a unit on each side.
double rounding_between(double resolution, double other);

/// Adds up the variances of the parts and of how numbers were rounded, and takes the root.
double standard_error(const LaunchShift& shift);

/// Gives Satterthwaite's degrees of freedom, of that sum (Biometrics Bulletin 2, 1946), rounded
/// down; absent where all of it was assumed: the normal distribution then.
std::optional<int> degrees_of_freedom(const LaunchShift& shift);

/// Tells what one launch of either side would scatter by if both scattered alike and nothing were
/// rounded.
double deviation_of(const LaunchShift& shift);

/// student_t_quantile(probability, …), found once for each number of degrees of freedom: the cases
/// of a pool share theirs. Of 0.975 the normal distribution's where there is none.
class ShiftQuantiles {
 public:
  static constexpr double kOf95Percent = 0.975;  ///< of an interval's ends

  explicit ShiftQuantiles(double probability = kOf95Percent) : probability_(probability) {}
  double at(const std::optional<int>& degrees_of_freedom);

 private:
  double probability_;
  std::map<int, double> known_;
};

/// Gives the 95 % interval of the shift, which is not narrower than what was rounded.
Interval interval_of(const LaunchShift& shift, ShiftQuantiles& quantiles);

/// Tells how many times longer `other` takes than `own`: the quotient of the two times, with the
/// interval of their shift. Without one where there is no shift, and where neither launches nor
/// printed digits leave any doubt.
Estimate ratio_between(const LaunchMean& own, const LaunchMean& other);

/// Gives the chance of so large a shift, or a larger one, where the true one is `bound`; and of so
/// small a one. What lies no further from the bound than its rounding has any chance. An infinite
/// bound gives 1: nothing lies beyond it.
double chance_above(const LaunchShift& shift, double bound);
double chance_below(const LaunchShift& shift, double bound);

/// How many launches would settle a question.
struct Settling {
  int launches = 0;           ///< after, in all
  bool baseline_too = false;  ///< as many before, for more after alone would not do
  bool operator==(const Settling&) const = default;
};

/// Gives the fewest launches whose interval lies within the bounds or wholly beyond one of them, if
/// shift and deviations stay what they are and each launch adds as many degrees of freedom as those
/// before did; absent where kMostSettling are too few. The interval is one of those quantiles.
std::optional<Settling> launches_to_settle(const LaunchShift& shift, ShiftQuantiles& quantiles,
                                           double lower, double upper);

inline constexpr int kMostSettling = 100;

}  // namespace linkgain
