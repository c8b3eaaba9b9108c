#include "nccl_calls.hpp"

#include <cstddef>
#include <stdexcept>

#include "data_mapping.hpp"
#include "nccl_api.hpp"

namespace linkgain {
namespace {

std::size_t whole(const NcclCall& call) {
  return static_cast<std::size_t>(call.definition.elements());
}

std::size_t part(const NcclCall& call) {
  return static_cast<std::size_t>(call.definition.elements_per_rank());
}

/// One rank's part within a buffer of all ranks'.
std::size_t part_offset(const NcclCall& call, int rank) {
  return static_cast<std::size_t>(rank) * part(call) *
         static_cast<std::size_t>(size_of(call.definition.type));
}

const void* part_of(const NcclCall& call, const void* buffer, int rank) {
  return static_cast<const char*>(buffer) + part_offset(call, rank);
}

void* part_of(const NcclCall& call, void* buffer, int rank) {
  return static_cast<char*>(buffer) + part_offset(call, rank);
}

void send(const NcclCall& call, const void* data, std::size_t count, int receiver) {
  check(ncclSend(data, count, call.type, receiver, call.communicator, call.stream));
}

void receive(const NcclCall& call, void* data, std::size_t count, int sender) {
  check(ncclRecv(data, count, call.type, sender, call.communicator, call.stream));
}

/// Calls that NCCL carries out at once. The group is closed on every way out.
template <typename Work>
void in_group(Work work) {
  check(ncclGroupStart());
  try {
    work();
  } catch (...) {
    ncclGroupEnd();
    throw;
  }
  check(ncclGroupEnd());
}

void alltoall(const NcclCall& call, const void* input, void* output) {
  in_group([&] {
    for (int peer = 0; peer < call.definition.ranks; ++peer) {
      send(call, part_of(call, input, peer), part(call), peer);
      receive(call, part_of(call, output, peer), part(call), peer);
    }
  });
}

void gather(const NcclCall& call, const void* input, void* output) {
  const int root = call.definition.root;
  in_group([&] {
    send(call, input, part(call), root);
    if (call.rank != root) return;
    for (int peer = 0; peer < call.definition.ranks; ++peer) {
      receive(call, part_of(call, output, peer), part(call), peer);
    }
  });
}

void scatter(const NcclCall& call, const void* input, void* output) {
  const int root = call.definition.root;
  in_group([&] {
    receive(call, output, part(call), root);
    if (call.rank != root) return;
    for (int peer = 0; peer < call.definition.ranks; ++peer) {
      send(call, part_of(call, input, peer), part(call), peer);
    }
  });
}

void send_recv(const NcclCall& call, const void* input, void* output) {
  const int receiver = receiver_from(call.definition, call.rank);
  const int sender = sender_to(call.definition, call.rank);
  in_group([&] {
    if (receiver >= 0) send(call, input, whole(call), receiver);
    if (sender >= 0) receive(call, output, whole(call), sender);
  });
}

/// Each of the two waits for the other's message before it sends the next one.
void ping_pong(const NcclCall& call, const void* input, void* output) {
  const Pair& pair = *call.definition.pair;
  if (call.rank == pair.from) {
    send(call, input, whole(call), pair.to);
    receive(call, output, whole(call), pair.to);
  } else if (call.rank == pair.to) {
    receive(call, output, whole(call), pair.from);
    send(call, input, whole(call), pair.from);
  }
}

}  // namespace

void enqueue(const NcclCall& call, const void* input, void* output) {
  const int root = call.definition.root;
  switch (call.definition.operation) {
    case OperationKind::all_reduce:
      return check(ncclAllReduce(input, output, whole(call), call.type, call.reduction,
                                 call.communicator, call.stream));
    case OperationKind::all_gather:
      return check(
          ncclAllGather(input, output, part(call), call.type, call.communicator, call.stream));
    case OperationKind::reduce_scatter:
      return check(ncclReduceScatter(input, output, part(call), call.type, call.reduction,
                                     call.communicator, call.stream));
    case OperationKind::broadcast:
      return check(ncclBroadcast(input, output, whole(call), call.type, root, call.communicator,
                                 call.stream));
    case OperationKind::reduce:
      return check(ncclReduce(input, output, whole(call), call.type, call.reduction, root,
                              call.communicator, call.stream));
    case OperationKind::alltoall:
      return alltoall(call, input, output);
    case OperationKind::gather:
      return gather(call, input, output);
    case OperationKind::scatter:
      return scatter(call, input, output);
    case OperationKind::send_recv:
      return send_recv(call, input, output);
    case OperationKind::ping_pong:
      return ping_pong(call, input, output);
    case OperationKind::copy_push:
    case OperationKind::copy_pull:
    case OperationKind::all_to_one:
    case OperationKind::one_to_all:
    case OperationKind::latency:
    case OperationKind::load_latency:
    case OperationKind::host_to_device:
    case OperationKind::device_to_host:
      break;  // no calls of NCCL's
  }
  throw std::logic_error("unhandled operation");
}

}  // namespace linkgain
