#pragma once

#include <optional>
#include <string>
#include <type_traits>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/baseline/baseline.hpp"
#include "linkgain/record/record_members.hpp"

/// What a baseline holds. A member that is named here is written and read, and in the schema, which
/// LINKGAIN_UPDATE_GOLDENS=1 writes anew from it.
namespace linkgain {

inline constexpr json::Rule kDegrees{.most = 1e6};
inline constexpr json::Rule kDeviation{.most = 1000};

void describe_members(auto& visit, json::Is<MachineKey> auto& key) {
  visit.section("key",
                "What a record must have in common with the baseline; what is null or empty is not "
                "compared");
  visit("backend", key.backend);
  visit("ranks", key.ranks, "", {.most = kMostRanks});
  visit("hosts", key.hosts, "", {.least = 1});
  visit("gpus", key.gpus, "model by rank");
  visit("nvlinks", key.nvlinks, "active links by rank", json::kLinkCount);
  visit("links", key.links);
  visit("nccl", key.nccl, "major and minor version");
  visit("processor", key.processor, "of backend mpi, and of exec without GPUs");
  visit("mpi", key.mpi, "of backend mpi");
}

void describe_members(auto& visit, json::Is<BaselineVariant> auto& variant) {
  visit.section("variant");
  visit("name", variant.name);
  visit("environment", variant.environment, "what the variant sets");
  visit.sparse("environment_in_force", variant.in_force,
               "as the first record's worker saw it, of the variables that may be recorded, those "
               "inherited included; absent in older baselines");
}

void describe_members(auto& visit, json::Is<BaselineSource> auto& source) {
  visit.section("source", "A record that went in");
  visit("host", source.host);
  visit("started", source.started);
  visit("launches", source.launches);
  visit.sparse("digest", source.digest,
               "the record's; absent where it has none, and in older baselines",
               {.form = json::Form::digest});
  visit.sparse("program", source.program,
               "what linkgain exec ran, after its server where it had one; absent in records of "
               "linkgain run and in older baselines");
  visit.sparse("metrics", source.metrics,
               "how its metrics are read, and their units, by the metric's name; absent in records "
               "of linkgain run and in older baselines");
}

inline constexpr json::Rule kLowerBound{.above = -1.0, .most = 0.0};
inline constexpr const char* kMeaningOfLower =
    "faster than this share of the time is reported as suspiciously fast";
inline constexpr const char* kMeaningOfUpper = "slower than this share of the time fails";

void describe_members(auto& visit, json::Is<ToleranceOverride> auto& change) {
  visit.section("override");
  visit("cases", change.cases, "pattern on case names: * is any characters, slashes too, ? is one");
  visit.later("variant", change.variant, "pattern on variants; every one where it is left out");
  visit.sparse("lower", change.lower, kMeaningOfLower, kLowerBound);
  visit.sparse("upper", change.upper, kMeaningOfUpper);
}

void describe_members(auto& visit, json::Is<RunDeviation> auto& between_runs) {
  int degrees = between_runs.deviation.degrees_of_freedom.value_or(1);
  visit("runs", between_runs.runs, "that time_s is the mean of",
        {.least = kEnoughRuns, .most = 1e6});
  visit("spread", between_runs.deviation.deviation,
        "standard deviation of the logs of runs' means, pooled as the launches' is",
        {.above = 0.0, .most = kDeviation.most});
  visit("degrees_of_freedom", degrees, "of spread", {.least = 1, .most = kDegrees.most});
  visit.later("own_spread", between_runs.deviation.alone,
              "the case scatters too much between runs to be pooled");
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(between_runs)>>) {
    between_runs.deviation.degrees_of_freedom = degrees;
  }
}

void describe_members(auto& visit, json::Is<BaselineCase> auto& reference) {
  constexpr bool kIsWritten = std::is_const_v<std::remove_reference_t<decltype(reference)>>;
  LaunchDeviation known = reference.between_launches.value_or(LaunchDeviation{});
  std::optional<double> deviation;
  if (reference.between_launches) deviation = known.deviation;
  int degrees = known.degrees_of_freedom.value_or(0);
  std::optional<double> busbw;
  std::string pool;
  if constexpr (kIsWritten) {
    busbw = bus_bandwidth(reference.definition, reference.time);
    pool = deviation_pool(reference.definition, reference.variant);
  }
  visit.section("case");
  visit("case", reference.definition);
  visit("variant", reference.variant);
  visit("path", reference.path);
  visit("time_s", reference.time,
        "the reference: geometric mean of the launches' medians, or of the means of runs where "
        "between_runs is there",
        {.least = 1e-100, .most = 1e100});
  visit.later("busbw_gb_per_s", busbw,
              "the same as a bus bandwidth, for readers; refused where it contradicts time_s");
  visit("lower", reference.tolerance.lower, kMeaningOfLower, kLowerBound);
  visit("upper", reference.tolerance.upper, kMeaningOfUpper);
  visit("launches", reference.launches, "that time_s is the mean of", {.least = 1, .most = 1e6});
  visit("spread", deviation,
        "standard deviation of log launch medians, pooled over like cases (pool) or the case's own "
        "(own_spread); above 0, or null where it is not known",
        kDeviation);
  visit("degrees_of_freedom", degrees, "of spread; 0 where that is null", kDegrees);
  visit.later("own_spread", known.alone, "the case scatters too much to be pooled");
  visit.derived_sparse("pool", pool, "the cases that spread is pooled over, for readers");
  visit.later("launch_times_s", reference.launch_times, "the launches' medians, for readers");
  visit.sparse("resolution", reference.resolution,
               "of what a program prints: what a unit of the last digit is of the number; absent "
               "of others, and in older baselines",
               {.most = 1e100});
  visit.sparse("between_runs", reference.between_runs,
               "how far runs lie apart, of three runs or more; absent in other baselines and in "
               "older ones");
  if constexpr (!kIsWritten) {
    reference.stated_busbw = busbw;
    known.deviation = deviation.value_or(0.0);
    known.degrees_of_freedom = degrees;
    reference.between_launches.reset();
    if (deviation && degrees > 0) reference.between_launches = known;
  }
}

void describe_members(auto& visit, json::Is<Baseline> auto& baseline) {
  visit.constant("schema", kBaselineSchema);
  visit("made", baseline.made, "UTC, ISO 8601");
  visit("key", baseline.key);
  visit("variants", baseline.variants);
  visit("sources", baseline.sources);
  visit("overrides", baseline.overrides,
        "applied in their order to every case whose name fits; a later one wins");
  visit("warnings", baseline.warnings);
  visit("cases", baseline.cases, "", {.fewest = 1});
  visit.other("digest", std::string(),
              "of all before it: `baseline -o` replaces a file with this digest, and none that was "
              "edited; not looked at otherwise");
}

}  // namespace linkgain
