#include "mpi/mpi_calls.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include "data_mapping.hpp"
#include "library_calls.hpp"
#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

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
    case Reduction::mulsum:
      break;
  }
  throw MachineError(fmt::format("MPI has no reduction {}", name_of(reduction)));
}

int neighbour(int rank) { return rank < 0 ? MPI_PROC_NULL : rank; }

/// MPI_COMM_WORLD's collectives of one case on this rank.
struct Call {
  const Case& c;
  int rank;
  void* input;
  void* output;
  MPI_Datatype type;

  int count() const { return static_cast<int>(c.elements()); }
  int part() const { return static_cast<int>(c.elements_per_rank()); }
  bool is_root() const { return rank == c.root; }
  /// Returns what stands for the input where all ranks work in place.
  void* source() const { return c.in_place ? MPI_IN_PLACE : input; }
  /// Returns the same where only the root does.
  void* source_of_root() const { return c.in_place && is_root() ? MPI_IN_PLACE : input; }
  MPI_Op reduction() const { return mpi_reduction(c.reduction); }

  void all_reduce() const {
    require_success(MPI_Allreduce(source(), output, count(), type, reduction(), MPI_COMM_WORLD),
                    "MPI_Allreduce");
  }

  void all_gather() const {
    require_success(MPI_Allgather(source(), part(), type, output, part(), type, MPI_COMM_WORLD),
                    "MPI_Allgather");
  }

  void reduce_scatter() const {
    require_success(
        MPI_Reduce_scatter_block(source(), output, part(), type, reduction(), MPI_COMM_WORLD),
        "MPI_Reduce_scatter_block");
  }

  void broadcast() const {
    void* buffer = is_root() ? input : output;
    require_success(MPI_Bcast(buffer, count(), type, c.root, MPI_COMM_WORLD), "MPI_Bcast");
  }

  void reduce() const {
    require_success(
        MPI_Reduce(source_of_root(), output, count(), type, reduction(), c.root, MPI_COMM_WORLD),
        "MPI_Reduce");
  }

  void alltoall() const {
    require_success(MPI_Alltoall(input, part(), type, output, part(), type, MPI_COMM_WORLD),
                    "MPI_Alltoall");
  }

  void gather() const {
    require_success(
        MPI_Gather(source_of_root(), part(), type, output, part(), type, c.root, MPI_COMM_WORLD),
        "MPI_Gather");
  }

  void scatter() const {
    void* target = c.in_place && is_root() ? MPI_IN_PLACE : output;
    require_success(MPI_Scatter(input, part(), type, target, part(), type, c.root, MPI_COMM_WORLD),
                    "MPI_Scatter");
  }

  void send_recv() const {
    require_success(
        MPI_Sendrecv(input, count(), type, neighbour(receiver_from(c, rank)), 0, output, count(),
                     type, neighbour(sender_to(c, rank)), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
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
    require_success(MPI_Send(input, count(), type, receiver, 0, MPI_COMM_WORLD), "MPI_Send");
  }

  void receive(int sender) const {
    require_success(MPI_Recv(output, count(), type, sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                    "MPI_Recv");
  }
};

}  // namespace

void require_success(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
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
