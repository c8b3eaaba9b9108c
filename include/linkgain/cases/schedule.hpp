#pragma once

#include <array>
#include <string_view>

#include "linkgain/base/names.hpp"

namespace linkgain {

/// Whose turn it is.
enum class Schedule {
  paired,      ///< the variants', in each round
  sequential,  ///< one variant's for all cases of a launch, then the next one's
};

template <>
inline constexpr auto kNames<Schedule> = names<Schedule>("schedule",
                                                         {{Schedule::paired, "paired"},
                                                          {Schedule::sequential, "sequential"}});
inline constexpr auto kSchedules = kValues<Schedule>;

}  // namespace linkgain
