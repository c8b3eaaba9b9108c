#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/analysis/launch_medians.hpp"

namespace linkgain {

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

}  // namespace linkgain
