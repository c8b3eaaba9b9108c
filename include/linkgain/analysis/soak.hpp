#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/record/record.hpp"

/// What a soak says: the same few cases again and again over hours.
namespace linkgain {

/// From a launch on a case took longer than before, by more than launches differ by chance.
struct Drift {
  int launch = 0;      ///< the first that took longer
  double ratio = 1.0;  ///< of the times since then to those before
  bool operator==(const Drift&) const = default;
};

/// One variant of one case over the launches.
struct SoakColumn {
  Case definition;
  std::string variant;
  std::vector<std::optional<Seconds>> times{};  ///< by SoakSummary::rows
  std::optional<Drift> drift{};
};

struct SoakRow {
  int launch = 0;
  double after_s = 0.0;  ///< its begin, since the run's
  std::optional<int> highest_temperature_c{};
  std::int64_t errors = 0;  ///< counted from its begin to the next one's
};

struct SoakSummary {
  std::vector<SoakRow> rows;
  std::vector<SoakColumn> columns;
  /// What degraded, each with why: links whose errors grew, most first, then what drifted, most
  /// first.
  std::vector<std::string> degraded;
  std::vector<std::string> measured_in_fewer{};  ///< than all launches: "p2p in 9"
  bool counted_errors = false;                   ///< the driver told some counter of them
};

/// Finds nothing in a record of another profile.
std::optional<SoakSummary> soak_summary(const Record& record);

/// Names what degraded most, or says that nothing did and by what that was judged; and the variants
/// that not all launches have.
std::string soak_sentence(const SoakSummary& soak);

/// Warns of what drifted, as "soak-drift".
void judge_soak(Record& record);

}  // namespace linkgain
