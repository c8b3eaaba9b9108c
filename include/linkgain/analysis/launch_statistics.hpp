#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/analysis/disturbance.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

/// A record and what to call it when something is to be said of it: the name it was given by.
struct NamedRecord {
  std::string name;
  Record record;
};

/// What several launches say of one variant of one case.
struct CaseLaunches {
  Case definition;
  std::string variant;
  /// In the order of the records and of their launches, which are counted through all records.
  std::vector<LaunchMedian> launches;
  std::vector<Path> paths{};  ///< those known, each once
  std::string wrong_data{};   ///< what was wrong, empty where nothing was
  /// Why there are no launches: skipped, not sampled, too few samples. Empty where there are.
  std::string missing{};
  /// Whether some record that measured it does not know the path.
  bool path_unknown = false;
  int unhealthy_samples = 0;  ///< in which something but the power limit throttled a GPU
  Disturbance disturbance{};
  /// By launch, the record that it is of, by its place among all; empty where all are of one.
  std::vector<int> runs{};
};

/// One entry for each case and variant of any record, in the order in which they are first seen.
std::vector<CaseLaunches> launch_medians(std::span<const NamedRecord> records);

/// The same with each run as one replicate: the geometric mean of its launches. Runs of an
/// unchanged program may lie further apart than launches of one run do.
std::vector<CaseLaunches> by_run(std::span<const CaseLaunches> cases);

/// Which cases are like each other, so that their launches scatter alike: those of one variant,
/// operation and launch mode whose sizes are within a factor of 16, NCCL's apart from our kernels'.
/// On two H200 launches differ by 1.9 % at 8 B and by 0.2 % at 256 MiB, in steps that are small
/// over such a factor. "p2p/all_reduce/stream/1MiB-16MiB".
std::string deviation_pool(const Case& definition, const std::string& variant);

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

/// The between-launch deviation of each case, pooled over the cases like it; absent where no case
/// of its pool has two launches, or all of them agree to the last bit, which says nothing of the
/// next one. A case whose own variance is improbably large beside that of the others (F test, 1 %
/// over the pool) is left out and stands alone, or it would cause a false alarm at each launch.
///
/// The degrees of freedom are those that the launches support: launches in which all cases of the
/// pool are slow together, as by a worse placement of the ranks, are not as many observations as
/// there are cases. The sum of squares is split into that between launches and the rest, and the
/// degrees of freedom of the sum are Satterthwaite's (Biometrics Bulletin 2, 1946): K (n - 1) for
/// K cases that are independent of each other, n - 1 for cases that move as one.
std::vector<std::optional<LaunchDeviation>> pooled_deviations(std::span<const CaseLaunches> cases);

/// What one variant's launches of one case say together.
struct LaunchMean {
  Seconds time;  ///< geometric mean of the launches' medians
  int launches = 0;
  std::optional<LaunchDeviation> deviation{};  ///< of one launch; absent where none is known
  double resolution = 0.0;                     ///< resolution_of() the launches

  /// 95 %, of the time in seconds; absent of one launch and without a deviation, and where neither
  /// launches nor printed digits leave any doubt.
  std::optional<Interval> interval() const;
};

/// By case and variant of a record, in its order; absent where there is no time. A time of too few
/// samples is of no launch.
using LaunchMeans = std::vector<std::vector<std::optional<LaunchMean>>>;

/// With pooled_deviations(). Runs of a program that all print the same have a deviation of 0, with
/// as many degrees of freedom as any: what a program prints may well be constant.
LaunchMeans launch_means(const Record& record);

/// How many times longer `other` takes than `own`: the quotient of the two times, with Welch's t
/// interval of the difference of their logs, in which each side has its own deviation (B. L. Welch,
/// Biometrika 34, 1947; degrees of freedom rounded down). Without an interval where a side has one
/// launch or no known deviation, or neither side has any and there are fewer than kFewestAgreeing
/// launches.
///
/// What a program printed is uniform within half a unit of its last digit, and all runs of a side
/// may be rounded alike: the variance of that is added to each mean's, however many runs there are,
/// and no interval is narrower than rounding_between().
Estimate ratio_between(const LaunchMean& own, const LaunchMean& other);

/// Of two things by turns, launches of two variants are constant, and differ, in 1 of 8 where each
/// has two launches; in 1 of 32 where each has three.
inline constexpr int kFewestAgreeing = 3;

/// How far printed digits alone may have moved the log of a ratio: half a unit on each side.
double rounding_between(double resolution, double other);
/// The same of a variant's ratio to the first one's.
double rounding_of(const CaseResult& result, const std::string& variant);

