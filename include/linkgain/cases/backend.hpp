#pragma once

#include <array>
#include <string_view>

#include "linkgain/base/names.hpp"
#include "linkgain/cases/case.hpp"

namespace linkgain {

/// What moves the bytes: NCCL between GPUs, MPI between CPU memories, or, with `linkgain exec`,
/// whatever the user's program has.
enum class BackendKind { nccl, mpi, exec };

template <>
inline constexpr auto kNames<BackendKind> = names<BackendKind>("backend",
                                                               {{BackendKind::nccl, "nccl"},
                                                                {BackendKind::mpi, "mpi"},
                                                                {BackendKind::exec, "exec"}});

/// Those that a benchmark can be asked for.
inline constexpr std::array kBackends{BackendKind::nccl, BackendKind::mpi};

/// Reads one of kBackends. Throws UsageError.
BackendKind parse_backend(std::string_view name);

/// Throws UsageError where the backend has no such type, reduction, place, launch mode or memory in
/// any version: MPI knows no float16, bfloat16 or float8, no avg or mulsum, no graphs and no
/// registered buffers. It trains the tiny model in fp64, which GPUs do not.
void require_supported(BackendKind backend, const Case& c);
bool supports(BackendKind backend, OperationKind operation);
bool supports(BackendKind backend, DataType type);
bool supports(BackendKind backend, const TrainingParameters& training);
bool supports(BackendKind backend, Reduction reduction);
bool supports(BackendKind backend, LaunchMode launch);
bool supports(BackendKind backend, Buffers buffers);

/// Returns whether the CPU's launches decide what a case takes more than the link does: operations
/// below kLaunchBoundBelow that reach a GPU one by one. One launch of a latency does many.
bool is_launch_bound(BackendKind backend, const Case& c);

/// Returns whether the operation can be measured with input and output in the same memory. NCCL
/// does not say what alltoall and send_recv would leave behind; MPI has forms of its own of them,
/// which nothing could be compared with.
bool supports_in_place(OperationKind operation);

}  // namespace linkgain
