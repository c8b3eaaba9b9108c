#include "linkgain/gpt2/flat_memory.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "linkgain/base/errors.hpp"

namespace linkgain {

ParameterRange shard_of(const ParameterRange& range, int rank, int ranks) {
  if (range.count % ranks != 0) {
    throw UsageError(fmt::format("{} parameters do not divide by {} ranks", range.count, ranks),
                     "take 2, 4 or 8 ranks, or the strategy ddp");
  }
  const std::int64_t part = range.count / ranks;
  return {range.offset + rank * part, part};
}

void FlatMemory::require(const ParameterRange& range) const {
  if (has(range)) return;
  throw std::logic_error(
      fmt::format("{} elements from {} on, of a memory of {}", range.count, range.offset, count));
}

}  // namespace linkgain
