#pragma once

#include <array>
#include <string>
#include <string_view>

namespace linkgain {

/// What is measured. Names are those of the field; see name_of().
enum class OperationKind {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  alltoall,
  gather,
  scatter,
  send_recv,
  ping_pong,
  copy_push,
  copy_pull,
  all_to_one,
  one_to_all,
  latency,
  load_latency,
  host_to_device,
  device_to_host,
  product_norm,
  gpt2_step,
  program,
};

/// Those that a benchmark can be asked for: all but `program`.
inline constexpr std::array kOperations{
    OperationKind::all_reduce,   OperationKind::all_gather,     OperationKind::reduce_scatter,
    OperationKind::broadcast,    OperationKind::reduce,         OperationKind::alltoall,
    OperationKind::gather,       OperationKind::scatter,        OperationKind::send_recv,
    OperationKind::ping_pong,    OperationKind::copy_push,      OperationKind::copy_pull,
    OperationKind::all_to_one,   OperationKind::one_to_all,     OperationKind::latency,
    OperationKind::load_latency, OperationKind::host_to_device, OperationKind::device_to_host,
    OperationKind::product_norm, OperationKind::gpt2_step};

std::string_view name_of(OperationKind operation);

/// Lists every name, "all_reduce, all_gather, …", for help and refusals.
std::string operation_names();

/// Throws UsageError with the nearest name where `name` is no operation.
OperationKind parse_operation(std::string_view name);

/// Returns whether the operation combines elements, so that a case of it has a reduction.
bool has_reduction(OperationKind operation);

/// Returns whether one rank sends to or receives from all others.
bool has_root(OperationKind operation);

/// Returns whether all other ranks send to the root alone: gather and all_to_one.
bool goes_to_root(OperationKind operation);

/// Returns whether the root alone sends to all others: scatter and one_to_all.
bool comes_from_root(OperationKind operation);

/// Returns whether it can go between two ranks; send_recv and copies that name none are the ring.
bool has_pair(OperationKind operation);

/// Returns whether it always goes between two ranks: ping_pong, latency and load_latency.
bool needs_pair(OperationKind operation);

/// Returns whether it is what a single access takes: latency and load_latency.
bool is_latency(OperationKind operation);

/// Returns whether the bytes have a data type; copies and the like only move them.
bool has_type(OperationKind operation);

/// Returns whether it is a copy from memory to memory, by copy engine or by a kernel of ours.
bool is_copy(OperationKind operation);

/// Returns whether it is our own work on memory that a GPU reaches, not a call of a communication
/// library.
bool works_on_memory(OperationKind operation);

/// Returns whether a communication library has a call for it.
bool calls_library(OperationKind operation);

/// Returns whether it is a step of a training, which computes and communicates: gpt2_step.
bool is_training(OperationKind operation);

/// Returns whether it is a whole program of the user's, run by `linkgain exec`: its cases are
/// metrics.
bool is_program(OperationKind operation);

/// Returns whether it can stand between a matrix product and a norm, as in a decoder: all_reduce;
/// or is those two alone: product_norm.
bool has_hidden(OperationKind operation);

/// Returns whether it stays within a GPU and its host: every variant then does the same.
bool is_local(OperationKind operation);

/// Returns whether the size is what is moved, so that bytes over time mean something;
/// load_latency's is that of the memory it wanders through; trainings and products compute.
bool moves_its_size(OperationKind operation);

/// Returns whether a case may say that input and output are the same memory. Older records have
/// alltoall and send_recv so, and nccl-tests times them; supports_in_place() says what can be asked
/// for.
bool has_in_place_form(OperationKind operation);

/// Returns whether the size is that of one rank's part times the ranks, so that it must divide by
/// them.
bool is_split_over_ranks(OperationKind operation);

/// Returns whether each rank's part goes to others as a message of its own: alltoall, gather and
/// scatter. NCCL before 2.28 has no call for these, and they are sends and receives in one group.
bool is_exchange(OperationKind operation);

/// Returns whether it is one collective call, for which NCCL chooses an algorithm that its log
/// names.
bool has_algorithm(OperationKind operation);

/// Returns what algbw (bytes over time) is multiplied with to compare with the hardware's rate,
/// from the bytes that the busiest of n ranks must send or receive for each of the S bytes:
/// all_reduce 2(n-1)/n; all_gather, reduce_scatter, alltoall, gather and scatter (n-1)/n; the
/// others 1. Source: nccl-tests' doc/PERFORMANCE.md, which also defines S: one rank's part times n
/// where is_split_over_ranks(), else one rank's buffer or one message. A ping_pong is one message
/// one way. all_to_one and one_to_all, with S of each message, n-1, which is what the root's link
/// carries.
double bus_bandwidth_factor(OperationKind operation, int ranks);

}  // namespace linkgain
