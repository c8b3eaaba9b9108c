#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/cases/tolerance.hpp"
#include "linkgain/machines/machine_key.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

inline constexpr std::string_view kBaselineSchema = "linkgain.baseline/1";

/// With fewer launches a baseline is weak: its own error is a large part of what a check must
/// allow for.
inline constexpr int kEnoughLaunches = 8;

/// From so many runs on a baseline knows how far runs lie apart: two tell next to nothing of that.
inline constexpr int kEnoughRuns = 3;

/// By how much the means of runs differ, and how many runs said so.
struct RunDeviation {
  int runs = 0;
  LaunchDeviation deviation;  ///< of one run's mean, whose launches are a part of it
};

/// What one variant of one case took on a machine that is as it should be.
struct BaselineCase {
  Case definition;
  std::string variant;
  Path path = Path::unknown;
  /// Per operation: geometric mean of the launches' medians; of the runs' means where
  /// `between_runs` is known.
  Seconds time;
  int launches = 0;  ///< that `time` is the mean of
  Tolerance tolerance;
  std::optional<LaunchDeviation>
      between_launches;  ///< between launches; absent where no like case has two of them
  std::vector<Seconds> launch_times;           ///< the launches' medians, for readers
  double resolution = 0.0;                     ///< resolution_of() the launches
  std::optional<double> stated_busbw{};        ///< as a file has it beside `time`
  std::optional<RunDeviation> between_runs{};  ///< absent of fewer than kEnoughRuns
};

/// Replaces the tolerance of the cases whose name fits a pattern. Of a bound that is not given the
/// case's own stays; one that is given and holds nothing is unbounded.
struct ToleranceOverride {
  std::string cases;          ///< glob on case names
  std::string variant = "*";  ///< glob on variants
  std::optional<std::optional<double>> lower;
  std::optional<std::optional<double>> upper;
};

/// A record that a baseline was made from.
struct BaselineSource {
  std::string host;
  std::string started;
  int launches = 0;
  std::string digest{};   ///< the record's; empty where it has none
  std::string program{};  ///< of `linkgain exec`: server and command; empty otherwise
  /// How its metrics are read, by name: "last of 'lat: ([0-9.]+)' in ms".
  std::map<std::string, std::string> metrics{};
  bool operator==(const BaselineSource&) const = default;
};

/// Tells whether both are of one run. Two that began in the same second, as on other GPUs of a
/// node, are told apart by their digests; where one has none host, begin and launches decide.
bool are_one_run(const BaselineSource& one, const BaselineSource& other);

/// A variant, and what was in force for it.
struct BaselineVariant {
  std::string name;
  Environment environment;
  /// Those inherited included; absent where that is not known.
  std::optional<Environment> in_force{};
  bool operator==(const BaselineVariant&) const = default;
};

/// What later runs of like machines are compared with.
struct Baseline {
  std::string made;  ///< UTC
  MachineKey key;
  std::vector<BaselineVariant> variants;
  std::vector<BaselineSource> sources;
  std::vector<ToleranceOverride> overrides;
  std::vector<Warning> warnings;
  std::vector<BaselineCase> cases;
};

/// Makes a baseline from the launches of all records, each a replicate. What is not fit to be a
/// reference is left out, and a warning says so: wrong data, skipped cases, cases whose launches
/// took different paths. Throws UsageError where the records are not of one key, ran different
/// programs or read metrics differently, set a variant's variables differently, one of them is
/// given twice, or nothing is left.
Baseline make_baseline(std::span<const NamedRecord> records, const Tolerance& tolerance,
                       const std::string& made);

/// Makes one from what launch_medians() gave, without key, variants and sources.
Baseline baseline_of(std::span<const CaseLaunches> cases, const Tolerance& tolerance);

/// Returns a case's own tolerance, changed by each override that fits, in their order.
Tolerance tolerance_of(const Baseline& baseline, const BaselineCase& reference);

/// Says where a record came from, to be known again.
BaselineSource source_of(const Record& record);

/// Throws UsageError where both have a metric of one name that is read otherwise or has another
/// unit: its numbers are other quantities. `name` and `known_name` say whose they are.
void require_same_metrics(const BaselineSource& source, const std::string& name,
                          const BaselineSource& known, const std::string& known_name);

/// Says what keeps runs of the two keys from being compared, a line each: "NCCL: 2.28 there, 2.27
/// here". What one of them does not know is not compared.
std::vector<std::string> differences(const MachineKey& there, const MachineKey& here);

/// Throws UsageError where two records have different keys, naming what differs, or one of them is
/// given twice.
void require_like_records(std::span<const NamedRecord> records);

/// Says what a baseline holds, for who has just made it: machine, cases, launches, the deviation of
/// each pool of like cases, warnings.
Document baseline_summary(const Baseline& baseline);

extern const FileKind kBaselineFile;

/// Writes one JSON document for people to read and edit.
std::string to_json(const Baseline& baseline);

/// Reads a baseline. Throws UsageError that says where the document departs from the schema, or
/// that its version is another.
Baseline parse_baseline(std::string_view text, const std::string& origin);
Baseline read_baseline(const std::filesystem::path& path);

}  // namespace linkgain
