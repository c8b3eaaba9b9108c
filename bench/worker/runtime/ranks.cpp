#include "linkgain/runtime/ranks.hpp"

#include <cstdlib>

#include "linkgain/protocol/protocol.hpp"

namespace linkgain {

std::optional<int> launched_rank() {
  for (const char* name : {protocol::kRankVariable, "PMIX_RANK"}) {
    if (const char* const text = std::getenv(name)) return std::atoi(text);
  }
  return std::nullopt;
}

}  // namespace linkgain
