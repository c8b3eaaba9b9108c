#include "linkgain/analysis/soak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

/// Gives the least change of a time that counts: a smaller one is none, however sure it is.
double least_drift(const Record& record, const Case& definition) {
  if (record.settings.backend == BackendKind::mpi) return kAssumedCpuDeviation;
  return precision_of(record.settings, definition);
}

/// Lets launches' medians stand for a launch each, in the order of time.
std::optional<Drift> find_drift(const std::vector<LaunchMedian>& launches, double least) {
  std::vector<double> logs;
  for (const LaunchMedian& each : launches) logs.push_back(std::log(each.time.value));
  const std::vector<std::vector<double>> series{logs};
  const std::optional<LevelChange> change = find_level_change(series, std::log1p(least));
  if (!change || change->log <= 0.0) return std::nullopt;
  return Drift{launches[change->before].launch, std::exp(change->log)};
}

SoakColumn column_of(const Record& record, const CaseResult& result, std::size_t variant,
                     const std::vector<SoakRow>& rows) {
  std::vector<LaunchMedian> launches = launch_medians(result, variant);
  const auto place_of = [](const LaunchMedian& each) {
    return static_cast<std::size_t>(each.launch);
  };
  std::erase_if(launches, [&](const LaunchMedian& each) { return place_of(each) >= rows.size(); });
  SoakColumn column{result.definition, result.variants[variant].variant};
  column.times.resize(rows.size());
  for (const LaunchMedian& each : launches) column.times[place_of(each)] = each.time;
  std::ranges::stable_sort(launches, {}, [&](const LaunchMedian& each) {
    return rows[place_of(each)].after_s;  // of one that was measured again, of its last time
  });
  column.drift = find_drift(launches, least_drift(record, result.definition));
  return column;
}

/// Gives the row whose launch was the last to begin before that time. One that was measured again
/// may have begun after those that follow it.
SoakRow& row_at(std::vector<SoakRow>& rows, double after_s) {
  const auto begun = [&](const SoakRow& row) {
    return row.after_s <= after_s ? row.after_s : -1.0;
  };
  return *std::ranges::max_element(rows, {}, begun);
}

std::vector<SoakRow> rows_of(const Record& record) {
  std::vector<SoakRow> rows;
  for (const double begin : record.launch_begins_s) {
    rows.push_back({.launch = static_cast<int>(rows.size()), .after_s = begin});
  }
  for (const CaseResult& result : record.cases) {
    for (const Sample& sample : result.samples) {
      const auto place = static_cast<std::size_t>(sample.launch);
      if (place >= rows.size()) continue;
      std::optional<int>& highest = rows[place].highest_temperature_c;
      for (const Health& health : sample.health) highest = std::max(highest, health.temperature_c);
    }
  }
  if (record.link_errors) {
    for (const ErrorGrowth& each : record.link_errors->grown) {
      row_at(rows, each.after_s).errors += each.growth;
    }
  }
  return rows;
}

/// Says "GPU 0", of a run without GPUs "rank 0".
std::string name_of_rank(const Record& record, int rank) {
  const auto place = static_cast<std::size_t>(rank);
  const auto& ranks = record.machine.ranks;
  if (place < ranks.size() && ranks[place].gpu) {
    return fmt::format("GPU {}", ranks[place].gpu->cuda_index);
  }
  return fmt::format("rank {}", rank);
}

/// Says "between GPU 0 and GPU 1 send_recv 256 MiB with p2p takes 1.31x the time from launch 41
/// on".
std::string drift_text(const Record& record, const SoakColumn& column) {
  const std::optional<Pair>& pair = column.definition.pair;
  const std::string where =
      pair ? fmt::format("between {} and {} ", name_of_rank(record, pair->from),
                         name_of_rank(record, pair->to))
           : std::string();
  return fmt::format("{}{} with {} takes {:.3g}x the time from launch {} on", where,
                     case_label(column.definition), column.variant, column.drift->ratio,
                     column.drift->launch + 1);
}

