#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/wait_report.hpp"

namespace linkgain::kernels {

/// Returns bytes of an inbox for messages of `bytes`: a flag beside every 4.
inline std::int64_t inbox_bytes(std::int64_t bytes) { return 2 * bytes; }

/// One side of a ping-pong: each message is sent when the one before it has arrived. Inboxes
/// are where a rank's messages arrive: in its device's memory, or in host memory that both reach;
/// zero before the first exchange, 16-byte aligned.
struct PingPong {
  void* inbox;
  void* peer_inbox;
  const void* message;  ///< what this side sends, aligned to 8 bytes
  void* received;       ///< what the other one sent, of the last round
  std::int64_t bytes;   ///< of a message, a multiple of 8
  bool starts;
  int peer = 0;       ///< the other side's rank, for what is said where it does not answer
  WaitBound bound{};  ///< of every wait for a message
};

/// Makes `rounds` round trips. Both sides must launch it with the same rounds, in the same order
/// and with the same `rounds_before`, the sum of those of earlier exchanges. One block: larger
/// messages go by as many items a thread. cudaErrorInvalidValue for other sizes.
cudaError_t ping_pong(const PingPong& side, int rounds, std::uint32_t rounds_before,
                      cudaStream_t stream);

/// Makes `loads` loads of 8 bytes by one thread, each from where the one before it told: `memory`
/// holds byte offsets. Begins at *position and leaves there where it came to; both are in memory of
/// the current device. No load is served by a cache of the multiprocessor.
cudaError_t pointer_chase(const void* memory, std::uint64_t* position, int loads,
                          cudaStream_t stream);

}  // namespace linkgain::kernels
