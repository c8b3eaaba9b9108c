#include "linkgain/runtime/ranks.hpp"

#include <algorithm>
#include <cstdlib>

#include "linkgain/protocol/protocol.hpp"

namespace linkgain {

namespace {

int number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : 0;
}

}  // namespace

int ranks_of_launcher() {
  // That of a step of Slurm's: outside of one there is room for ranks, but none was started. Of a
  // step with a terminal (srun --pty) the first task has it, and whatever a shell there starts.
  const int tasks = number_in("SLURM_STEP_NUM_TASKS");
  const bool has_terminal =
      std::getenv("SLURM_PTY_PORT") != nullptr && number_in("SLURM_PROCID") == 0;
  const int of_pmi = number_in("PMI_SIZE");
  return std::max({number_in("OMPI_COMM_WORLD_SIZE"), number_in("MV2_COMM_WORLD_SIZE"),
                   has_terminal && of_pmi == tasks ? 0 : of_pmi, has_terminal ? 0 : tasks});
}

int ranks_of_launcher_here() {
  // "2(x3)" are two tasks on each of three nodes. Where nodes differ, the first one's number
  // counts.
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"}) {
    if (const int here = number_in(name); here > 0) return std::min(here, ranks_of_launcher());
  }
  return ranks_of_launcher();
}

std::optional<int> launched_rank() {
  for (const char* name : {protocol::kRankVariable, "PMIX_RANK"}) {
    if (const char* const text = std::getenv(name)) return std::atoi(text);
  }
  return std::nullopt;
}

}  // namespace linkgain
