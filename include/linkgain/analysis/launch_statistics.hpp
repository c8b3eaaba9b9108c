#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/record/record.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

/// A record and what to call it when something is to be said of it: the name it was given by.
struct NamedRecord {
  std::string name;
  Record record;
};

/// A launch's median over its samples, each the slowest rank's.
struct LaunchMedian {
  int launch = 0;  ///< counted through all records, so that no two of different records are one
  Seconds time;
  bool operator==(const LaunchMedian&) const = default;
};

/// A median of fewer samples is no median: one disturbed sample could be it.
inline constexpr int kFewestSamples = 3;

/// What several launches say of one variant of one case.
struct CaseLaunches {
  Case definition;
  std::string variant;
  std::vector<LaunchMedian> launches;  ///< in the order of the records and of their launches
  std::vector<Path> paths{};           ///< those known, each once
  std::string wrong_data{};            ///< what was wrong, empty where nothing was
  /// Why there are no launches: skipped, not sampled, too few samples. Empty where there are.
  std::string missing{};
  /// Whether some record that measured it does not know the path.
  bool path_unknown = false;
  int unhealthy_samples = 0;  ///< in which something but the power limit held a GPU back
};

/// One entry for each case and variant of any record, in the order in which they are first seen.
/// Launches are the replicates of a measurement, so samples go no further than this.
std::vector<CaseLaunches> launch_medians(std::span<const NamedRecord> records);

/// Mean of the logarithms of the launches' medians; there must be one.
double mean_log(std::span<const LaunchMedian> launches);

/// What stands for several launches: its logarithm is mean_log(). That of one launch is its median.
Seconds geometric_mean(std::span<const LaunchMedian> launches);

/// What bounds an operation's time, by its size, and with it why launches differ. Below 256 KiB the
/// launch of the work and the hand-shake between the ranks are most of it, and these depend on
/// where a launch's threads came to run; from 16 MiB on (kJudgedSize) messages go by one protocol
/// and the link's rate decides, which moves little; in between NCCL changes algorithm and protocol.
enum class SizeClass { latency, middle, bandwidth };

SizeClass size_class_of(Bytes size);
std::string_view name_of(SizeClass size_class);

/// Which cases are like each other, so that their launches scatter alike: those of one variant,
/// operation, launch mode and size class, NCCL's apart from our kernels'.
/// "p2p/all_reduce/stream/bandwidth".
std::string spread_pool(const Case& definition, const std::string& variant);

/// By how much the log of a launch's median differs between launches.
struct Spread {
  double deviation = 0.0;
  int degrees_of_freedom = 1;
  /// The case scatters so much more than those like it that it was left out of their pool, and this
  /// is its own.
  bool alone = false;
  bool operator==(const Spread&) const = default;
};

/// The spread of each case, pooled over the cases like it; absent where no case of its pool has two
/// launches, or all of them agree to the last bit, which says nothing of the next one. A case whose
/// own variance is improbably large beside that of the others (F test, 1 % over the pool) is left
/// out and stands alone, for else it would cry wolf at each launch.
///
/// The degrees of freedom are those that the launches support: launches in which all cases of the
/// pool are slow together, as by a worse placement of the ranks, are not as many observations as
/// there are cases. The sum of squares is split into that between launches and the rest, and the
/// degrees of freedom of the sum are Satterthwaite's (Biometrics Bulletin 2, 1946): K (n - 1) for
/// K cases that are independent of each other, n - 1 for cases that move as one.
std::vector<std::optional<Spread>> pooled_spreads(std::span<const CaseLaunches> cases);

/// Both together, weighted by their degrees of freedom; where one of them stands alone the larger
/// of the two. Absent where both are.
std::optional<Spread> combine_spreads(const std::optional<Spread>& a,
                                      const std::optional<Spread>& b);

/// From this size on transfers are bound by the link, and launches agree closely; smaller
/// operations are bound by their launch and wander.
inline constexpr Bytes kSteadySize{std::int64_t{1} << 20};

/// What is assumed where every case has one launch. Seen between runs of one launch each on two
/// H200 (results/README.md): at most 4.3 % apart from 1 MiB on, which is 1.96 sqrt(2) times the
/// first deviation; below, the three runs of all_reduce in results/ had root mean square
/// differences of 10 to 24 % with P2P, the larger ones sqrt(2) times the second.
inline constexpr double kAssumedSpread = 0.015;
inline constexpr double kAssumedSmallSpread = 0.15;

/// In CPU memory a transfer's time is that of its CPUs, and other work on them may double it: eight
/// launches of all_reduce on two cores that were also compiling differed by up to a factor of ten.
/// With this, only a factor of four or more shows between single launches.
inline constexpr double kAssumedCpuSpread = 0.5;

/// On GPUs, for cases of this size.
double assumed_deviation(Bytes size);

/// By how much the mean log of launch medians moved between two sets of launches; slower is
/// positive.
struct LaunchShift {
  double log = 0.0;
  Spread spread;   ///< of one launch, on either side
  int before = 1;  ///< launches
  int after = 1;
};

/// Of the shift: the launches of both sides count, sqrt(s^2 (1/before + 1/after)).
double standard_error(const LaunchShift& shift);

/// student_t_quantile(0.975, …), found once for each number of degrees of freedom: the cases of a
/// pool share theirs.
class ShiftQuantiles {
 public:
  double at(int degrees_of_freedom);

 private:
  std::map<int, double> known_;
};

/// The 95 % interval.
Interval interval_of(const LaunchShift& shift, ShiftQuantiles& quantiles);

/// The chance of so large a shift, or a larger one, where the true one is `bound`; and of so small
/// a one. An infinite bound gives 1: nothing lies beyond it.
double chance_above(const LaunchShift& shift, double bound);
double chance_below(const LaunchShift& shift, double bound);

/// How many launches would settle a question.
struct Settling {
  int launches = 0;           ///< after, in all
  bool baseline_too = false;  ///< as many before, for more after alone would not do
  bool operator==(const Settling&) const = default;
};

/// The fewest launches whose interval lies within the bounds or wholly beyond one of them, if shift
/// and spread stay what they are and each launch adds as many degrees of freedom as those before
/// did; absent where kMostSettling are too few.
std::optional<Settling> launches_to_settle(const LaunchShift& shift, ShiftQuantiles& quantiles,
                                           double lower, double upper);

inline constexpr int kMostSettling = 100;

}  // namespace linkgain