/// Whether an interval that includes 1 also includes what would matter to anybody: whether there is
/// a difference is then inconclusive.
bool is_wide(const Estimate& ratio);

/// Gives every ratio of the record its interval, by launch_means() of all its cases, and says of
/// every case whether it converged: each interval within precision_of() the case. One that lost a
/// job or was interrupted has not. Of every case that has samples, calls summarise() first, and
/// takes the path of what counters judge from them, of our own work and of programs as the run does
/// (own_path(), path_of_program()), and the share of a limit from the bandwidth: so records of any
/// age are read by the same rules, and none is believed what they do not give.
void summarise(Record& record);

struct MoreLaunches {
  std::vector<int> cases;
  int launches = 0;
};

/// Cases that more launches are expected to bring to their precision: those that `launches`
/// launches have not, and twice as many of the run's will (`planned`), if they scatter as before;
/// and how many more the one that needs most does. No training, whose steps were asked for in all.
MoreLaunches launches_worth_adding(const Record& record, int planned, int launches);

/// Both together, weighted by their degrees of freedom; where one of them stands alone the larger
/// of the two. Absent where both are.
std::optional<LaunchDeviation> combine_deviations(const std::optional<LaunchDeviation>& a,
                                                  const std::optional<LaunchDeviation>& b);

/// From this size on transfers are bound by the link, and launches agree closely; smaller
/// operations are bound by their launch and wander.
inline constexpr Bytes kSteadySize{std::int64_t{1} << 20};

/// What is assumed where every case has one launch. Seen between runs of one launch each on two
/// H200 (results/README.md): at most 4.3 % apart from 1 MiB on, which is 1.96 sqrt(2) times the
/// first deviation; below, the three runs of all_reduce in results/ had root mean square
/// differences of 10 to 24 % with P2P, the larger ones sqrt(2) times the second.
inline constexpr double kAssumedDeviation = 0.015;
inline constexpr double kAssumedSmallDeviation = 0.15;

/// In CPU memory a transfer's time is that of its CPUs, and other work on them may double it: eight
/// launches of all_reduce on two cores that were also compiling differed by up to a factor of ten.
/// With this, only a factor of four or more shows between single launches.
inline constexpr double kAssumedCpuDeviation = 0.5;

/// On GPUs, for cases of this size.
double assumed_deviation(Bytes size);

/// By how much the mean log of launch medians, or of runs' means, moved between two sets of them;
/// slower is positive.
struct LaunchShift {
  double log = 0.0;
  LaunchDeviation between_launches;  ///< of one launch or run, on either side
  int before = 1;                    ///< launches or runs
  int after = 1;
  double rounding = 0.0;  ///< rounding_between() the two sides
};

/// The launches of each run, on average.
struct LaunchesOfRuns {
  double before = 1.0;
  double after = 1.0;
};

/// The shift between runs' means, which scatter by `between_runs` before. Runs that have fewer
/// launches after than before scatter by more: what the launches add to the variance of a mean is
/// added, with Satterthwaite's degrees of freedom. Runs of more launches are taken for no steadier.
LaunchShift shift_between_runs(const LaunchShift& runs,
                               const std::optional<LaunchDeviation>& between_launches,
                               const LaunchesOfRuns& launches);

/// Of the shift: the launches of both sides count, sqrt(s^2 (1/before + 1/after)), and how numbers
/// were rounded.
double standard_error(const LaunchShift& shift);

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

/// The 95 % interval, which is not narrower than what was rounded.
Interval interval_of(const LaunchShift& shift, ShiftQuantiles& quantiles);

/// The chance of so large a shift, or a larger one, where the true one is `bound`; and of so small
/// a one. What lies no further from the bound than its rounding has any chance. An infinite bound
/// gives 1: nothing lies beyond it. The deviation must have been observed.
double chance_above(const LaunchShift& shift, double bound);
double chance_below(const LaunchShift& shift, double bound);

/// How many launches would settle a question.
struct Settling {
  int launches = 0;           ///< after, in all
  bool baseline_too = false;  ///< as many before, for more after alone would not do
  bool operator==(const Settling&) const = default;
};

/// The fewest launches whose interval lies within the bounds or wholly beyond one of them, if shift
/// and deviation stay what they are and each launch adds as many degrees of freedom as those before
/// did; absent where kMostSettling are too few. The interval is one of those quantiles.
std::optional<Settling> launches_to_settle(const LaunchShift& shift, ShiftQuantiles& quantiles,
                                           double lower, double upper);

inline constexpr int kMostSettling = 100;

}  // namespace linkgain
