#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/runtime/data_mapping.hpp"
#include "peer/memory.hpp"
#include "peer/peer_calls.hpp"

namespace linkgain {
namespace {

constexpr std::int64_t kRingAlignment = 4096;

void wait(const gpu::Stream& stream, gpu::Event& event, const gpu::Stream& other) {
  event.record(other);
  event.hold(stream);
}

std::int64_t rings_of(const Case& c) { return static_cast<std::int64_t>(transfers_of(c).size()); }

/// Returns every rank's share of the memory for all rings.
Bytes scratch_of(const Case& c, Bytes ring) {
  return Bytes{divide_up(rings_of(c) * ring.value, c.ranks)};
}

/// One side of a path between two ranks through host memory that both have page-locked: a ring of
/// chunks, which the sender's copy engine fills while the receiver's empties it. Successive
/// messages run into each other without a pause. Two streams take every second chunk each, so that
/// none waits for the next copy's start.
class StagingRing {
 public:
  /// Returns bytes of a ring's chunk for messages of `size`, of which `rings` share what memory
  /// there is. As large as pays: on H200 chunks of 4 MiB get 50 of the 55 GB/s of PCIe by one
  /// stream. Where it has to be in /dev/shm, that may be as small as 64 MiB, a container's default.
  static Bytes chunk_for(Bytes size, std::int64_t rings) {
    constexpr std::int64_t kAllRings = std::int64_t{32} << 20;
    constexpr std::int64_t kLeast = std::int64_t{64} << 10;
    constexpr std::int64_t kMost = std::int64_t{4} << 20;
    constexpr std::int64_t kSlots = kStreams * kSlotsOfStream;
    const std::int64_t room = std::clamp(kAllRings / kSlots / rings, kLeast, kMost);
    const std::int64_t wanted = std::clamp(size.value / kSlots, kLeast, room);
    return Bytes{static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(wanted)))};
  }

  /// Returns bytes of the ring.
  static Bytes bytes_for(Bytes chunk) {
    const std::int64_t bytes =
        static_cast<std::int64_t>(sizeof(Counters)) + kStreams * kSlotsOfStream * chunk.value;
    return Bytes{round_up(bytes, kRingAlignment)};
  }

  /// Makes one side of a ring; `ring` is zero when the first side starts, and outlives it.
  StagingRing(bool sends, void* ring, Bytes chunk)
      : sends_(sends),
        counters_(static_cast<Counters*>(ring)),
        slots_(static_cast<char*>(ring) + sizeof(Counters)),
        chunk_(chunk) {}

  /// Puts this rank's part of a message into streams of the ring's own, after what `stream` holds.
  void move(void* memory, Bytes size, const gpu::Stream& stream) {
    for (const gpu::Stream& own : streams_) wait(own, joined_, stream);
    auto* begin = static_cast<char*>(memory);
    for (std::int64_t done = 0; done < size.value; done += chunk_.value) {
      move_chunk(begin + done, Bytes{std::min(chunk_.value, size.value - done)});
    }
  }

  /// Has `stream` wait until all messages so far are through.
  void finish(const gpu::Stream& stream) {
    for (const gpu::Stream& own : streams_) wait(stream, joined_, own);
  }

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

  void move_chunk(char* memory, Bytes size) {
    const auto which = static_cast<std::size_t>(next_ % kStreams);
    const auto turn = static_cast<std::uint32_t>(next_ / kStreams);
    const std::int64_t place =
        static_cast<std::int64_t>(which) * kSlotsOfStream + turn % kSlotsOfStream;
    char* slot = slots_ + place * chunk_.value;
    const gpu::Stream& stream = streams_[which];
    std::uint32_t* sent = &counters_->sent[which].value;
    std::uint32_t* taken = &counters_->taken[which].value;
    const auto bytes = static_cast<std::size_t>(size.value);
    if (sends_) {
      // The chunk of the place's last turn must be taken.
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

  bool sends_;
  Counters* counters_;
  char* slots_;
  Bytes chunk_;
  std::int64_t next_ = 0;  ///< number of the next chunk
  gpu::Stream streams_[kStreams];
  gpu::Event joined_;
};

class HostStagedCopy : public DeviceCall {
 public:
  HostStagedCopy(const Case& c, const BufferPlan& plan, const NcclContext& context,
                 Session& session)
      : definition_(c),
        context_(context),
        chunk_(StagingRing::chunk_for(c.size, rings_of(c))),
        ring_(StagingRing::bytes_for(chunk_)),
        pools_(c, plan, context, session, scratch_of(c, ring_), true) {
    if (!gpu::has_stream_flags()) {
      throw MachineError("this driver's streams cannot wait for other processes' copies",
                         "leave copies out for this variant");
    }
    const std::vector<Transfer> transfers = transfers_of(c);
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      if (transfers[i].from == context.rank) parts_.push_back({transfers[i], i, true, nullptr});
      if (transfers[i].to == context.rank) parts_.push_back({transfers[i], i, false, nullptr});
    }
  }

 private:
  /// What of the operation this rank has to do.
  struct Part {
    Transfer transfer;
    std::size_t number;  ///< among all transfers
    bool sends;          ///< else it receives
    std::unique_ptr<StagingRing> ring;
  };

  /// Shares out the memory: the ranks' shares lie one after the other.
  void do_prepare() override {
    pools_.join();
    auto* rings = static_cast<char*>(pools_.memory().regions().scratch[0]);
    for (Part& part : parts_) {
      char* ring = rings + static_cast<std::int64_t>(part.number) * ring_.value;
      part.ring = std::make_unique<StagingRing>(part.sends, ring, chunk_);
    }
  }

  bool do_takes_part() const override { return !parts_.empty(); }
  void do_enqueue(std::int64_t slot) override {
    for (Part& part : parts_) {
      void* memory =
          part.sends ? pools_.own().input(slot)
                     : static_cast<char*>(pools_.own().output(slot)) + part.transfer.offset.value;
      part.ring->move(memory, definition_.size, *context_.stream);
    }
  }

  void do_finish() override {
    for (Part& part : parts_) part.ring->finish(*context_.stream);
  }

  void* do_output(std::int64_t slot) const override { return pools_.own().output(slot); }
  void do_fill(const kernels::Pattern& pattern) override { pools_.fill(pattern); }
  std::string do_form() const override {
    if (parts_.empty()) return {};
    return fmt::format("copy engines through a staging ring in host memory, chunks of {}",
                       readable_bytes(chunk_));
  }

  std::optional<bool> do_through_host() const override { return true; }
  std::optional<TransferPlan> do_plan() const override {
    return TransferPlan{"HOST_STAGED", std::string(kSimple)};
  }

  Case definition_;
  NcclContext context_;
  Bytes chunk_;
  Bytes ring_;
  std::vector<Part> parts_;
  PeerPools pools_;
};

}  // namespace

std::unique_ptr<DeviceCall> make_host_staged_copy(const Case& c, const BufferPlan& plan,
                                                  const NcclContext& context, Session& session) {
  return std::make_unique<HostStagedCopy>(c, plan, context, session);
}

}  // namespace linkgain
