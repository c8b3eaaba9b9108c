#include "linkgain/runtime/ranks.hpp"

#include <algorithm>
#include <cstdlib>

#include "linkgain/protocol/protocol.hpp"

namespace linkgain {

int ranks_of_launcher() {
  // That of a step of Slurm's: outside of one there is room for ranks, but none was started.
  int most = 0;
  for (const char* name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    if (const char* const text = std::getenv(name)) most = std::max(most, std::atoi(text));
  }
  return most;
}

std::optional<int> launched_rank() {
  for (const char* name : {protocol::kRankVariable, "PMIX_RANK"}) {
    if (const char* const text = std::getenv(name)) return std::atoi(text);
  }
  return std::nullopt;
}

}  // namespace linkgain
