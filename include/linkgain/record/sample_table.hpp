#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "linkgain/base/json_members.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// The samples of all cases in the order measured, in columns of one value each a sample.
struct SampleTable {
  std::vector<std::int64_t> place{};  ///< of the case among all
  std::vector<int> variant{};
  std::vector<int> launch{};
  std::vector<int> round{};
  std::vector<int> position{};
  std::vector<std::int64_t> operations{};
  std::vector<std::vector<std::optional<double>>> seconds_by_rank{};
  std::vector<std::vector<std::optional<int>>> temperature_c_by_rank{};
  std::vector<std::vector<std::optional<double>>> power_w_by_rank{};
  std::vector<std::vector<std::optional<int>>> sm_clock_mhz_by_rank{};
  std::vector<std::vector<std::optional<std::uint64_t>>> clock_event_reasons_by_rank{};
  // Empty where all samples have the default.
  std::vector<std::optional<double>> loss{};
  std::vector<double> resolution{};
  std::vector<bool> disturbed{};
  std::vector<bool> unverified{};
};

namespace json {

inline constexpr Rule kCount{.most = 1e9};

}  // namespace json

void describe_members(auto& visit, json::Is<SampleTable> auto& samples) {
  visit.section("samples",
                "Columns of equal length, one row a sample; *_by_rank holds one column for each "
                "rank.");
  visit("case", samples.place, "place in cases", json::kCount);
  visit("variant", samples.variant, "place among the case's variants", json::kCount);
  visit("launch", samples.launch, "", json::kCount);
  visit("round", samples.round, "", json::kCount);
  visit("position", samples.position,
        "of the variant within its round; of a run of linkgain exec, among all its runs",
        json::kCount);
  visit("operations", samples.operations, "in the batch", {.least = 1, .most = 1e10});
  visit("seconds_by_rank", samples.seconds_by_rank,
        "per operation; null of ranks that take no part", {.above = 0.0, .most = 1e100});
  visit("temperature_c_by_rank", samples.temperature_c_by_rank);
  visit("power_w_by_rank", samples.power_w_by_rank);
  visit("sm_clock_mhz_by_rank", samples.sm_clock_mhz_by_rank);
  visit("clock_event_reasons_by_rank", samples.clock_event_reasons_by_rank);
  visit.sparse("loss", samples.loss,
               "of a training's last step, over all ranks; null of other operations",
               json::kAnyNumber);
  visit.sparse("resolution", samples.resolution,
               "of numbers that a program printed: what a unit of the last digit is of the number; "
               "0 of others; absent where it is 0 of all, and in older records",
               {.most = 1e100});
  visit.sparse("disturbed", samples.disturbed,
               "whether others worked on a GPU since the last look that saw none, as far as is "
               "known; absent where it is false of all");
  visit.sparse("unverified", samples.unverified,
               "whether the data of the sample's launch were not checked, because the job was lost "
               "or the run was ended before; absent where it is false of all");
}

/// The samples of all cases, and of one alone.
SampleTable table_of(const std::vector<CaseResult>& cases);
SampleTable table_of(std::size_t place, std::span<const Sample> samples);
/// Gives every sample to its case, numbered from `first_sequence` on. Throws UsageError where
/// columns differ in length, or a sample is of a case or a variant that is not there.
void add_samples(const SampleTable& table, std::vector<CaseResult>& cases, int first_sequence = 0);

}  // namespace linkgain
