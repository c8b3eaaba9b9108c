#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace linkgain {

/// What a rank that start_local_ranks() starts inherits; numbers of open files.
struct LocalPlace {
  int rank = 0;
  int ranks = 1;
  int memory = -1;           ///< of meeting_bytes()
  std::vector<int> sockets;  ///< rank 0: to each other rank, by rank; another one: to rank 0
};

/// Writes it as the rank finds it in kRankVariable.
std::string text_of(const LocalPlace& place);

/// Reads that variable; absent where it is not set. Throws MachineError where it is no such text.
std::optional<LocalPlace> local_place();

/// Returns the size of the memory in which so many ranks meet, all zeros at first.
std::size_t meeting_bytes(int ranks);

}  // namespace linkgain
