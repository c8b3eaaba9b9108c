#pragma once

#include <cstdint>

#include "linkgain/base/data_type.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {

/// Elements offset … offset + count - 1 of a flat buffer.
struct ParameterRange {
  std::int64_t offset = 0;
  std::int64_t count = 0;

  std::int64_t end() const { return offset + count; }
  bool operator==(const ParameterRange&) const = default;
};

/// Returns the part of `range` that `rank` of `ranks` owns: the rank-th of equal parts. Throws
/// UsageError where it does not divide; every tensor of GPT-2 124M divides by 2, 4 and 8.
ParameterRange shard_of(const ParameterRange& range, int rank, int ranks);

/// `count` elements in the memory of whatever computes: a GPU's, or the host's. Owned by the model,
/// in the same place as long as it lives.
struct FlatMemory {
  void* data = nullptr;
  DataType type = DataType::float32;
  std::int64_t count = 0;

  Bytes bytes_of(const ParameterRange& range) const { return {range.count * size_of(type)}; }
  void* at(std::int64_t element) const {
    return static_cast<char*>(data) + element * size_of(type);
  }
  bool has(const ParameterRange& range) const {
    return range.offset >= 0 && range.count >= 0 && range.end() <= count;
  }
  /// Throws std::logic_error for a range that it does not have.
  void require(const ParameterRange& range) const;
};

}  // namespace linkgain
