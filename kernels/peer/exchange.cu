#include "kernels/common/wait.cuh"
#include "kernels/peer/exchange.hpp"

namespace linkgain::kernels {
namespace {

constexpr unsigned kThreads = 256;

/// Returns a word that is different for every sender, round and place, so that one which is nowhere
/// else sent cannot pass for one that should be there.
__device__ std::uint32_t word_of(int rank, std::uint32_t round, std::int64_t place) {
  std::uint32_t word = static_cast<std::uint32_t>(place) * 2654435761u;
  word ^= (round * 2u + static_cast<std::uint32_t>(rank)) * 0x9e3779b9u;
  word ^= word >> 15;
  return word * 0x85ebca6bu;
}

__device__ std::uint32_t* flag_of(void* inbox) { return static_cast<std::uint32_t*>(inbox); }

__device__ volatile std::uint32_t* data_of(void* inbox, std::uint32_t round, std::int64_t words) {
  auto* const data =
      reinterpret_cast<volatile std::uint32_t*>(static_cast<char*>(inbox) + kExchangeFlagBytes);
  return data + (round % 2) * words;
}

__device__ void send(const ExchangeSide& side, std::uint32_t round) {
  if (side.fault == ExchangeFault::drop) return;
  const std::uint32_t sent = side.fault == ExchangeFault::stale ? 1 : round;
  volatile std::uint32_t* const data = data_of(side.peer_inbox, round, side.words);
  for (std::int64_t i = threadIdx.x; i < side.words; i += blockDim.x) {
    data[i] = word_of(side.rank, sent, i);
  }
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) store_release(flag_of(side.peer_inbox), round);
}

/// Counts wrong words past the first-level cache: a volatile load asks memory each time.
__device__ std::uint64_t wrong_words(const ExchangeSide& side, std::uint32_t round) {
  const volatile std::uint32_t* const data = data_of(side.inbox, round, side.words);
  std::uint64_t wrong = 0;
  for (std::int64_t i = threadIdx.x; i < side.words; i += blockDim.x) {
    if (data[i] != word_of(1 - side.rank, round, i)) ++wrong;
  }
  return wrong;
}

/// Exchanges by one block: send, fence and flag; wait; look; and so on.
__global__ void __launch_bounds__(kThreads)
    exchange_rounds(const ExchangeSide side, std::uint32_t rounds,
                    const TimeLimit::Arguments limit_arguments, ExchangeReport* report) {
  __shared__ unsigned long long all_wrong;
  if (threadIdx.x == 0) all_wrong = 0;
  __syncthreads();
  const TimeLimit limit(limit_arguments);
  std::uint64_t wrong = 0;
  std::uint32_t done = 0;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    send(side, round);
    int arrived = 0;
    if (threadIdx.x == 0) {
      wait_for_count(flag_of(side.inbox), round, limit);
      arrived = static_cast<std::int32_t>(load_acquire(flag_of(side.inbox)) - round) >= 0 ? 1 : 0;
    }
    if (__syncthreads_or(arrived) == 0) break;
    wrong += wrong_words(side, round);
    done = round;
    __syncthreads();  // everybody has looked before thread 0 signals the next round
  }
  atomicAdd(&all_wrong, static_cast<unsigned long long>(wrong));
  __syncthreads();
  if (threadIdx.x == 0) *report = {done, load_acquire(flag_of(side.inbox)), all_wrong};
}

}  // namespace

cudaError_t exchange(const ExchangeSide& side, std::uint32_t rounds, double limit_microseconds,
                     ExchangeReport* report, cudaStream_t stream) {
  if (side.words < 1 || rounds < 1) return cudaErrorInvalidValue;
  exchange_rounds<<<1, kThreads, 0, stream>>>(side, rounds,
                                              TimeLimit::arguments(limit_microseconds), report);
  return cudaGetLastError();
}

}  // namespace linkgain::kernels
