#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "linkgain/race/race.hpp"
#include "linkgain/record/record.hpp"

/// A race of NCCL's variables, `linkgain run --tune`, found out from its record alone, while it
/// runs and ever after: Settings::race tells which launches choose and which confirm.
namespace linkgain {

/// The file of a run's folder under whose name NCCL's example tuner plugin looks for its choices.
inline constexpr std::string_view kTunerFile = "nccl_tuner.conf";

enum class RaceStage { screening, choosing, confirming };

/// Returns who is measured in a stage of the race, by the samples of the stages before. The first
/// stage has every variant in every case, but those that force protocol LL128 where not every pair
/// of ranks is joined by NVLink: NCCL then takes it although lines may arrive in parts, and data
/// may be wrong. The last stage has the winners, each in all cases, so that it is known where they
/// take longer, too.
Field field_of(const Record& record, RaceStage stage);

/// What a race came to, by case as the record has them.
struct Tuning {
  std::vector<Variant> variants;     ///< all, of which winners and means are by place
  std::int64_t screened = 0;         ///< candidates, each in each case where it was measured
  std::int64_t left = 0;             ///< those of them that may win, by the launches that choose
  std::vector<std::size_t> winners;  ///< winners_of() these
  LaunchMeans choice;                ///< of those launches
  std::vector<Confirmation> confirmations{};  ///< confirmations_of() the launches that confirm
};

/// Finds it; absent of a record of anything else.
std::optional<Tuning> tuning_of(const Record& record);

/// Returns the record of the launches that confirm alone, as if it were of a run of the first
/// variant and the winners: what tables show had no part in choosing them. Where there is nothing
/// to confirm, that of the first variant in all launches.
Record confirming_part(const Record& record);

}  // namespace linkgain
