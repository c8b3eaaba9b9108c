#include "nccl/calls.hpp"

#include <cstddef>

#include "data_mapping.hpp"
#include "library_calls.hpp"
#include "nccl/api.hpp"

namespace linkgain {
namespace {

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

/// The operations on these buffers, each put into the stream.
struct Enqueuing {
  const NcclCall& call;
  const Case& c;
  const void* input;
  void* output;

  std::size_t whole() const { return static_cast<std::size_t>(c.elements()); }
  std::size_t part() const { return static_cast<std::size_t>(c.elements_per_rank()); }
  /// One rank's part within a buffer of all ranks'.
  std::size_t part_offset(int rank) const {
    return static_cast<std::size_t>(rank) * part() * static_cast<std::size_t>(size_of(c.type));
  }

  const void* input_for(int rank) const {
    return static_cast<const char*>(input) + part_offset(rank);
  }

  void* output_from(int rank) const { return static_cast<char*>(output) + part_offset(rank); }

  void all_reduce() const {
    check(ncclAllReduce(input, output, whole(), call.type, call.reduction, call.communicator,
                        call.stream));
  }

  void all_gather() const {
    check(ncclAllGather(input, output, part(), call.type, call.communicator, call.stream));
  }

  void reduce_scatter() const {
    check(ncclReduceScatter(input, output, part(), call.type, call.reduction, call.communicator,
                            call.stream));
  }

  void broadcast() const {
    check(ncclBroadcast(input, output, whole(), call.type, c.root, call.communicator, call.stream));
  }

  void reduce() const {
    check(ncclReduce(input, output, whole(), call.type, call.reduction, c.root, call.communicator,
                     call.stream));
  }

  void alltoall() const {
    if (call.exchanges.present()) {
      return check(call.exchanges.alltoall(input, output, part(), call.type, call.communicator,
                                           call.stream));
    }

    in_group([&] {
      for (int peer = 0; peer < c.ranks; ++peer) {
        send(input_for(peer), part(), peer);
        receive(output_from(peer), part(), peer);
      }
    });
  }

  void gather() const {
    if (call.exchanges.present()) {
      return check(call.exchanges.gather(input, output, part(), call.type, c.root,
                                         call.communicator, call.stream));
    }

    in_group([&] {
      send(input, part(), c.root);
      if (call.rank != c.root) return;
      for (int peer = 0; peer < c.ranks; ++peer) receive(output_from(peer), part(), peer);
    });
  }

  void scatter() const {
    if (call.exchanges.present()) {
      return check(call.exchanges.scatter(input, output, part(), call.type, c.root,
                                          call.communicator, call.stream));
    }

    in_group([&] {
      receive(output, part(), c.root);
      if (call.rank != c.root) return;
      for (int peer = 0; peer < c.ranks; ++peer) send(input_for(peer), part(), peer);
    });
  }

  void send_recv() const {
    const int receiver = receiver_from(c, call.rank);
    const int sender = sender_to(c, call.rank);
    in_group([&] {
      if (receiver >= 0) send(input, whole(), receiver);
      if (sender >= 0) receive(output, whole(), sender);
    });
  }

  /// Each of the two waits for the other's message before it sends the next one.
  void ping_pong() const {
    const Pair& pair = *c.pair;
    if (call.rank == pair.from) {
      send(input, whole(), pair.to);
      receive(output, whole(), pair.to);
    } else if (call.rank == pair.to) {
      receive(output, whole(), pair.from);
      send(input, whole(), pair.from);
    }
  }

  void send(const void* data, std::size_t count, int receiver) const {
    check(ncclSend(data, count, call.type, receiver, call.communicator, call.stream));
  }

  void receive(void* data, std::size_t count, int sender) const {
    check(ncclRecv(data, count, call.type, sender, call.communicator, call.stream));
  }
};

}  // namespace

void enqueue(const NcclCall& call, const void* input, void* output) {
  const Case& c = call.definition;
  call_library(Enqueuing{call, c, input, output}, c.operation);
}

bool is_grouped(const NcclCall& call) {
  return is_exchange(call.definition.operation) && !call.exchanges.present();
}

}  // namespace linkgain
