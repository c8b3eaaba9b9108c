#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/latency/latency.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/runtime/data_mapping.hpp"
#include "nccl/api.hpp"
#include "peer/memory.hpp"
#include "peer/peer_calls.hpp"

namespace linkgain {
namespace {

class PingPong : public DeviceCall {
 public:
  PingPong(const Case& c, const BufferPlan& plan, const NcclContext& context, Session& session,
           bool through_host)
      : definition_(c),
        context_(context),
        peer_(sender_to(c, context.rank)),
        rounds_(plan.operations_per_slot / 2),
        through_host_(through_host),
        pools_(c, plan, context, session, Bytes{kernels::inbox_bytes(c.size.value)}, through_host) {
  }

 private:
  void do_prepare() override { pools_.join(); }
  void do_release() override { pools_.release(); }
  bool do_takes_part() const override { return peer_ >= 0; }
  void do_enqueue(std::int64_t slot) override {
    if (peer_ < 0) return;
    const kernels::PeerRegions& regions = pools_.memory().regions();
    const kernels::PingPong side{.inbox = regions.scratch[context_.rank],
                                 .peer_inbox = regions.scratch[peer_],
                                 .message = pools_.own().input(slot),
                                 .received = pools_.own().output(slot),
                                 .bytes = definition_.size.value,
                                 .starts = context_.rank == definition_.pair->from,
                                 .peer = peer_,
                                 .bound = context_.bound()};
    gpu::check(kernels::ping_pong(side, rounds_, rounds_done_, context_.stream->get()));
    rounds_done_ += static_cast<std::uint32_t>(rounds_);
  }

  void* do_output(std::int64_t slot) const override { return pools_.own().output(slot); }
  void do_fill(const kernels::Pattern& pattern) override { pools_.fill(pattern); }
  std::string do_form() const override {
    if (peer_ < 0) return {};
    return fmt::format("kernel: flags in data, ping-pong, {}", pools_.memory().transport());
  }

  std::optional<bool> do_through_host() const override { return through_host_; }
  std::optional<TransferPlan> do_plan() const override { return TransferPlan{"PUSH", "LL"}; }

  Case definition_;
  NcclContext context_;
  int peer_;  ///< -1 where this rank has no part
  int rounds_;
  bool through_host_;
  std::uint32_t rounds_done_ = 0;
  PeerPools pools_;
};

/// Returns one cycle through all lines, by Sattolo's algorithm; the same on every rank.
std::vector<std::uint64_t> chain_of(std::int64_t lines) {
  constexpr std::uint32_t kSeed = 20240520;
  std::mt19937_64 random(kSeed);
  std::vector<std::uint64_t> next(static_cast<std::size_t>(lines));
  std::iota(next.begin(), next.end(), std::uint64_t{0});
  for (std::size_t i = next.size() - 1; i > 0; --i) std::swap(next[i], next[random() % i]);
  for (std::uint64_t& line : next) line *= kLoadLatencyLine;
  return next;
}

class PointerChase : public DeviceCall {
 public:
  PointerChase(const Case& c, const BufferPlan& plan, const NcclContext& context, Session& session,
               bool through_host)
      : definition_(c),
        context_(context),
        loads_(plan.operations_per_slot),
        through_host_(through_host),
        next_(chain_of(c.size.value / kLoadLatencyLine)),
        position_(Bytes{sizeof(std::uint64_t)}),
        memory_(session, context, Bytes{1}, c.size,
                PeerTransport{through_host, device_api_problem()}) {}

 private:
  /// Writes the chain if it is this rank's; no rank goes on before all have prepared.
  void do_prepare() override {
    memory_.join();
    if (context_.rank != definition_.pair->from) return;
    gpu::check(cudaMemcpy2DAsync(memory_.regions().scratch[context_.rank], kLoadLatencyLine,
                                 next_.data(), sizeof(std::uint64_t), sizeof(std::uint64_t),
                                 next_.size(), cudaMemcpyDefault, context_.stream->get()));
    context_.stream->synchronize();
  }

  void do_release() override { memory_.release(); }
  bool do_takes_part() const override { return context_.rank == definition_.pair->to; }
  void do_enqueue(std::int64_t) override {
    if (!do_takes_part()) return;
    const void* chain = memory_.regions().scratch[definition_.pair->from];
    gpu::check(kernels::pointer_chase(chain, static_cast<std::uint64_t*>(position_.data()), loads_,
                                      context_.stream->get()));
  }

  void* do_output(std::int64_t) const override { return nullptr; }
  void do_fill(const kernels::Pattern&) override {
    gpu::check(cudaMemsetAsync(position_.data(), 0, sizeof(std::uint64_t), context_.stream->get()));
  }

  /// Checks where the walk ended. The chain is one cycle: only who has read every word right comes
  /// to the right place.
  std::optional<Verification> do_check(bool corrupt) override {
    Verification result;
    if (!do_takes_part()) return result;
    std::uint64_t found = 0;
    gpu::check(cudaMemcpy(&found, position_.data(), sizeof found, cudaMemcpyDeviceToHost));
    if (corrupt) found ^= kLoadLatencyLine;
    std::uint64_t expected = 0;
    for (int i = 0; i < loads_; ++i) {
      expected = next_[static_cast<std::size_t>(expected / kLoadLatencyLine)];
    }
    result.checked = loads_;
    if (found == expected) return result;
    result.wrong = 1;
    result.first_wrong =
        fmt::format("after {} loads at offset {} instead of {}", loads_, found, expected);
    return result;
  }

  std::string do_form() const override {
    if (!do_takes_part()) return {};
    return fmt::format("kernel: one thread's dependent loads, {}", memory_.transport());
  }

  std::optional<bool> do_through_host() const override { return through_host_; }
  std::optional<TransferPlan> do_plan() const override { return TransferPlan{"PULL", ""}; }

  Case definition_;
  NcclContext context_;
  int loads_;
  bool through_host_;
  std::vector<std::uint64_t> next_;  ///< by line, the offset that stands there
  gpu::DeviceBuffer position_;
  PeerMemory memory_;
};

}  // namespace

std::unique_ptr<DeviceCall> make_ping_pong(const Case& c, const BufferPlan& plan,
                                           const NcclContext& context, Session& session,
                                           bool through_host) {
  return std::make_unique<PingPong>(c, plan, context, session, through_host);
}

std::unique_ptr<DeviceCall> make_pointer_chase(const Case& c, const BufferPlan& plan,
                                               const NcclContext& context, Session& session,
                                               bool through_host) {
  return std::make_unique<PointerChase>(c, plan, context, session, through_host);
}

}  // namespace linkgain
