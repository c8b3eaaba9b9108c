#include "mpi/mpi_calls.hpp"

#include <fmt/format.h>

#include "library_calls.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/runtime/data_mapping.hpp"
#include "linkgain/runtime/mpi_library.hpp"

namespace linkgain {
namespace {

MpiLibrary::Datatype mpi_type(DataType type) {
  switch (type) {
    case DataType::float32:
      return mpi().float32;
    case DataType::float64:
      return mpi().float64;
    case DataType::int8:
      return mpi().int8;
    case DataType::uint8:
      return mpi().uint8;
    case DataType::int32:
      return mpi().int32;
    case DataType::uint32:
      return mpi().uint32;
    case DataType::int64:
      return mpi().int64;
    case DataType::uint64:
      return mpi().uint64;
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float8e4m3:
    case DataType::float8e5m2:
      break;
  }
  throw MachineError(fmt::format("MPI has no type {}", name_of(type)));
}

MpiLibrary::Op mpi_reduction(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return mpi().sum;
    case Reduction::prod:
      return mpi().prod;
    case Reduction::min:
      return mpi().min;
    case Reduction::max:
      return mpi().max;
    case Reduction::avg:
    case Reduction::mulsum:
      break;
  }
  throw MachineError(fmt::format("MPI has no reduction {}", name_of(reduction)));
}

int neighbour(int rank) { return rank < 0 ? MpiLibrary::kProcNull : rank; }

/// MPI_COMM_WORLD's collectives of one case on this rank.
struct Call {
  const Case& c;
  int rank;
  void* input;
  void* output;
  MpiLibrary::Datatype type;

  int count() const { return static_cast<int>(c.elements()); }
  int part() const { return static_cast<int>(c.elements_per_rank()); }
  bool is_root() const { return rank == c.root; }
  /// Returns what stands for the input where all ranks work in place.
  void* source() const { return c.in_place ? MpiLibrary::in_place() : input; }
  /// Returns the same where only the root does.
  void* source_of_root() const { return c.in_place && is_root() ? MpiLibrary::in_place() : input; }
  MpiLibrary::Op reduction() const { return mpi_reduction(c.reduction); }

  void all_reduce() const {
    require_success(mpi().allreduce(source(), output, count(), type, reduction(), mpi().comm_world),
                    "MPI_Allreduce");
  }

  void all_gather() const {
    require_success(mpi().allgather(source(), part(), type, output, part(), type, mpi().comm_world),
                    "MPI_Allgather");
  }

  void reduce_scatter() const {
    require_success(
        mpi().reduce_scatter_block(source(), output, part(), type, reduction(), mpi().comm_world),
        "MPI_Reduce_scatter_block");
  }

  void broadcast() const {
    void* buffer = is_root() ? input : output;
    require_success(mpi().bcast(buffer, count(), type, c.root, mpi().comm_world), "MPI_Bcast");
  }

  void reduce() const {
    require_success(mpi().reduce(source_of_root(), output, count(), type, reduction(), c.root,
                                 mpi().comm_world),
                    "MPI_Reduce");
  }

  void alltoall() const {
    require_success(mpi().alltoall(input, part(), type, output, part(), type, mpi().comm_world),
                    "MPI_Alltoall");
  }

  void gather() const {
    require_success(mpi().gather(source_of_root(), part(), type, output, part(), type, c.root,
                                 mpi().comm_world),
                    "MPI_Gather");
  }

  void scatter() const {
    void* target = c.in_place && is_root() ? MpiLibrary::in_place() : output;
    require_success(
        mpi().scatter(input, part(), type, target, part(), type, c.root, mpi().comm_world),
        "MPI_Scatter");
  }

  void send_recv() const {
    require_success(mpi().sendrecv(input, count(), type, neighbour(receiver_from(c, rank)), 0,
                                   output, count(), type, neighbour(sender_to(c, rank)), 0,
                                   mpi().comm_world, MpiLibrary::kStatusIgnore),
                    "MPI_Sendrecv");
  }

  void ping_pong() const {
    if (rank == c.pair->from) {
      send(c.pair->to);
      receive(c.pair->to);
    } else if (rank == c.pair->to) {
      receive(c.pair->from);
      send(c.pair->from);
    }
  }

  void send(int receiver) const {
    require_success(mpi().send(input, count(), type, receiver, 0, mpi().comm_world), "MPI_Send");
  }

  void receive(int sender) const {
    require_success(
        mpi().recv(output, count(), type, sender, 0, mpi().comm_world, MpiLibrary::kStatusIgnore),
        "MPI_Recv");
  }
};

}  // namespace

void require_success(int status, const char* what) {
  if (status == MpiLibrary::kSuccess) return;
  throw MachineError(fmt::format("{} failed with MPI error {}", what, status));
}

void require_mpi_has(const Case& c) {
  mpi_type(c.type);
  mpi_reduction(c.reduction);
}

RankBuffers mpi_buffers(const Case& c, int rank) {
  RankBuffers buffers = rank_buffers(c, rank);
  if (c.in_place && c.operation == OperationKind::reduce_scatter) buffers.output_offset = Bytes{};
  const bool keeps_input = !c.in_place && c.operation == OperationKind::broadcast;
  if (keeps_input && rank == c.root) buffers.output = Bytes{};
  return buffers;
}

void call_mpi(const Case& c, int rank, void* input, void* output) {
  call_library(Call{c, rank, input, output, mpi_type(c.type)}, c.operation);
}

}  // namespace linkgain
