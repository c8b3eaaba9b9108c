#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string_view>

#include "kernels/all_reduce/methods.hpp"
#include "kernels/common/element.hpp"
#include "kernels/common/wait_report.hpp"
#include "kernels/peer/peer_regions.hpp"

namespace linkgain::kernels {

struct AllReduceChoice {
  AllReduceMethod method = AllReduceMethod::ll;
  int blocks = 1;
};

/// Returns the fastest way for operations of `bytes` by the crossover points measured on two to
/// four H200; for more ranks by what made the difference there.
AllReduceChoice choose_all_reduce(std::int64_t bytes, ElementType type, int ranks,
                                  int multiprocessors, AllReducePath path);

/// Returns as many blocks as `method` makes use of for operations of `bytes`, and no more than run
/// at once.
int all_reduce_blocks(AllReduceMethod method, std::int64_t bytes, int ranks, int multiprocessors,
                      AllReducePath path);

/// Returns bytes of every rank's scratch for operations of `bytes` at most. Operations that share
/// scratch must be of one method, launched with one grid.
std::int64_t all_reduce_scratch(AllReduceMethod method, std::int64_t bytes, int ranks);

/// Names the fault that this build's kernels have on purpose, see common/wait.cuh: none but in
/// builds for tests of tests.
std::string_view all_reduce_mutant();

/// Enqueues: all of a rank's scratch of `bytes` but its counters holds what `method` wants there
/// before its first operation, and what no operation leaves there. No rank may work with it.
cudaError_t reset_all_reduce_scratch(AllReduceMethod method, void* scratch, std::int64_t bytes,
                                     cudaStream_t stream);

/// What the counters of an operation's blocks start from. They wrap after 2^32.
struct AllReduceCounters {
  std::uint32_t operations = 0;
  std::uint32_t signals = 0;
};

/// Enqueues: a rank's counters are these, as if so many operations had been. All ranks must have
/// the same, and none may work with its scratch. Copies from the host's memory before it returns.
cudaError_t set_all_reduce_counters(void* scratch, const AllReduceCounters& counters,
                                    cudaStream_t stream);

/// Checks that so many blocks run at once on the current device, which they must. What all_reduce()
/// says of it too, for those who need to know before ranks wait for each other: cudaSuccess,
/// cudaErrorCooperativeLaunchTooLarge, or what is wrong with method, type and ranks.
cudaError_t check_all_reduce(AllReduceMethod method, ElementType type, int ranks, int blocks);

/// Launches the sum over all ranks of `elements` into every rank's output, where no operation on
/// the same scratch has more than `most_elements`, and none has fewer where flags are in the data.
/// All of `blocks` must run at once on every device, as they wait for their counterparts: nothing
/// else may be there. `bound` is how long they do. Buffers are padded to 16 bytes. Where the device
/// can (compute capability 9.0), a launch starts while the one before it in the stream ends.
/// cudaErrorInvalidValue for other types, numbers, ranks or blocks, and for 2^32 - 2^19 of the
/// method's items or more; cudaErrorCooperativeLaunchTooLarge for more blocks than the device has
/// room for.
cudaError_t all_reduce(AllReduceMethod method, const PeerRegions& regions,
                       const DataOffsets& offsets, ElementType type, std::int64_t elements,
                       std::int64_t most_elements, int blocks, cudaStream_t stream,
                       const WaitBound& bound = {});

}  // namespace linkgain::kernels