/// Puts those of pairs first: they tell which link it is.
std::vector<std::string> drifted(const Record& record, const std::vector<SoakColumn>& columns) {
  std::vector<const SoakColumn*> found;
  for (const SoakColumn& each : columns) {
    if (each.drift) found.push_back(&each);
  }
  std::ranges::stable_sort(found, std::greater{}, [](const SoakColumn* each) {
    return std::pair(each->definition.pair.has_value(), each->drift->ratio);
  });
  std::vector<std::string> words;
  for (const SoakColumn* each : found) words.push_back(drift_text(record, *each));
  return words;
}

/// Says "50 s", "15 min", "7.9 h".
std::string readable_span(double seconds) {
  constexpr double kMinute = 60.0;
  constexpr double kHour = 3600.0;
  if (seconds < 2.0 * kMinute) return fmt::format("{:.0f} s", seconds);
  return seconds < 2.0 * kHour ? fmt::format("{:.0f} min", seconds / kMinute)
                               : fmt::format("{:.1f} h", seconds / kHour);
}

/// Leaves a variant that was refused everything in none by intent.
std::vector<std::string> measured_in_fewer(const Record& record, std::size_t launches) {
  std::map<std::string, std::set<int>> measured;
  for (const CaseResult& result : record.cases) {
    for (const VariantResult& variant : result.variants) {
      const auto& skipped = variant.skipped;
      if (!skipped || skipped->reason == SkipReason::job_lost) measured[variant.variant];
    }
    for (const Sample& sample : result.samples) {
      measured[result.variants[static_cast<std::size_t>(sample.variant)].variant].insert(
          sample.launch);
    }
  }
  std::vector<std::string> fewer;
  for (const auto& [variant, own] : measured) {
    if (own.size() < launches) fewer.push_back(fmt::format("{} in {}", variant, own.size()));
  }
  return fewer;
}

}  // namespace

std::optional<SoakSummary> soak_summary(const Record& record) {
  if (record.launch_begins_s.empty()) return std::nullopt;
  SoakSummary soak;
  soak.rows = rows_of(record);
  for (const CaseResult& result : record.cases) {
    for (std::size_t i = 0; i < result.variants.size(); ++i) {
      soak.columns.push_back(column_of(record, result, i, soak.rows));
    }
  }
  soak.measured_in_fewer = measured_in_fewer(record, soak.rows.size());
  soak.counted_errors = record.link_errors.has_value();
  soak.degraded = grown_texts(record.link_errors);
  const std::vector<std::string> slower = drifted(record, soak.columns);
  soak.degraded.insert(soak.degraded.end(), slower.begin(), slower.end());
  return soak;
}

std::string soak_sentence(const SoakSummary& soak) {
  const auto [first, last] = std::ranges::minmax(soak.rows, {}, &SoakRow::after_s);
  const std::string over = fmt::format(
      "in {} within {}", counted(static_cast<std::int64_t>(soak.rows.size()), "launch", "launches"),
      readable_span(last.after_s - first.after_s));
  const std::string fewer =
      soak.measured_in_fewer.empty()
          ? ""
          : fmt::format(" Measured in fewer launches: {}.", first_named(soak.measured_in_fewer));
  if (soak.degraded.empty()) {
    return fmt::format(
        "No link degraded {}: {}, and no time drifted beyond its noise.{}", over,
        soak.counted_errors ? "no errors were counted" : "counters of errors could not be read",
        fewer);
  }
  constexpr std::size_t kNamed = 2;
  return fmt::format("Degraded {}: {}.{}", over, first_named(soak.degraded, kNamed, "; "), fewer);
}

void judge_soak(Record& record) {
  const std::optional<SoakSummary> soak = soak_summary(record);
  if (!soak) return;
  const std::vector<std::string> slower = drifted(record, soak->columns);
  if (slower.empty()) return;
  add_once(record.warnings,
           warning_of(WarningCode::soak_drift,
                      fmt::format("times drifted: {}", first_named(slower, 3, "; "))));
}

}  // namespace linkgain
