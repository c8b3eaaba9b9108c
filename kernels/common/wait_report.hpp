#pragma once

#include <cstdint>

namespace linkgain::kernels {

/// What a kernel waits for; in WaitReport.
enum class WaitPhase : std::uint32_t {
  none,
  reporting,  ///< the rest of the report is being written
  sent,       ///< the signal that data are there
  finished,   ///< the signal that a peer is done with an operation, or with a chunk of it
  packet,     ///< a flag that lies in the data
  message,    ///< a message of a ping-pong
  turn,       ///< that a block of the same device is done
};

/// What a thread that waited in vain leaves in page-locked host memory, zeros at first. Of several
/// such threads the first one does; it writes the phase last.
struct alignas(16) WaitReport {
  WaitPhase phase;
  std::uint16_t peer;      ///< the rank that did not come; 0 for turn
  std::uint16_t block;     ///< of the kernel that waited
  std::uint32_t expected;  ///< counter or flag
  std::uint32_t seen;
};
static_assert(sizeof(WaitReport) == 16);

/// The longest wait in nanoseconds, of a WaitBound: 26 days. Kernels count them in 32 bits, in
/// steps of 2^20, and must see that a wait has passed its bound before the number wraps.
inline constexpr std::uint64_t kLongestWait = 0x7'ffff'ffff'ffff;  // below 2^51

/// How long a thread waits, and where it says that it did so in vain: it ends then, so that its
/// kernel does, and later kernels that wait with the same report end soon. A block whose threads
/// wait together ends as a whole, and sends nothing more. Without a report it ends
/// its kernel with an error (cudaErrorLaunchFailure).
struct WaitBound {
  WaitReport* report = nullptr;                ///< as the device sees it
  std::uint64_t nanoseconds = 30'000'000'000;  ///< at most kLongestWait
};

}  // namespace linkgain::kernels
