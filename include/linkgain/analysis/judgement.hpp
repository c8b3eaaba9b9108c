#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linkgain/base/names.hpp"
#include "linkgain/cases/tolerance.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/statistics/launch_shift.hpp"

/// Is it faster? Answered here for all commands: they differ in what they take for the reference,
/// in the tolerance, and in what faster and slower claim.
namespace linkgain {

/// What comparing a case with its reference came to, in the order in which a reader must see it.
enum class Verdict {
  missing,         ///< one side has it, the other one was to have it
  wrong_data,      ///< wrong elements
  other_path,      ///< the bytes took another path than the reference's
  same_path,       ///< variants that choose the path took the same one
  slower,          ///< more time than the reference
  unknown_path,    ///< the reference's path is known, and this one's is not: not slower, not proven
  other_launch,    ///< measured by the other launch mode alone, which nothing can be told from
  not_comparable,  ///< a side has no time that may be compared
  inconclusive,    ///< neither changed nor the same with confidence, or nothing is known
  faster,          ///< less time than the reference
  same,            ///< within the tolerance
  added,           ///< measured, and not in the reference
};

template <>
inline constexpr auto kNames<Verdict> = names<Verdict>("verdict",
                                                       {{Verdict::missing, "missing"},
                                                        {Verdict::wrong_data, "wrong-data"},
                                                        {Verdict::other_path, "other-path"},
                                                        {Verdict::same_path, "same-path"},
                                                        {Verdict::slower, "slower"},
                                                        {Verdict::unknown_path, "unknown-path"},
                                                        {Verdict::other_launch, "other-launch"},
                                                        {Verdict::not_comparable, "not comparable"},
                                                        {Verdict::inconclusive, "inconclusive"},
                                                        {Verdict::faster, "faster"},
                                                        {Verdict::same, "same"},
                                                        {Verdict::added, "added"}});

/// Tells whether a difference is shown: faster or slower.
bool is_change(Verdict verdict);
/// Tells whether a check fails by it.
bool fails(Verdict verdict);
/// Tells whether it neither fails nor passes: inconclusive, of an unknown path or of the other
/// launch mode.
bool is_open(Verdict verdict);

/// What faster and slower claim.
enum class Claim {
  /// That the time changed, by more than the tolerance as far as is known: the 95 % interval of the
  /// shift leaves 0 out, and the shift lies beyond the tolerance. The same is what has the whole
  /// interval within.
  change,
  /// That the true shift lies beyond the tolerance: by a one-sided t test of every case, of which
  /// kFalseDiscoveryRate may be wrong among those said to be slower, and among those said to be
  /// faster (benjamini_hochberg_beyond()). The same is what a one-sided test at that rate on either
  /// side finds within.
  beyond_tolerance,
};

/// Share of false alarms among the cases said to be slower, and among those said to be faster.
inline constexpr double kFalseDiscoveryRate = 0.05;

/// A change of less is worth no word, and no row, beside a larger one.
inline constexpr double kFewPerCent = 0.03;

/// Why a verdict is what it is, or what else may explain a time.
struct Reason {
  enum class Kind {
    not_measured,      ///< the run was not to measure it
    not_recorded,      ///< the other side lacks it
    no_time,           ///< skipped, too few samples
    wrong_data,        ///< which elements
    other_path,        ///< which paths
    path_lost,         ///< which path is not known any more
    other_launch,      ///< by which mode
    other_backend,     ///< which ones
    not_in_reference,  ///< nothing to compare it with
    one_launch,        ///< of which side
    agreeing,          ///< launches of a side agree to the last digit
    lost_runs,         ///< runs of a program failed or gave no number
    few_runs,          ///< one run of a program, or fewer than kFewestAlone that agree
    throttled,         ///< in how many samples
    disturbed,         ///< by what
    few_digits,        ///< `amount` is the smallest share that a program's digits show
    not_asked_for,     ///< a program's time or start-up beside metrics that were named
    one_of_many,       ///< it would be `alone` by itself, and is one of `amount` cases
  };
  Kind kind = Kind::no_time;
  std::string words{};  ///< of those whose comment asks
  double amount = 0.0;
  Verdict alone = Verdict::inconclusive;
  bool operator==(const Reason&) const = default;
};

/// What is known of a case before it is judged.
struct Question {
  std::optional<Verdict> fact{};  ///< which no statistic changes
  std::vector<Reason> reasons{};
  std::optional<double> log{};         ///< log(time / reference), where both are known
  std::optional<LaunchShift> shift{};  ///< the same with its error; absent where none is known
  std::optional<Interval> interval{};  ///< of the log, where there is no shift to make it of
  Tolerance tolerance{};
  std::optional<Tolerance> alike{};  ///< what is the same, where not what is in the tolerance
  std::optional<Path> lost_path{};   ///< the reference's, where this one's is not known
};

struct Judgement {
  Verdict verdict = Verdict::inconclusive;
  /// What the verdict rests on where it is no statistic, then what else may explain it.
  std::vector<Reason> reasons{};
  /// What the interval is made of: from the reference to what is judged.
  std::optional<LaunchShift> basis{};
  /// log(time / reference), and its 95 % interval where there is a basis.
  std::optional<double> shift{};
  std::optional<Interval> interval{};
  /// That a shift within the tolerance looks so slow, or so fast, by chance.
  std::optional<double> chance_slower{};
  std::optional<double> chance_faster{};
  /// The launches or runs that would settle an inconclusive case with an interval; absent where
  /// kMostSettling would not do. Beyond the tolerance so many that the test over all cases finds
  /// it.
  std::optional<Settling> settling{};

  bool has(Reason::Kind kind) const;
};

/// Judges the cases of a run together: one answer for each question, in their order.
std::vector<Judgement> judge(std::span<const Question> questions, Claim claim);

/// Judges the first variant beside a later one, the reference: any change counts, and what lies
/// within 10 % with all of its interval is the same. Ratios that say nothing, of which no command,
/// report or file shows any, are facts: wrong_data of either, missing where not both were measured,
/// same_path, and not_comparable of a program that lost runs or had too few. Inconclusive without
/// an interval is one launch.
Judgement judge_variants(const Record& record, const CaseResult& result, std::size_t variant);

/// Judges a kernel of ours beside the library's operation, the reference, which takes `ratio` times
/// as long, as variants are judged.
Verdict judge_beside_library(const Estimate& ratio);

/// Tells whether such a ratio means something.
bool has_speed_up(Verdict verdict);

/// Tells whether numbers are alike, but for how means of other counts of runs are rounded.
bool is_one(double ratio);

/// A program's runs of one variant that ended, and those that gave no number of them.
struct EndedRuns {
  std::size_t all = 0;
  std::size_t failed = 0;   ///< by themselves
  std::size_t lacking = 0;  ///< this case's metric alone

  std::size_t lost() const { return failed + lacking; }
};

/// Counts them; warm-up runs are left out.
EndedRuns ended_runs(const Record& record, const CaseResult& result, std::size_t variant);

/// Says whether all launches of both the first variant and this one gave each one number.
bool all_agree(const CaseResult& result, std::size_t variant);

}  // namespace linkgain
