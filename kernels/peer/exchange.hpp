#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace linkgain::kernels {

/// What a side does wrong, for tests of who looks at it.
enum class ExchangeFault {
  none,
  drop,   ///< it sends neither data nor flags
  stale,  ///< it sends flags, but only the first round's data
};

/// One side of an exchange between two kernels that run at once. An inbox is in its owner's device
/// memory, exchange_inbox_bytes() long, aligned to 128 bytes and zero before.
struct ExchangeSide {
  void* inbox;
  void* peer_inbox;
  std::int64_t words;  ///< of 4 bytes, sent in a round
  int rank;            ///< 0 or 1: what is sent differs with the sender
  ExchangeFault fault;
};

/// What a side saw.
struct ExchangeReport {
  std::uint32_t rounds;     ///< whose flags arrived in time
  std::uint32_t last_flag;  ///< the flag in the inbox at the end
  std::uint64_t wrong;      ///< words that were not those sent, of all rounds
};

inline constexpr std::int64_t kExchangeFlagBytes = 128;

/// Returns the bytes of an inbox: a flag, and data of two rounds in turn: whoever sends round r+2
/// has seen the other's flag of r+1, which that one sends when it has looked at the data of r.
constexpr std::int64_t exchange_inbox_bytes(std::int64_t words) {
  return kExchangeFlagBytes + 2 * words * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

/// Exchanges `rounds` rounds, both ways at once: each side stores data and then a flag into the
/// other's inbox, waits for the other's flag, and looks at every word. Both sides must launch it at
/// about the same time, on devices (or as processes that share one) that run both. A side that has
/// waited `limit_microseconds` since it began, or as many cycles as pass in that time at 4 GHz,
/// gives up: it never waits for ever. *report is in memory of the current device.
/// cudaErrorInvalidValue for fewer than one word or round.
cudaError_t exchange(const ExchangeSide& side, std::uint32_t rounds, double limit_microseconds,
                     ExchangeReport* report, cudaStream_t stream);

}  // namespace linkgain::kernels
