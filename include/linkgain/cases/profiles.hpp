#pragma once

#include <optional>
#include <vector>

#include "linkgain/base/names.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/selection.hpp"

namespace linkgain {

/// What `linkgain run --profile` measures.
enum class Profile { quick, standard, bridge, inference, full, node, soak };

template <>
inline constexpr auto kNames<Profile> = names<Profile>("profile",
                                                       {{Profile::quick, "quick"},
                                                        {Profile::standard, "default"},
                                                        {Profile::bridge, "bridge"},
                                                        {Profile::inference, "inference"},
                                                        {Profile::full, "full"},
                                                        {Profile::node, "node"},
                                                        {Profile::soak, "soak"}});

struct ProfilePlan {
  std::vector<Selection> selections;
  int launches = 6;
  std::optional<Seconds> budget;
  bool adds_launches = true;  ///< where they make an interval narrow enough
};

/// Returns what a profile measures, as far as its operations exist. The mpi backend's sweeps end at
/// 64 MiB.
ProfilePlan plan_of(Profile profile, BackendKind backend);

/// Returns the sizes at which an operation is measured that no profile in force contains.
Selection usual_selection(OperationKind operation, BackendKind backend);

}  // namespace linkgain
