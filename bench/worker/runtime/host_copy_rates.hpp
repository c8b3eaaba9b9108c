#pragma once

#include "linkgain/base/units.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/runtime/backend.hpp"

/// The rates of pinned host copies that one rank measures; which ranks do so at a time is up to the
/// caller. Local to the rank; all throw what HostCopy throws.
namespace linkgain {

/// That the ranks of a host may take together when each copies alone, both ways.
inline constexpr Seconds kAloneOnAHost{0.18};

/// While all ranks copy: one way, then the other; the caller has all ranks pass a barrier before
/// each.
void copy_to_at_once(HostCopy& copy, HostCopyRates& rates);
void copy_from_at_once(HostCopy& copy, HostCopyRates& rates);

/// Alone, both ways, as one of `turns` of equal length. The rates at once, which are the lower
/// ones, tell how many copies that leaves time for: one at least, as many as at once at most.
CopyRates copy_alone(HostCopy& copy, const CopyRates& at_once, int turns);

}  // namespace linkgain
