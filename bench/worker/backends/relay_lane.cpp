#include "relay_lane.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cstddef>

#include "kernels/copy/relay.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/stream_flag.hpp"

namespace linkgain {
namespace {

void wait(const gpu::Stream& stream, gpu::Event& event, const gpu::Stream& other) {
  event.record(other);
  event.hold(stream);
}

}  // namespace

/// As large as pays: on H200 chunks of 4 MiB get 50 of the 55 GB/s of PCIe by one stream. /dev/shm
/// may be as small as 64 MiB, a container's default.
Bytes EngineRelayLane::chunk_for(Bytes size, std::int64_t lanes) {
  constexpr std::int64_t kAllRings = std::int64_t{32} << 20;
  constexpr std::int64_t kLeast = std::int64_t{64} << 10;
  constexpr std::int64_t kMost = std::int64_t{4} << 20;
  constexpr std::int64_t kSlots = kStreams * kSlotsOfStream;
  const std::int64_t room = std::clamp(kAllRings / kSlots / lanes, kLeast, kMost);
  const std::int64_t wanted = std::clamp(size.value / kSlots, kLeast, room);
  return Bytes{static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(wanted)))};
}

Bytes EngineRelayLane::ring_bytes(Bytes chunk) {
  return Bytes{static_cast<std::int64_t>(sizeof(Counters)) +
               kStreams * kSlotsOfStream * chunk.value};
}

EngineRelayLane::EngineRelayLane(RelaySide side, void* ring, Bytes chunk)
    : side_(side),
      counters_(static_cast<Counters*>(ring)),
      slots_(static_cast<char*>(ring) + sizeof(Counters)),
      chunk_(chunk) {}

void EngineRelayLane::do_move(void* memory, Bytes size, gpu::Stream& stream) {
  for (const gpu::Stream& own : streams_) wait(own, joined_, stream);
  auto* begin = static_cast<char*>(memory);
  for (std::int64_t done = 0; done < size.value; done += chunk_.value) {
    move_chunk(begin + done, Bytes{std::min(chunk_.value, size.value - done)});
  }
}

void EngineRelayLane::move_chunk(char* memory, Bytes size) {
  const auto which = static_cast<std::size_t>(next_ % kStreams);
  const auto turn = static_cast<std::uint32_t>(next_ / kStreams);
  const std::int64_t place =
      static_cast<std::int64_t>(which) * kSlotsOfStream + turn % kSlotsOfStream;
  char* slot = slots_ + place * chunk_.value;
  const gpu::Stream& stream = streams_[which];
  std::uint32_t* sent = &counters_->sent[which].value;
  std::uint32_t* taken = &counters_->taken[which].value;
  const auto bytes = static_cast<std::size_t>(size.value);
  if (side_ == RelaySide::sends) {
    // Of the place's last turn the chunk must be taken.
    gpu::wait_for_flag(stream, taken, turn + 1 - kSlotsOfStream);
    gpu::check(cudaMemcpyAsync(slot, memory, bytes, cudaMemcpyDeviceToHost, stream.get()));
    gpu::write_flag(stream, sent, turn + 1);
  } else {
    gpu::wait_for_flag(stream, sent, turn + 1);
    gpu::check(cudaMemcpyAsync(memory, slot, bytes, cudaMemcpyHostToDevice, stream.get()));
    gpu::write_flag(stream, taken, turn + 1);
  }
  ++next_;
}

void EngineRelayLane::do_finish(gpu::Stream& stream) {
  for (const gpu::Stream& own : streams_) wait(stream, joined_, own);
}

Bytes KernelRelayLane::ring_bytes() { return Bytes{kernels::kRelayBytes}; }

KernelRelayLane::KernelRelayLane(RelaySide side, void* ring) : side_(side), ring_(ring) {}

void KernelRelayLane::do_move(void* memory, Bytes size, gpu::Stream& stream) {
  wait(stream_, joined_, stream);
  if (side_ == RelaySide::sends) {
    gpu::check(kernels::relay_send(ring_, memory, size.value, steps_, stream_.get()));
  } else {
    gpu::check(kernels::relay_receive(ring_, memory, size.value, steps_, stream_.get()));
  }
  steps_ += static_cast<std::uint32_t>(kernels::relay_steps(size.value));
}

void KernelRelayLane::do_finish(gpu::Stream& stream) { wait(stream, joined_, stream_); }

}  // namespace linkgain
