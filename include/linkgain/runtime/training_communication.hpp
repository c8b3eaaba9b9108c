#pragma once

#include <cstdint>

#include "linkgain/gpt2/gpt2_config.hpp"

namespace linkgain {

/// Names one call of a TrainingCommunication, which alone knows what the number means.
struct CommunicationTicket {
  std::int64_t number = 0;
};

/// How the ranks of a training reach each other. There are two orderings, and no others:
///
///  - an operation starts after all that its rank's model has enqueued so far, and after the
///    operations that were enqueued here before;
///  - what the model enqueues after wait(ticket) starts after that operation has ended.
///
/// On a GPU, operations go to a second stream: it waits for an event recorded on the model's stream
/// when an operation is enqueued, and wait() makes the model's stream wait for an event recorded
/// after it; the host never stops. With MPI, operations are nonblocking calls, several of which may
/// be under way at once, and wait() blocks the host until the call is complete.
///
/// All ranks enqueue the same operations in the same order. Between an operation and its wait()
/// nothing else may read or write the memory in `range`. Every ticket is waited for once, in any
/// order. Operations are in place and sum in the memory's type. Not thread-safe. Throws
/// MachineError where the library fails or does not know the memory's type; UsageError, before
/// anything is enqueued, where `range` has no equal shards; std::logic_error for a range that the
/// memory does not have and for a ticket that is not under way.
class TrainingCommunication {
 public:
  virtual ~TrainingCommunication() = default;

  int rank() const { return do_rank(); }
  int ranks() const { return do_ranks(); }

  /// Sums over all ranks: every rank then has the sum of all, the same bits on each.
  CommunicationTicket all_reduce(const FlatMemory& memory, const ParameterRange& range) {
    return do_all_reduce(memory, range);
  }

  /// Sums over all ranks into shard_of(range, rank(), ranks()); the rest of `range` may have
  /// anything.
  CommunicationTicket reduce_scatter(const FlatMemory& memory, const ParameterRange& range) {
    return do_reduce_scatter(memory, range);
  }

  /// Gathers from all ranks: every rank gives shard_of(range, rank(), ranks()) and then has all of
  /// `range`.
  CommunicationTicket all_gather(const FlatMemory& memory, const ParameterRange& range) {
    return do_all_gather(memory, range);
  }

  void wait(CommunicationTicket ticket) { do_wait(ticket); }

  /// Lets a library that moves data only while it is called do so between segments. Never blocks.
  void progress() { do_progress(); }

  /// Returns the cudaStream_t that operations are put on, for who wants to know when they run; null
  /// where they are calls of a library on the host. As long-lived as this object.
  void* stream() { return do_stream(); }

 private:
  virtual int do_rank() const = 0;
  virtual int do_ranks() const = 0;
  virtual CommunicationTicket do_all_reduce(const FlatMemory& memory,
                                            const ParameterRange& range) = 0;
  virtual CommunicationTicket do_reduce_scatter(const FlatMemory& memory,
                                                const ParameterRange& range) = 0;
  virtual CommunicationTicket do_all_gather(const FlatMemory& memory,
                                            const ParameterRange& range) = 0;
  virtual void do_wait(CommunicationTicket ticket) = 0;
  virtual void do_progress() = 0;
  virtual void* do_stream() { return nullptr; }
};

}  // namespace linkgain
