#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/baseline/baseline.hpp"

namespace linkgain {

/// What a check says of one variant of one case. The first four fail.
enum class RegressionVerdict {
  missing,       ///< in the baseline, and not measured though the run was to
  wrong_data,    ///< wrong elements
  other_path,    ///< the bytes took another path than the baseline's
  slower,        ///< beyond the tolerance, with confidence
  unknown_path,  ///< the baseline's path is known, and now it is not: not slower, and not proven
  other_launch,  ///< measured by the other launch mode alone, which nothing can be told from
  inconclusive,  ///< neither beyond nor within the tolerance with confidence, of one launch, or not
                 ///< part of the run
  faster,        ///< faster than the tolerance with confidence: suspiciously fast
  same,          ///< within the tolerance, by a one-sided t test at 5 % on either side
  added,         ///< measured, and not in the baseline: nothing to compare it with
};

inline constexpr std::array kRegressionVerdicts{
    RegressionVerdict::missing,      RegressionVerdict::wrong_data,
    RegressionVerdict::other_path,   RegressionVerdict::slower,
    RegressionVerdict::unknown_path, RegressionVerdict::other_launch,
    RegressionVerdict::inconclusive, RegressionVerdict::faster,
    RegressionVerdict::same,         RegressionVerdict::added};

/// "missing", "wrong-data", "other-path", "slower", ...
std::string_view name_of(RegressionVerdict verdict);
bool fails(RegressionVerdict verdict);
/// Neither failed nor passed: inconclusive, of an unknown path or of the other launch mode.
bool is_open(RegressionVerdict verdict);

/// What the error of a shift is taken from.
enum class Replicate {
  launch,  ///< how far launches lie apart: says nothing of how far runs do
  run,     ///< how far the baseline's runs lie apart
};

/// "launch", "run"
std::string_view name_of(Replicate replicate);

struct CaseCheck {
  Case definition;
  std::string variant;
  RegressionVerdict verdict = RegressionVerdict::inconclusive;
  bool headline = false;  ///< of its operation's largest size in the baseline
  /// What the verdict rests on where it is no statistic: "0.0 of ...", "nvlink before, host-memory
  /// now"; and what else may explain it. May be empty.
  std::string reason;
  Tolerance tolerance;               ///< of the case; the default where it was added
  std::optional<Seconds> reference;  ///< absent where the case was added
  std::optional<Seconds> time;       ///< absent where it is missing
  int reference_launches = 0;
  int launches = 0;
  Disturbance disturbance;  ///< of what was checked
  /// log(time / reference) and its 95 % interval; the interval is absent where a side has one
  /// launch or no deviation is known.
  std::optional<double> shift;
  std::optional<Interval> interval;
  Replicate replicate = Replicate::launch;  ///< of the interval, where there is one
  /// That a shift within the tolerance looks so slow, or so fast, by chance.
  std::optional<double> chance_slower;
  std::optional<double> chance_faster;
  /// Of inconclusive cases with an interval, more than there are, launches or runs; absent where
  /// kMostSettling would not do. Beyond the tolerance so many that the test over all cases finds
  /// it.
  std::optional<Settling> settling;
};

struct CheckResult {
  std::string made;  ///< when the baseline was
  MachineKey key;
  std::vector<BaselineSource> sources;  ///< of what was checked
  std::vector<CaseCheck> cases;         ///< in the baseline's order, then those added
  std::vector<Warning> warnings;
};

/// Whether the runs that are checked came to their end. Of a complete one every case that was to be
/// measured has an entry, with a reason where it was not.
enum class RunsAre { complete, cut_short };

/// Share of false alarms among the cases said to be slower, and among those said to be faster.
inline constexpr double kFalseDiscoveryRate = 0.05;
/// More open cases than this share of those compared with the baseline, and the check is
/// inconclusive.
inline constexpr double kMostInconclusive = 0.2;

/// Compares launches with a baseline. The replicate is the run where the baseline knows how far
/// runs lie apart, else the launch: shift of the mean log of runs' means or of launch medians, its
/// error from their deviation on both sides pooled over like cases (pooled_deviations). A case is
/// slower where a one-sided t test says that the shift is beyond the tolerance, by
/// benjamini_hochberg_beyond() over all cases and variants; faster likewise on the other side; same
/// where a one-sided t test at kFalseDiscoveryRate on either side says that it is within the
/// tolerance (the 90 % interval lies within); else inconclusive. A side of one launch leaves all of
/// these inconclusive. Where the baseline knows the path and the launches do not, a case that would
/// be one of the last two is unknown_path. A case by graph is never compared with the same one by
/// stream: where only that was measured it is other_launch instead of missing. What complete runs
/// have no entry of, another profile's cases, is inconclusive instead of missing. `tolerance`
/// replaces those of the baseline, overrides included.
CheckResult check_launches(std::span<const CaseLaunches> launches, const Baseline& baseline,
                           const std::optional<Tolerance>& tolerance = {},
                           RunsAre runs = RunsAre::complete);

/// The same for records, whose launches are pooled. Throws UsageError where one does not have the
/// baseline's key, naming what differs, or is given twice. Warns of what may explain a difference:
/// other variables, another selection of cases, a record that is part of the baseline or
/// incomplete, overrides that fit no case.
CheckResult check_records(std::span<const NamedRecord> records, const Baseline& baseline,
                          const std::optional<Tolerance>& tolerance = {});

/// A shift of logarithms, or an end of its interval, as a share of the reference: 0.05 is 5 %
/// slower.
std::optional<double> share_of(const std::optional<double>& log);

int count_of(const CheckResult& result, RegressionVerdict verdict);

/// problem_found where a case fails; inconclusive where none does but a headline case is open, or
/// more than kMostInconclusive of those compared with the baseline; else success.
ExitCode exit_code_of(const CheckResult& result);

/// One JSON document, schema "linkgain.check/1".
std::string to_json(const CheckResult& result);

}  // namespace linkgain
