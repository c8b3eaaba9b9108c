#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/analysis/disturbance.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/statistics/launch_shift.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {

/// A record and what to call it when something is to be said of it: the name it was given by.
struct NamedRecord {
  std::string name;
  Record record;
};

/// Says why no launch of a variant counts, though it was measured: its data were wrong, or runs of
/// a program ended without a number, and may have been the slow ones. Empty where they count.
std::string why_no_launch_counts(const Record& record, const CaseResult& result,
                                 std::size_t variant);

/// Gives the launches by which every command judges a variant, and the cases like it.
std::vector<LaunchMedian> counted_launches(const Record& record, const CaseResult& result,
                                           std::size_t variant);

/// What several launches say of one variant of one case.
struct CaseLaunches {
  Case definition;
  std::string variant;
  /// In the order of the records and of their launches, which are counted through all records;
  /// counted_launches() of each, and none where a record has wrong data.
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

/// Gives one entry for each case and variant of any record, in the order in which they are first
/// seen.
std::vector<CaseLaunches> launch_medians(std::span<const NamedRecord> records);

/// Gives the same with each run as one replicate: the geometric mean of its launches. Runs of an
/// unchanged program may lie further apart than launches of one run do.
std::vector<CaseLaunches> by_run(std::span<const CaseLaunches> cases);

/// Says which cases are like each other, so that their launches scatter alike: those of one
/// variant, operation and launch mode whose sizes are within a factor of 16, NCCL's apart from our
/// kernels'. On two H200 launches differ by 1.9 % at 8 B and by 0.2 % at 256 MiB, in steps that are
/// small over such a factor. "p2p/all_reduce/stream/1MiB-16MiB".
std::string deviation_pool(const Case& definition, const std::string& variant);

/// Gives the between-launch deviation of each case, pooled over the cases like it; absent where no
/// case of its pool has two launches, or all of them agree to the last bit, which says nothing of
/// the next one. A case whose own variance is improbably large beside that of the others (F test, 1
/// % over the pool) is left out and stands alone, or it would cause a false alarm at each launch.
/// So does one whose launches took different paths.
///
/// The degrees of freedom are those that the launches support: launches in which all cases of the
/// pool are slow together, as by a worse placement of the ranks, are not as many observations as
/// there are cases. The sum of squares is split into that between launches and the rest, and the
/// degrees of freedom of the sum are Satterthwaite's (Biometrics Bulletin 2, 1946): K (n - 1) for
/// K cases that are independent of each other, n - 1 for cases that move as one.
std::vector<std::optional<LaunchDeviation>> pooled_deviations(std::span<const CaseLaunches> cases);

/// Says what launches of a case tell together, with the deviation that is known of them. Runs of a
/// program that all print the same have a deviation of 0, with as many degrees of freedom as any:
/// what a program prints may well be constant. There is one launch at least.
LaunchMean mean_of(const Case& definition, const std::vector<LaunchMedian>& launches,
                   const std::optional<LaunchDeviation>& deviation);

/// Gives the deviation of so many runs of a program that all agree, where none is known: 0. Of
/// measured times nothing.
std::optional<LaunchDeviation> deviation_of_agreeing(const Case& definition, int launches);

/// By case and variant of a record, in its order; absent where there is no time that counts. A time
/// of too few samples is of no launch.
using LaunchMeans = std::vector<std::vector<std::optional<LaunchMean>>>;

/// Gives the means with pooled_deviations().
LaunchMeans launch_means(const Record& record);

/// Gives rounding_between() a case's first variant and another one.
double rounding_of(const CaseResult& result, const std::string& variant);

/// Returns the path of what was measured, by the rules of this version: of what counters judge from
/// these, of our own work as the run does (own_path()), else what is recorded.
Path path_of(const Machine& machine, const Case& definition, const VariantResult& variant);

/// Gives every ratio of the record its interval, by launch_means() of all its cases, and says of
/// every case whether it converged: each interval within precision_of() the case. One that lost a
/// job or was interrupted has not. Of every case that has samples, calls summarise() first, and
/// takes the path of what counters judge from them, of our own work and of programs as the run does
/// (own_path(), path_of_program()), and the share of a limit from the bandwidth: so records of any
/// age are read by the same rules, and none is believed what they do not give. Ratios that
/// judge_variants() refuses are marked.
void summarise(Record& record);

struct MoreLaunches {
  std::vector<int> cases;
  int launches = 0;
};

/// Counts cases that more launches are expected to bring to their precision: those that `launches`
/// launches have not, and twice as many of the run's will (`planned`), if they scatter as before;
/// and how many more the one that needs most does. No training, whose steps were asked for in all.
MoreLaunches launches_worth_adding(const Record& record, int planned, int launches);

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

/// Assumes that of GPUs for cases of this size.
double assumed_deviation(Bytes size);

/// Gives ratio_between() our kernel, of which the case at `place` of the record is one, and NCCL's
/// operation or the copy engine: how many times longer the library takes. `means` are the record's.
/// Absent for other cases, and where either has no time of right data.
std::optional<Estimate> library_ratio(const Record& record, const LaunchMeans& means,
                                      std::size_t place, std::string_view variant);

/// Gives the rank whose own times in the samples of a case and variant stand out: the largest
/// median of all ranks, where it is above the median of the ranks' medians by more than `tolerance`
/// (a share). Absent with fewer than three ranks, without samples, or where no rank stands out.
std::optional<int> slowest_rank(const Record& record, std::string_view case_name,
                                std::string_view variant, double tolerance);

/// Gives the most that a variant moved over NVLink in a run, nvlink_bytes_in_a_run(); of a value on
/// the run's axis where one is named. 0 where nothing was counted.
double most_nvlink_bytes(const Record& record, const std::optional<std::string>& at = {});

}  // namespace linkgain
