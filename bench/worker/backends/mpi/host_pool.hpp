#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace linkgain {

/// A pool of buffer slots in page-aligned CPU memory. Move-only owner. Without bytes it has none.
class HostPool {
 public:
  /// Throws MachineError where the memory is not to be had.
  HostPool(std::int64_t slot_bytes, std::int64_t slots);
  std::span<std::byte> slot(std::int64_t index);

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::int64_t slot_bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace linkgain
