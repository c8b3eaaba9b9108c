#pragma once

#include "linkgain/core/units.hpp"

namespace linkgain::gpu {

/// Keeps device addresses that have just been freed from being handed out again, for as long as the
/// process lives; takes no memory. Whole 2 MiB from `first`, as the driver hands them out. False
/// where the driver has no such call or has given them to somebody else already.
bool retire_addresses(void* first, Bytes size) noexcept;

}  // namespace linkgain::gpu
