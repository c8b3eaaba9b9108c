#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/names.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// Who wrote the times of a run.
enum class RunSource { record, nccl_tests };

template <>
inline constexpr auto kNames<RunSource> = names<RunSource>("source",
                                                           {{RunSource::record, "linkgain"},
                                                            {RunSource::nccl_tests, "nccl-tests"}});

/// One case of one variant.
struct CaseFigures {
  std::string name;  ///< case_name()
  Case definition;
  std::string variant;
  /// Why there is no time that may be compared ("skipped: no network", "wrong data: …"); empty
  /// where there is one.
  std::string no_time;
  bool wrong_data = false;
  /// Geometric mean of the launches' medians: two runs' times have the ratio that is compared.
  std::optional<Seconds> time;
  std::vector<LaunchMedian>
      launches;                 ///< in order; the same number is the same launch in all cases
  std::optional<double> algbw;  ///< at that time, 1e9 B/s
  std::optional<double> busbw;
  Path path = Path::unknown;
  /// Whether every message was a call of its own (kGroupedForm), not all one of the library; absent
  /// where the source does not report.
  std::optional<bool> grouped;
  HealthSummary health;
  Disturbance disturbance;
  std::optional<TrainingResult> training;  ///< of gpt2_step only
};

/// Which figure of a case a column shows.
enum class Metric { time, busbw, algbw };

template <>
inline constexpr auto kNames<Metric> = names<Metric>("metric", {{Metric::time, "time"},
                                                                {Metric::busbw, "busbw"},
                                                                {Metric::algbw, "algbw"}});

/// What can be compared of one run, whatever program wrote it.
struct RunFigures {
  std::string name;  ///< as the caller named it: "before.json"
  RunSource source = RunSource::record;
  std::string started;
  RunStatus status = RunStatus::complete;
  std::string_view ending = name_of(RunStatus::complete);  ///< ending_of() a record
  Machine machine;  ///< empty where the source does not report
  Settings settings;
  /// What nccl-tests was told and times depend on, as its file says it: "blocking_collectives" is
  /// "false". Empty of other sources.
  std::map<std::string, std::string> settings_of_nccl_tests{};
  std::optional<Neighbours> neighbours;  ///< absent where nobody looked
  std::optional<LinkErrors> link_errors{};
  std::vector<Warning> warnings{};  ///< the run's own
  std::vector<CaseFigures> cases;
  /// What copies of its record have in common and no other record has; empty of other sources.
  std::string identity{};
};

/// Takes the figures of a record; launch medians are formed from its samples.
RunFigures figures_of(const Record& record, const std::string& name);

}  // namespace linkgain
