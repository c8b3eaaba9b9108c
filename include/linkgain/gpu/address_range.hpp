#pragma once

#include "linkgain/base/units.hpp"

namespace linkgain::gpu {

/// Device addresses in a row.
struct AddressRange {
  void* first = nullptr;
  Bytes size{};
};

/// All that were mapped together with `memory`, which may be more than was asked for; that address
/// and `size` where the driver does not say.
AddressRange range_of(void* memory, Bytes size) noexcept;

/// Keeps addresses that have just been freed from being handed out again, for as long as the
/// process lives; takes no memory. Whole 2 MiB, as the driver hands them out. False where the
/// driver has no such call or has given them to somebody else already.
bool retire(const AddressRange& range) noexcept;

}  // namespace linkgain::gpu
