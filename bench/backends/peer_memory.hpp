#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/peer_regions.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/ipc_memory.hpp"
#include "linkgain/gpu/shared_host_memory.hpp"
#include "linkgain/runtime/session.hpp"

namespace linkgain {

/// The memory that our own kernels work with across ranks: buffers of this rank's data, and scratch
/// in which ranks leave each other messages. With P2P scratch is on the rank's device and all reach
/// each other's data and scratch by CUDA IPC, which every NCCL and driver has; through the host
/// scratch is in host memory that the ranks share, and data are the rank's own affair. Every rank
/// must ask for the same. Movable, not copyable.
class PeerMemory {
 public:
  /// Local to the rank: allocates what is its own; scratch is zero. Throws MachineError where there
  /// are more ranks than kernels can serve, CudaError.
  PeerMemory(Session& session, Bytes data, Bytes scratch, bool through_host);

  /// Collective: makes the others' memory known. Throws an Error where this rank could not reach
  /// it, after all communication.
  void join();

  /// Valid after join() and as long as this lives.
  const kernels::PeerRegions& regions() const { return regions_; }
  void* data() const { return data_.data(); }

 private:
  /// A segment's name, which goes with this whatever happens.
  class SegmentName {
   public:
    SegmentName() = default;
    explicit SegmentName(std::string name) : name_(std::move(name)) {}
    SegmentName(SegmentName&& other) noexcept : name_(std::exchange(other.name_, {})) {}
    SegmentName& operator=(SegmentName&& other) noexcept {
      std::swap(name_, other.name_);
      return *this;
    }
    ~SegmentName() { remove(); }

    const std::string& text() const { return name_; }
    void remove() {
      if (!name_.empty()) gpu::remove_shared_memory(name_);
      name_.clear();
    }

   private:
    std::string name_;
  };

  /// A rank's two allocations, as they are handed round.
  struct Handles {
    cudaIpcMemHandle_t data;
    cudaIpcMemHandle_t scratch;
  };

  void join_over_p2p();
  void join_through_host();

  Session& session_;
  gpu::DeviceBuffer data_;
  Bytes scratch_bytes_;
  std::optional<gpu::DeviceBuffer> scratch_;  ///< with P2P
  Handles own_{};                             ///< with P2P
  SegmentName segment_;                       ///< through the host, on rank 0
  std::optional<gpu::SharedHostMemory> shared_;
  std::vector<gpu::ImportedMemory> imported_;
  kernels::PeerRegions regions_{};
};

}  // namespace linkgain
