#include "nccl/nccl_calls.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "library_calls.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/runtime/data_mapping.hpp"
#include "nccl/api.hpp"
#include "nccl/nccl_buffer.hpp"
#include "slot_pools.hpp"

namespace linkgain {
namespace {

/// Calls NCCL so that all is carried out at once. The group is closed on every way out.
template <typename Work>
void in_group(Work work) {
  check(nccl().group_start());
  try {
    work();
  } catch (...) {
    nccl().group_end();
    throw;
  }
  check(nccl().group_end());
}

/// The operations on these buffers, each put into the stream.
struct Enqueuing {
  const NcclCall& call;
  const Case& c;
  const void* input;
  void* output;

  std::size_t whole() const { return static_cast<std::size_t>(c.elements()); }
  std::size_t part() const { return static_cast<std::size_t>(c.elements_per_rank()); }
  /// Returns one rank's part within a buffer of all ranks'.
  std::size_t part_offset(int rank) const {
    return static_cast<std::size_t>(rank) * part() * static_cast<std::size_t>(size_of(c.type));
  }

  const void* input_for(int rank) const {
    return static_cast<const char*>(input) + part_offset(rank);
  }

  void* output_from(int rank) const { return static_cast<char*>(output) + part_offset(rank); }

  void all_reduce() const {
    check(nccl().all_reduce(input, output, whole(), call.type, call.reduction, call.communicator,
                            call.stream));
  }

  void all_gather() const {
    check(nccl().all_gather(input, output, part(), call.type, call.communicator, call.stream));
  }

  void reduce_scatter() const {
    check(nccl().reduce_scatter(input, output, part(), call.type, call.reduction, call.communicator,
                                call.stream));
  }

  void broadcast() const {
    check(nccl().broadcast(input, output, whole(), call.type, c.root, call.communicator,
                           call.stream));
  }

  void reduce() const {
    check(nccl().reduce(input, output, whole(), call.type, call.reduction, c.root,
                        call.communicator, call.stream));
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

  /// Sends to and fro: each of the two waits for the other's message before it sends the next one.
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
    check(nccl().send(data, count, call.type, receiver, call.communicator, call.stream));
  }

  void receive(void* data, std::size_t count, int sender) const {
    check(nccl().recv(data, count, call.type, sender, call.communicator, call.stream));
  }
};

ncclRedOp_t ready_made(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return ncclSum;
    case Reduction::prod:
      return ncclProd;
    case Reduction::min:
      return ncclMin;
    case Reduction::max:
      return ncclMax;
    case Reduction::avg:
      return ncclAvg;
    case Reduction::mulsum:
      break;  // made for each rank
  }
  throw std::logic_error("unhandled reduction");
}

/// A reduction as NCCL's calls take it: one of its own, or for mulsum one made for this rank, with
/// its factor, and owned here. Not copyable.
class NcclReduction {
 public:
  /// Makes NCCL's form of a reduction; local to the rank. `communicator` must outlive it. Throws
  /// NcclError, and MachineError where this NCCL lacks the type.
  NcclReduction(Reduction reduction, DataType type, int rank, ncclComm_t communicator) {
    if (reduction != Reduction::mulsum) {
      reduction_ = ready_made(reduction);
      return;
    }
    std::uint64_t factor = factor_bits(type, rank);
    check(nccl().red_op_create_pre_mul_sum(&reduction_, &factor, nccl_type(type),
                                           ncclScalarHostImmediate, communicator));
    made_for_ = communicator;
  }

  ~NcclReduction() {
    if (made_for_ != nullptr) nccl().red_op_destroy(reduction_, made_for_);
  }

  NcclReduction(const NcclReduction&) = delete;
  NcclReduction& operator=(const NcclReduction&) = delete;

  ncclRedOp_t get() const noexcept { return reduction_; }

 private:
  ncclRedOp_t reduction_ = ncclSum;
  ncclComm_t made_for_ = nullptr;  ///< null where it is one of NCCL's own
};

class NcclDeviceCall : public DeviceCall {
 public:
  NcclDeviceCall(const Case& c, const BufferPlan& plan, const NcclContext& context)
      : reduction_(c.reduction, c.type, context.rank, context.communicator),
        call_{c,
              nccl_type(c.type),
              reduction_.get(),
              context.rank,
              context.communicator,
              context.stream->get(),
              nccl_exchanges()},
        stream_(*context.stream),
        slots_(c, plan, context.rank),
        first_(slots_.first_size(), c.buffers, context.communicator),
        second_(slots_.second_size(), c.buffers, context.communicator) {
    slots_.set_memory(first_.data(), second_.data());
  }

 private:
  void do_prepare() override {
    first_.prepare();
    second_.prepare();
  }

  bool do_takes_part() const override { return linkgain::takes_part(call_.definition, call_.rank); }

  void do_enqueue(std::int64_t slot) override {
    linkgain::enqueue(call_, slots_.input(slot), slots_.output(slot));
  }

  void* do_input(std::int64_t slot) const override { return slots_.input(slot); }
  void* do_output(std::int64_t slot) const override { return slots_.output(slot); }
  void do_fill(const kernels::Pattern& pattern) override { slots_.fill(pattern, stream_); }
  std::string do_form() const override {
    return is_grouped(call_) ? std::string(kGroupedForm) : std::string{};
  }

  std::optional<bool> do_through_host() const override { return std::nullopt; }
  std::optional<TransferPlan> do_plan() const override { return std::nullopt; }

  NcclReduction reduction_;
  NcclCall call_;
  const gpu::Stream& stream_;
  SlotPools slots_;
  NcclBuffer first_;   ///< of inputs; in place of both
  NcclBuffer second_;  ///< of outputs; in place of nothing
};

}  // namespace

void enqueue(const NcclCall& call, const void* input, void* output) {
  const Case& c = call.definition;
  call_library(Enqueuing{call, c, input, output}, c.operation);
}

bool is_grouped(const NcclCall& call) {
  return is_exchange(call.definition.operation) && !call.exchanges.present();
}

std::unique_ptr<DeviceCall> make_nccl_call(const Case& c, const BufferPlan& plan,
                                           const NcclContext& context) {
  return std::make_unique<NcclDeviceCall>(c, plan, context);
}

}  // namespace linkgain
