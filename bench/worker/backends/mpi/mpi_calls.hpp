#pragma once

#include <memory>

#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/runtime/training_communication.hpp"

/// The operations as calls of MPI over MPI_COMM_WORLD, and what a training asks of it.
namespace linkgain {

/// Throws MachineError unless `status`, which the function of that name returned, says success.
void require_success(int status, const char* what);

/// Throws MachineError where MPI has no such type or reduction.
void require_mpi_has(const Case& c);

/// Returns rank_buffers() as MPI has them. MPI_Bcast has one buffer: out of place the root's input
/// is not copied to an output. In place MPI_Reduce_scatter_block puts every rank's part at the
/// beginning.
RankBuffers mpi_buffers(const Case& c, int rank);

/// Carries out the operation once, a ping_pong both ways. `input` and `output` are where this
/// rank's begin; null where it has none. Throws MachineError.
void call_mpi(const Case& c, int rank, void* input, void* output);

/// Makes nonblocking collectives of MPI in CPU memory, over a communicator of their own with the
/// ranks of MPI_COMM_WORLD; every rank must call it. For float32 and float64 and ranges of up to
/// 2^31 - 1 elements; others throw MachineError. What was never waited for is left to the end of
/// the process: it must be gone before MPI_Finalize, but does not wait for ranks that may have
/// failed.
std::unique_ptr<TrainingCommunication> make_mpi_training_communication();

}  // namespace linkgain
