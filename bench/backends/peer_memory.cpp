#include "peer_memory.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>

#include "linkgain/core/errors.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain {
namespace {

/// Allocations smaller than this share a block, which would be exported as a whole.
constexpr std::int64_t kExportedBlock = std::int64_t{2} << 20;

Bytes round_up(Bytes size, std::int64_t multiple) {
  return {(size.value + multiple - 1) / multiple * multiple};
}

std::string new_segment_name() {
  // Processes of several containers may share the folder and have the same number.
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return fmt::format("/linkgain-{}-{}", ::getpid(), now);
}

/// Room for a name that rank 0 tells the others.
constexpr std::size_t kNameBytes = 64;

}  // namespace

PeerMemory::PeerMemory(Session& session, Bytes data, Bytes scratch, bool through_host)
    : session_(session),
      data_(round_up(data, kExportedBlock)),
      scratch_bytes_(round_up(scratch, kExportedBlock)) {
  if (session.ranks() > kernels::kMostRanks) {
    throw MachineError(fmt::format("our kernels work across {} GPUs at most, these are {}",
                                   kernels::kMostRanks, session.ranks()),
                       "choose fewer with --gpus");
  }
  regions_.ranks = session.ranks();
  regions_.rank = session.rank();
  regions_.data[session.rank()] = data_.data();
  if (!through_host) {
    scratch_.emplace(scratch_bytes_);
    gpu::check(cudaMemset(scratch_->data(), 0, static_cast<std::size_t>(scratch_bytes_.value)));
    gpu::check(cudaDeviceSynchronize());
    own_ = {gpu::export_memory(data_), gpu::export_memory(*scratch_)};
    return;
  }
  if (!session.is_root()) return;
  segment_ = SegmentName(new_segment_name());
  shared_ = gpu::SharedHostMemory::make(segment_.text(), {scratch_bytes_.value * session.ranks()});
}

void PeerMemory::join() {
  if (scratch_) {
    join_over_p2p();
  } else {
    join_through_host();
  }
}

void PeerMemory::join_over_p2p() {
  const std::vector<std::string> all =
      session_.share(std::string(reinterpret_cast<const char*>(&own_), sizeof own_));
  for (int peer = 0; peer < session_.ranks(); ++peer) {
    if (peer == session_.rank()) {
      regions_.scratch[peer] = scratch_->data();
      continue;
    }
    Handles handles{};
    std::memcpy(&handles, all[static_cast<std::size_t>(peer)].data(), sizeof handles);
    regions_.data[peer] = imported_.emplace_back(handles.data).data();
    regions_.scratch[peer] = imported_.emplace_back(handles.scratch).data();
  }
}

void PeerMemory::join_through_host() {
  std::array<char, kNameBytes> name{};
  segment_.text().copy(name.data(), name.size() - 1);
  session_.broadcast(name.data(), name.size());
  std::exception_ptr problem;
  try {
    if (!shared_) {
      shared_ = gpu::SharedHostMemory::open(name.data(), {scratch_bytes_.value * session_.ranks()});
    }
  } catch (const Error&) {
    problem = std::current_exception();
  }
  session_.barrier();  // everybody has it open, or gave up
  segment_.remove();
  if (problem) std::rethrow_exception(problem);
  for (int rank = 0; rank < session_.ranks(); ++rank) {
    regions_.scratch[rank] = static_cast<std::byte*>(shared_->data()) + rank * scratch_bytes_.value;
  }
}

}  // namespace linkgain
