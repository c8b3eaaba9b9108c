#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device_operation.hpp"
#include "kernels/all_reduce/all_reduce.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/runtime/session.hpp"

/// Our own work on memory, by copy engines and kernels. All is local to the rank.
namespace linkgain {

/// Returns a copy between this rank's device and page-locked memory of its host, on all ranks at
/// once. Throws CudaError, where memory is short with advice.
std::unique_ptr<DeviceCall> make_host_transfer(const Case& c, const BufferPlan& plan,
                                               const NcclContext& context);

/// Returns a copy between ranks of which one reaches the other's memory. Throws what PeerPools
/// throws.
std::unique_ptr<DeviceCall> make_memory_copy(const Case& c, const BufferPlan& plan,
                                             const NcclContext& context, Session& session);

/// Returns a copy between ranks that share host memory only, by copy engines: both sides work.
/// Whether it is called a push or a pull makes no difference then. Throws what PeerPools throws,
/// and MachineError without gpu::has_stream_flags().
std::unique_ptr<DeviceCall> make_host_staged_copy(const Case& c, const BufferPlan& plan,
                                                  const NcclContext& context, Session& session);

/// Returns the latency of a message with a flag beside every word, as ping-pong many times in one
/// launch, between the two ranks of the case's pair; an operation is one way. Throws what PeerPools
/// throws.
std::unique_ptr<DeviceCall> make_ping_pong(const Case& c, const BufferPlan& plan,
                                           const NcclContext& context, Session& session,
                                           bool through_host);

/// Returns the latency of a load: one thread of rank `to` follows a chain of addresses through the
/// memory of rank `from`, or through host memory that both share. The chain goes through every line
/// of the case's size once, in an order that no prefetching guesses. Throws what PeerMemory throws.
std::unique_ptr<DeviceCall> make_pointer_chase(const Case& c, const BufferPlan& plan,
                                               const NcclContext& context, Session& session,
                                               bool through_host);

/// Finds what joins the ranks that have P2P; every rank must call it. `gpus` are the PCI ids of
/// all.
kernels::AllReducePath peer_path(Session& session, const std::vector<std::string>& gpus);

/// Makes an all-reduce by our own kernels. With P2P they reach the other ranks' memory; else they
/// go through host memory that the ranks share. `path` must be the same on all ranks. Throws what
/// PeerPools throws.
std::unique_ptr<DeviceCall> make_kernel_all_reduce(const Case& c, const BufferPlan& plan,
                                                   const NcclContext& context, Session& session,
                                                   int multiprocessors,
                                                   kernels::AllReducePath path);

}  // namespace linkgain
