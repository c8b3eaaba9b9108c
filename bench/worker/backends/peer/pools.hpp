#pragma once

#include <cstdint>
#include <vector>

#include "kernels/verify/pattern.hpp"
#include "nccl/context.hpp"
#include "peer/memory.hpp"
#include "slot_pools.hpp"

namespace linkgain {

/// The slots of a case on all ranks, in memory that they reach of each other where they share more
/// than host memory, and the scratch for what they leave each other.
class PeerPools {
 public:
  /// Local to the rank. Throws what PeerMemory throws.
  PeerPools(const Case& c, const BufferPlan& plan, const NcclContext& context, Session& session,
            Bytes scratch, bool through_host);

  /// Collective. Throws what PeerMemory::join() throws.
  void join();

  /// Valid after join(); another rank's not through the host.
  void* input(int rank, std::int64_t slot) const { return of(rank).input(slot); }
  void* output(int rank, std::int64_t slot) const { return of(rank).output(slot); }

  const SlotPools& own() const { return of(context_.rank); }
  void fill(const kernels::Pattern& pattern) const { own().fill(pattern, *context_.stream); }
  const PeerMemory& memory() const { return memory_; }

 private:
  const SlotPools& of(int rank) const { return slots_[static_cast<std::size_t>(rank)]; }
  void set_memory(int rank);

  NcclContext context_;
  std::vector<SlotPools> slots_;  ///< by rank
  PeerMemory memory_;
};

}  // namespace linkgain
