#include "mpi_operation.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "data_mapping.hpp"
#include "host_check.hpp"
#include "linkgain/core/errors.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kPageBytes = 4096;

MPI_Datatype mpi_type(DataType type) {
  switch (type) {
    case DataType::float32:
      return MPI_FLOAT;
    case DataType::float64:
      return MPI_DOUBLE;
    case DataType::int8:
      return MPI_INT8_T;
    case DataType::uint8:
      return MPI_UINT8_T;
    case DataType::int32:
      return MPI_INT32_T;
    case DataType::uint32:
      return MPI_UINT32_T;
    case DataType::int64:
      return MPI_INT64_T;
    case DataType::uint64:
      return MPI_UINT64_T;
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float8e4m3:
    case DataType::float8e5m2:
      break;
  }
  throw MachineError(fmt::format("MPI has no type {}", name_of(type)));
}

MPI_Op mpi_reduction(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return MPI_SUM;
    case Reduction::prod:
      return MPI_PROD;
    case Reduction::min:
      return MPI_MIN;
    case Reduction::max:
      return MPI_MAX;
    case Reduction::avg:
      break;
  }
  throw MachineError(fmt::format("MPI has no reduction {}", name_of(reduction)));
}

void require_success(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  throw MachineError(fmt::format("{} failed with MPI error {}", what, status));
}

int neighbour(int rank) { return rank < 0 ? MPI_PROC_NULL : rank; }

}  // namespace

HostPool::HostPool(std::int64_t slot_bytes, std::int64_t slots) : slot_bytes_(slot_bytes) {
  const std::size_t bytes = static_cast<std::size_t>(slot_bytes * slots);
  const std::size_t whole_pages = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, whole_pages)));
  if (!memory_) {
    throw MachineError(
        fmt::format("no {} of memory for buffers", readable_bytes({slot_bytes * slots})),
        "measure smaller sizes with --sizes");
  }
}

std::span<std::byte> HostPool::slot(std::int64_t index, std::int64_t bytes) {
  return {memory_.get() + index * slot_bytes_, static_cast<std::size_t>(bytes)};
}

void HostPool::Free::operator()(std::byte* memory) const { std::free(memory); }

MpiOperation::MpiOperation(const Case& c, const BufferPlan& plan, int rank)
    : definition_(c),
      plan_(plan),
      rank_(rank),
      pattern_(verification_pattern(c)),
      input_(plan.slot_bytes, plan.slots) {
  mpi_type(c.type);
  mpi_reduction(c.reduction);
  if (!c.in_place) output_.emplace(plan.slot_bytes, plan.slots);
  const std::span<std::byte> first = input_.slot(0, c.size.value);
  fill_input(first, pattern_, rank_);
  for (std::int64_t i = 0; i < plan_.slots; ++i) {
    if (i > 0) std::memcpy(input_.slot(i, c.size.value).data(), first.data(), first.size());
    const std::span<std::byte> out = output().slot(i, c.size.value);
    if (!c.in_place) std::memset(out.data(), kernels::kPoisonByte, out.size());
  }
}

bool MpiOperation::takes_part() const {
  if (definition_.operation == OperationKind::all_reduce) return true;
  return sender_to(definition_, rank_) >= 0 || receiver_from(definition_, rank_) >= 0;
}

void MpiOperation::run_once(std::int64_t slot) {
  const int count = static_cast<int>(definition_.elements());
  const MPI_Datatype type = mpi_type(definition_.type);
  void* in = input_.slot(slot, definition_.size.value).data();
  void* out = output().slot(slot, definition_.size.value).data();
  switch (definition_.operation) {
    case OperationKind::all_reduce:
      require_success(MPI_Allreduce(definition_.in_place ? MPI_IN_PLACE : in, out, count, type,
                                    mpi_reduction(definition_.reduction), MPI_COMM_WORLD),
                      "MPI_Allreduce");
      return;
    case OperationKind::send_recv:
      if (definition_.in_place) {
        require_success(
            MPI_Sendrecv_replace(out, count, type, neighbour(receiver_from(definition_, rank_)), 0,
                                 neighbour(sender_to(definition_, rank_)), 0, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE),
            "MPI_Sendrecv_replace");
        return;
      }
      require_success(MPI_Sendrecv(in, count, type, neighbour(receiver_from(definition_, rank_)), 0,
                                   out, count, type, neighbour(sender_to(definition_, rank_)), 0,
                                   MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                      "MPI_Sendrecv");
      return;
  }
  throw std::logic_error("unhandled operation");
}

void MpiOperation::do_warm_up() { run_once(0); }

void MpiOperation::do_run(std::int64_t operations) {
  for (std::int64_t i = 0; i < operations; ++i) {
    run_once(next_slot_);
    next_slot_ = next_slot_ + 1 == plan_.slots ? 0 : next_slot_ + 1;
  }
}

std::optional<Seconds> MpiOperation::do_time_batch(std::int64_t operations) {
  const double start = MPI_Wtime();
  do_run(operations);
  const double stop = MPI_Wtime();
  if (!takes_part()) return std::nullopt;
  return Seconds{stop - start};
}

Verification MpiOperation::do_verify(bool corrupt) {
  const std::span<std::byte> out = output().slot(0, definition_.size.value);
  std::memset(out.data(), kernels::kPoisonByte, out.size());
  fill_input(input_.slot(0, definition_.size.value), pattern_, rank_);
  run_once(0);
  if (corrupt) out[out.size() / 2] ^= std::byte{1};
  if (definition_.operation == OperationKind::all_reduce) return check_reduction(out, pattern_);
  const int sender = sender_to(definition_, rank_);
  return sender < 0 ? Verification{} : check_input(out, pattern_, sender);
}

Execution MpiOperation::do_execution() const {
  return {1, plan_.operations_per_graph, plan_.slots, plan_.cold};
}

}  // namespace linkgain
