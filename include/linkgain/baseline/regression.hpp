#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linkgain/analysis/judgement.hpp"
#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/names.hpp"
#include "linkgain/baseline/baseline.hpp"

namespace linkgain {

/// Those that a check comes to.
inline constexpr std::array kVerdictsOfChecks{
    Verdict::missing,      Verdict::wrong_data,   Verdict::other_path,   Verdict::slower,
    Verdict::unknown_path, Verdict::other_launch, Verdict::inconclusive, Verdict::faster,
    Verdict::same,         Verdict::added};

/// What the error of a shift is taken from.
enum class Replicate {
  launch,  ///< how far launches lie apart: says nothing of how far runs do
  run,     ///< how far the baseline's runs lie apart
};

template <>
inline constexpr auto kNames<Replicate> =
    names<Replicate>("replicate", {{Replicate::launch, "launch"}, {Replicate::run, "run"}});

/// What a check says of one variant of one case, beside its reference in the baseline.
struct CaseCheck : Judgement {
  Case definition;
  std::string variant;
  bool headline = false;             ///< of its operation's largest size in the baseline
  Tolerance tolerance;               ///< of the case; the default where it was added
  std::optional<Seconds> reference;  ///< absent where the case was added
  std::optional<Seconds> time;       ///< absent where it is missing
  int reference_launches = 0;
  int launches = 0;
  Disturbance disturbance;                  ///< of what was checked
  Replicate replicate = Replicate::launch;  ///< of the interval, where there is one
};

struct CheckResult {
  std::string made;  ///< when the baseline was
  MachineKey key;
  std::vector<BaselineSource> sources;  ///< of what was checked
  std::vector<CaseCheck> cases;         ///< in the baseline's order, then those added
  std::vector<Warning> warnings;
  std::int64_t left_out = 0;  ///< records that were given and could not be read
};

/// Whether the runs that are checked came to their end. Of a complete one every case that was to be
/// measured has an entry, with a reason where it was not.
enum class RunsAre { complete, cut_short };

/// More open cases than this share of those compared with the baseline, and the check is
/// inconclusive.
inline constexpr double kMostInconclusive = 0.2;

/// Tells whether the check fails by the case, or is open by it: of a program whose metrics were
/// named by these alone, not by the time and start-up that every program has.
bool fails(const CaseCheck& check);
bool is_open(const CaseCheck& check);

/// Compares launches with a baseline, by judge() with Claim::beyond_tolerance. The replicate is the
/// run where the baseline knows how far runs lie apart, else the launch. A side of one launch
/// leaves a case inconclusive. Where the baseline knows the path and the launches do not, a case
/// that would be the same or inconclusive is unknown_path. A case by graph is never compared with
/// the same one by stream: where only that was measured it is other_launch instead of missing. What
/// complete runs have no entry of, another profile's cases, is inconclusive instead of missing.
/// `tolerance` replaces those of the baseline, overrides included.
CheckResult check_launches(std::span<const CaseLaunches> launches, const Baseline& baseline,
                           const std::optional<Tolerance>& tolerance = {},
                           RunsAre runs = RunsAre::complete);

/// Does the same for records, whose launches are pooled. Throws UsageError where one does not have
/// the baseline's key, naming what differs, or is given twice. Warns of what may explain a
/// difference: other variables, another selection of cases, a record that is part of the baseline
/// or incomplete, overrides that fit no case.
CheckResult check_records(std::span<const NamedRecord> records, const Baseline& baseline,
                          const std::optional<Tolerance>& tolerance = {});

/// Returns a shift of logarithms, or an end of its interval, as a share of the reference: 0.05 is 5
/// % slower.
std::optional<double> share_of(const std::optional<double>& log);

int count_of(const CheckResult& result, Verdict verdict);

/// Returns problem_found where a case fails; inconclusive where none does but a headline case is
/// open, or more than kMostInconclusive of those compared with the baseline, or a record was left
/// out; else success.
ExitCode exit_code_of(const CheckResult& result);

/// Writes one JSON document, schema "linkgain.check/1".
std::string to_json(const CheckResult& result);

}  // namespace linkgain
