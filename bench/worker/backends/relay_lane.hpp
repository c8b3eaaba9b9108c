#pragma once

#include <cstdint>

#include "linkgain/base/units.hpp"
#include "linkgain/gpu/event.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain {

enum class RelaySide { sends, receives };

/// One side of a way between two ranks through host memory that both have page-locked: a ring of
/// chunks, which the sender's device fills while the receiver's empties it. Successive messages run
/// into each other without a pause.
class RelayLane {
 public:
  virtual ~RelayLane() = default;

  /// Puts this rank's part of a message into streams of the lane's own, after what `stream` holds.
  void move(void* memory, Bytes size, gpu::Stream& stream) { do_move(memory, size, stream); }
  /// Has `stream` wait until all messages so far are through.
  void finish(gpu::Stream& stream) { do_finish(stream); }

 private:
  virtual void do_move(void* memory, Bytes size, gpu::Stream& stream) = 0;
  virtual void do_finish(gpu::Stream& stream) = 0;
};

/// By copy engines. Two streams take every second chunk each, so that none waits for the next
/// copy's start.
class EngineRelayLane : public RelayLane {
 public:
  /// Bytes of a ring's chunk for messages of `size`, of which `lanes` share what memory there is.
  static Bytes chunk_for(Bytes size, std::int64_t lanes);
  /// Bytes of the ring.
  static Bytes ring_bytes(Bytes chunk);

  /// `ring` is zero when the first lane comes up, and outlives it.
  EngineRelayLane(RelaySide side, void* ring, Bytes chunk);

 private:
  static constexpr int kStreams = 2;
  static constexpr int kSlotsOfStream = 2;

  /// At the ring's start, of each stream: chunks sent and taken, a cache line each.
  struct alignas(128) Counter {
    std::uint32_t value;
  };
  struct Counters {
    Counter sent[kStreams];
    Counter taken[kStreams];
  };

  void do_move(void* memory, Bytes size, gpu::Stream& stream) override;
  void do_finish(gpu::Stream& stream) override;
  void move_chunk(char* memory, Bytes size);

  RelaySide side_;
  Counters* counters_;
  char* slots_;
  Bytes chunk_;
  std::int64_t next_ = 0;  ///< number of the next chunk
  gpu::Stream streams_[kStreams];
  gpu::Event joined_;
};

/// By kernels::relay_send() and relay_receive().
class KernelRelayLane : public RelayLane {
 public:
  static Bytes ring_bytes();

  KernelRelayLane(RelaySide side, void* ring);

 private:
  void do_move(void* memory, Bytes size, gpu::Stream& stream) override;
  void do_finish(gpu::Stream& stream) override;

  RelaySide side_;
  void* ring_;
  std::uint32_t steps_ = 0;
  gpu::Stream stream_;
  gpu::Event joined_;
};

}  // namespace linkgain
