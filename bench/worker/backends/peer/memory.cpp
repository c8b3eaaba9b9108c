#include "peer/memory.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>

#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/errors.hpp"
#include "nccl/api.hpp"

namespace linkgain {
namespace {

/// Allocations smaller than this share a block, which would be exported as a whole.
constexpr std::int64_t kExportedBlock = std::int64_t{2} << 20;

/// Room for an address that rank 0 hands round.
constexpr std::size_t kAddressBytes = 128;

/// Fills with zeros, before any other rank can get at them.
void clear(void* memory, Bytes size) {
  gpu::check(cudaMemset(memory, 0, static_cast<std::size_t>(size.value)));
  gpu::check(cudaDeviceSynchronize());
}

/// Does this rank's part and returns what the lowest rank that could not ran into, on every rank;
/// every rank must call it.
std::optional<std::string> attempt(Session& session, const std::function<void()>& work) {
  std::optional<std::string> problem;
  try {
    work();
  } catch (const Error& error) {
    problem = error.what();
  }
  return session.first_text(problem);
}

std::vector<SlotPools> pools_of_all(const Case& c, const BufferPlan& plan) {
  std::vector<SlotPools> pools;
  for (int rank = 0; rank < c.ranks; ++rank) pools.emplace_back(c, plan, rank);
  return pools;
}

/// Returns the largest pools, which are alike on all ranks, as windows must be.
Bytes largest(const std::vector<SlotPools>& pools) {
  Bytes most{};
  for (const SlotPools& each : pools) {
    most = std::max(most, Bytes{each.first_size().value + each.second_size().value});
  }
  return most;
}

}  // namespace

PeerMemory::PeerMemory(Session& session, const NcclContext& context, Bytes data, Bytes scratch,
                       PeerTransport transport)
    : session_(session),
      context_(context),
      transport_(std::move(transport)),
      data_bytes_{round_up(data.value, kExportedBlock)},
      scratch_bytes_{round_up(scratch.value, kExportedBlock)} {
  if (session.ranks() > kernels::kMostRanks) {
    throw MachineError(fmt::format("our kernels work across {} GPUs at most, these are {}",
                                   kernels::kMostRanks, session.ranks()),
                       "choose fewer with --gpus");
  }
  regions_.ranks = session.ranks();
  regions_.rank = session.rank();
  if (transport_.through_host) regions_.data[session.rank()] = data_.emplace(data_bytes_).data();
}

void PeerMemory::join() {
  if (transport_.through_host) {
    join_through_host();
    taken_ = "host memory";
    return;
  }
  const std::optional<std::string> problem = join_by_windows();
  if (!problem) {
    taken_ = "LSA pointers";
    return;
  }
  windows_.reset();
  join_by_ipc();
  taken_ = fmt::format("CUDA IPC ({})", *problem);
}

void PeerMemory::release() {
  imported_.clear();
  session_.barrier();
}

/// Returns what was in the way of the lowest rank that could not, on every rank. Ranks agree after
/// each step, as each of NCCL's waits for all of them.
std::optional<std::string> PeerMemory::join_by_windows() {
  if (auto reason = session_.first_text(transport_.why_no_windows)) return reason;
  const std::array<std::function<void()>, 5> steps{
      [&] { require_lsa_team(context_.communicator, session_.ranks(), session_.rank()); },
      [&] { make_windows(); },
      [&] { windows_->data.prepare(); },
      [&] { windows_->scratch.prepare(); },
      [&] { use_windows(); },
  };
  for (const auto& step : steps) {
    if (auto reason = attempt(session_, step)) return reason;
  }
  return std::nullopt;
}

void PeerMemory::make_windows() {
  windows_.emplace(Windows{NcclBuffer(data_bytes_, Buffers::symmetric, context_.communicator),
                           NcclBuffer(scratch_bytes_, Buffers::symmetric, context_.communicator)});
  clear(windows_->scratch.data(), scratch_bytes_);
}

/// Maps the windows of the others. The own memory keeps the address that everything on this rank
/// works with: what a device wrote through one address it need not see through another before the
/// kernel ends.
void PeerMemory::use_windows() {
  if (windows_->data.window() == nullptr || windows_->scratch.window() == nullptr) {
    throw MachineError("NCCL made no window");
  }
  const int ranks = session_.ranks();
  const auto data = lsa_pointers(windows_->data.window(), ranks, *context_.stream);
  const auto scratch = lsa_pointers(windows_->scratch.window(), ranks, *context_.stream);
  std::copy(data.begin(), data.end(), regions_.data);
  std::copy(scratch.begin(), scratch.end(), regions_.scratch);
  regions_.data[regions_.rank] = windows_->data.data();
  regions_.scratch[regions_.rank] = windows_->scratch.data();
}

void PeerMemory::join_by_ipc() {
  Handles own{};
  std::exception_ptr problem;
  try {
    own = make_shared_buffers();
  } catch (const Error&) {
    problem = std::current_exception();
  }
  // A rank without memory says so by saying nothing.
  const std::string told =
      problem ? std::string() : std::string(reinterpret_cast<const char*>(&own), sizeof own);
  const std::vector<std::string> all = session_.share(told);
  if (problem) std::rethrow_exception(problem);
  for (int peer = 0; peer < session_.ranks(); ++peer) {
    const std::string& handed = all[static_cast<std::size_t>(peer)];
    if (peer == session_.rank() || handed.empty()) continue;
    Handles handles{};
    std::memcpy(&handles, handed.data(), sizeof handles);
    regions_.data[peer] = imported_.emplace_back(handles.data).data();
    regions_.scratch[peer] = imported_.emplace_back(handles.scratch).data();
  }
}

PeerMemory::Handles PeerMemory::make_shared_buffers() {
  regions_.data[regions_.rank] = data_.emplace(data_bytes_).data();
  regions_.scratch[regions_.rank] = scratch_.emplace(scratch_bytes_).data();
  clear(scratch_->data(), scratch_bytes_);
  return {gpu::export_memory(*data_), gpu::export_memory(*scratch_)};
}

/// Shares host memory, which rank 0 makes and the others open; returns what kept the lowest rank
/// from that, on every rank. Every rank must call it.
std::optional<std::string> PeerMemory::share_host_memory(gpu::SharedHostMemory (*make)(Bytes)) {
  const Bytes all{scratch_bytes_.value * session_.ranks()};
  shared_.reset();
  auto problem = attempt(session_, [&] {
    if (session_.is_root()) shared_ = make(all);
  });
  if (problem) return problem;
  std::array<char, kAddressBytes> address{};
  if (shared_) shared_->address().copy(address.data(), address.size() - 1);
  session_.broadcast(address.data(), address.size());
  problem = attempt(session_, [&] {
    if (!shared_) shared_ = gpu::SharedHostMemory::open(address.data(), all);
  });
  if (shared_) shared_->withdraw();  // everybody has it open, or gave up
  return problem;
}

void PeerMemory::join_through_host() {
  if (share_host_memory(gpu::SharedHostMemory::make)) {
    const auto problem = share_host_memory(gpu::SharedHostMemory::make_named);
    if (problem) throw MachineError(*problem, "give the container more (--shm-size)");
  }
  for (int rank = 0; rank < session_.ranks(); ++rank) {
    regions_.scratch[rank] = static_cast<std::byte*>(shared_->data()) + rank * scratch_bytes_.value;
  }
}

PeerPools::PeerPools(const Case& c, const BufferPlan& plan, const NcclContext& context,
                     Session& session, Bytes scratch, bool through_host)
    : context_(context),
      slots_(pools_of_all(c, plan)),
      memory_(session, context, largest(slots_), scratch,
              PeerTransport{through_host, device_api_problem()}) {}

void PeerPools::join() {
  memory_.join();
  for (int rank = 0; rank < memory_.regions().ranks; ++rank) set_memory(rank);
}

void PeerPools::set_memory(int rank) {
  auto* first = static_cast<char*>(memory_.regions().data[rank]);
  if (first == nullptr) return;
  SlotPools& pools = slots_[static_cast<std::size_t>(rank)];
  pools.set_memory(first, first + pools.first_size().value);
}

}  // namespace linkgain
