#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/peer/peer_regions.hpp"
#include "kernels/verify/pattern.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/shared_memory.hpp"
#include "linkgain/runtime/session.hpp"
#include "nccl/batch_timer.hpp"
#include "nccl/nccl_buffer.hpp"
#include "slot_pools.hpp"

namespace linkgain {

/// How ranks may reach each other's memory.
struct PeerTransport {
  bool through_host = false;  ///< and over nothing else; the same on all ranks
  /// Why this rank must not use windows (device_api_problem()); one rank's reason counts for all.
  std::optional<std::string> why_no_windows{};
};

/// The memory that our own kernels work with across ranks: buffers of this rank's data, and scratch
/// in which ranks leave each other messages. With P2P scratch is on the rank's device, and all
/// reach each other's data and scratch through NCCL's windows; where NCCL has no device API, or a
/// rank cannot use it, all by CUDA IPC, which every NCCL and driver has. Through the host scratch
/// is in host memory that the ranks share, and data are the rank's own affair. Every rank must ask
/// for the same, and let it go only when all work with it is done, after release().
/// The communicator must outlive it. Movable, not copyable.
class PeerMemory {
 public:
  /// Prepares this rank's part; the others' is join()'s. Throws MachineError where there are more
  /// ranks than kernels can serve, CudaError.
  PeerMemory(Session& session, const NcclContext& context, Bytes data, Bytes scratch,
             PeerTransport transport);

  /// Makes memory and scratch of zeros, and makes the others' known; every rank must call it.
  /// Throws an Error where this rank could not, after all communication; the ranks must then agree
  /// to give it up, as others may not know.
  void join();

  /// Closes what is another rank's and returns when all have, once no rank works with it any more;
  /// every rank must call it. CUDA says nothing of memory that is freed while it is open elsewhere.
  void release();

  /// Returns the regions, valid after join() until release().
  const kernels::PeerRegions& regions() const { return regions_; }
  void* data() const { return regions_.data[regions_.rank]; }
  /// Returns what join() took, the same on every rank: "LSA pointers", "CUDA IPC (why no LSA
  /// pointers)" or "host memory".
  const std::string& transport() const { return taken_; }

 private:
  /// Device memory that all ranks reach through NCCL.
  struct Windows {
    NcclBuffer data;
    NcclBuffer scratch;
  };

  /// A rank's two allocations, as they are handed round.
  struct Handles {
    cudaIpcMemHandle_t data;
    cudaIpcMemHandle_t scratch;
  };

  std::optional<std::string> join_by_windows();
  void make_windows();
  void use_windows();
  void join_by_ipc();
  Handles make_shared_buffers();
  void join_through_host();
  std::optional<std::string> share_host_memory(gpu::SharedHostMemory (*make)(Bytes));

  Session& session_;
  NcclContext context_;
  PeerTransport transport_;
  Bytes data_bytes_;
  Bytes scratch_bytes_;
  std::optional<Windows> windows_;
  std::optional<gpu::DeviceBuffer> data_;        ///< but with windows
  std::optional<gpu::DeviceBuffer> scratch_;     ///< by CUDA IPC
  std::optional<gpu::SharedHostMemory> shared_;  ///< through the host
  std::vector<gpu::ImportedMemory> imported_;
  kernels::PeerRegions regions_{};
  std::string taken_;
};

/// The slots of a case on all ranks, in memory that they reach of each other where they share more
/// than host memory, and the scratch for what they leave each other.
class PeerPools {
 public:
  /// Prepares this rank's part of the pools. Throws what PeerMemory throws.
  PeerPools(const Case& c, const BufferPlan& plan, const NcclContext& context, Session& session,
            Bytes scratch, bool through_host);

  /// Joins the pools of all ranks; every rank must call it. Throws what PeerMemory::join() throws.
  void join();
  /// Releases the others' pools: see PeerMemory::release(). Every rank must call it.
  void release() { memory_.release(); }

  /// Returns a rank's input, valid after join(); not another rank's if memory goes through the
  /// host.
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
