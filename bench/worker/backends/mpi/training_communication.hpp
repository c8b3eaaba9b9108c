#pragma once

#include <memory>

#include "linkgain/runtime/training_communication.hpp"

namespace linkgain {

/// Collective: nonblocking collectives of MPI in CPU memory, over a communicator of their own with
/// the ranks of MPI_COMM_WORLD. For float32 and float64 and ranges of up to 2^31 - 1 elements;
/// others throw MachineError. What was never waited for is left to the end of the process: it must
/// be gone before MPI_Finalize, but does not wait for ranks that may have failed.
std::unique_ptr<TrainingCommunication> make_mpi_training_communication();

}  // namespace linkgain
