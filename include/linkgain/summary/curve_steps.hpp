#pragma once

#include <string_view>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

/// One variant's times at one size.
struct CurvePoint {
  Bytes size;
  Seconds time;  ///< median over samples
  /// Quartiles of the samples, in seconds: what the middle halves of two sizes do not show apart is
  /// no step. Both ends are `time` where no samples are at hand.
  Interval middle_half;
  TransferPlan plan;  ///< empty where it is not known
};

/// Two neighbouring sizes between which time leaves the trend of the sizes around them.
struct CurveStep {
  CurvePoint from;
  CurvePoint to;
  /// How many times longer `to` would take than `from` at the growth exponent, log(t2/t1) /
  /// log(s2/s1), of the interval before `from`, and of the one after `to`.
  double pace_before = 1.0;
  double pace_after = 1.0;

  /// Tells whether the larger size takes less time.
  bool falls() const { return to.time < from.time; }
};

/// What a step must exceed its bounds by. Smooth curves, noise and choices between protocols that
/// are right leave a few percent (in results/ at most 1.11); the protocol step of an all-reduce
/// from 1 to 2 MiB on 2 x H200 has 1.21 and 1.23.
inline constexpr double kLeastStep = 1.15;

/// Gives the steps of a curve, in order of size. `points` may come in any order; those without a
/// time above zero do not count. Fewer than four make no step, as it has a neighbour on either
/// side.
///
/// A rise is a step where the time after is kLeastStep times what both sides would allow:
/// - latency plus size over bandwidth is a straight line, on which the larger time lies too; a
///   better protocol from there on, or a floor under small sizes, only bends it down. So the line
///   through the sizes before, the steeper of two intervals, is an upper bound;
/// - the growth exponent of such a line only rises with size, and so does that of data that drop
///   out of a cache. So the exponent of the sizes after is another: of the next interval, or of the
///   one behind it where that is larger and no further away than the step is wide. Far behind it
///   sizes are bound by bandwidth alone, and would allow any step.
/// Whether sizes double or grow sixteenfold makes no difference to either.
/// A fall is one where the time before is kLeastStep times the time after.
/// A single size that stands apart from all others is neither: a rise must hold against the size
/// before and the one after as well, a fall against what two sizes on each side would have in its
/// ends' place. Steps less than three sizes apart may hide each other.
std::vector<CurveStep> find_steps(std::vector<CurvePoint> points);

/// Gives one variant's curve: what it gave for the cases whose curve_name() is `curve`, without
/// skipped ones, those with wrong data, and those that did not converge and whose ratio is not
/// known to 2 %: small operations that are bound by the CPU's launches jump by a quarter from size
/// to size.
std::vector<CurvePoint> curve_points(const Record& record, std::string_view curve,
                                     std::string_view variant);

}  // namespace linkgain
