#include "relay_copy.hpp"

#include <fmt/format.h>

#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/stream_flag.hpp"

namespace linkgain {
namespace {

constexpr std::int64_t kRingAlignment = 4096;

Bytes ring_of(const Case& c, Bytes chunk) {
  const Bytes ring = c.kernel ? KernelRelayLane::ring_bytes() : EngineRelayLane::ring_bytes(chunk);
  return Bytes{round_up(ring.value, kRingAlignment)};
}

std::int64_t lanes_of(const Case& c) { return static_cast<std::int64_t>(transfers_of(c).size()); }

/// Every rank's share of the memory for all rings.
Bytes scratch_of(const Case& c, Bytes ring) {
  return Bytes{(lanes_of(c) * ring.value + c.ranks - 1) / c.ranks};
}

}  // namespace

RelayCopy::RelayCopy(const Case& c, const BufferPlan& plan, const NcclContext& context,
                     Session& session)
    : definition_(c),
      context_(context),
      chunk_(EngineRelayLane::chunk_for(c.size, lanes_of(c))),
      ring_(ring_of(c, chunk_)),
      pools_(c, plan, context, session, scratch_of(c, ring_), true) {
  if (!c.kernel && !gpu::has_stream_flags()) {
    throw MachineError("this driver's streams cannot wait for other processes' copies",
                       "the kernel's form (--kernels) needs no such");
  }
  const std::vector<Transfer> transfers = transfers_of(c);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (transfers[i].from == context.rank) {
      parts_.push_back({transfers[i], i, RelaySide::sends, nullptr});
    }
    if (transfers[i].to == context.rank) {
      parts_.push_back({transfers[i], i, RelaySide::receives, nullptr});
    }
  }
}

/// The ranks' shares of the memory lie one after the other.
void RelayCopy::do_prepare() {
  pools_.join();
  auto* rings = static_cast<char*>(pools_.memory().regions().scratch[0]);
  for (Part& part : parts_) {
    char* ring = rings + static_cast<std::int64_t>(part.number) * ring_.value;
    if (definition_.kernel) {
      part.lane = std::make_unique<KernelRelayLane>(part.side, ring);
    } else {
      part.lane = std::make_unique<EngineRelayLane>(part.side, ring, chunk_);
    }
  }
}

void RelayCopy::do_enqueue(std::int64_t slot) {
  for (Part& part : parts_) {
    void* memory = part.side == RelaySide::sends
                       ? pools_.own().input(slot)
                       : static_cast<char*>(pools_.own().output(slot)) + part.transfer.offset.value;
    part.lane->move(memory, definition_.size, *context_.stream);
  }
}

void RelayCopy::do_finish() {
  for (Part& part : parts_) part.lane->finish(*context_.stream);
}

std::string RelayCopy::do_form() const {
  if (parts_.empty()) return {};
  if (definition_.kernel) return "kernels relay through host memory";
  return fmt::format("copy engines relay through host memory, chunks of {}",
                     readable_bytes(chunk_));
}

std::optional<TransferPlan> RelayCopy::do_plan() const {
  return TransferPlan{"RELAY", std::string(kSimple)};
}

}  // namespace linkgain
