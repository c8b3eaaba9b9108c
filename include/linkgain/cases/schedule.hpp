#pragma once

#include <array>
#include <string_view>

namespace linkgain {

/// Whose turn it is.
enum class Schedule {
  paired,      ///< the variants', in each round
  sequential,  ///< one variant's for all cases of a launch, then the next one's
};

inline constexpr std::array kSchedules{Schedule::paired, Schedule::sequential};

/// Returns "paired" or "sequential".
std::string_view name_of(Schedule schedule);
/// Throws UsageError.
Schedule parse_schedule(std::string_view name);

}  // namespace linkgain
