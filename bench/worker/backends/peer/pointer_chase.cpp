#include "peer/pointer_chase.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstddef>
#include <numeric>
#include <random>
#include <utility>

#include "kernels/latency/latency.hpp"
#include "linkgain/gpu/errors.hpp"
#include "nccl/device_api.hpp"

namespace linkgain {
namespace {

/// One cycle through all lines, by Sattolo's algorithm; the same on every rank.
std::vector<std::uint64_t> chain_of(std::int64_t lines) {
  constexpr std::uint32_t kSeed = 20240520;
  std::mt19937_64 random(kSeed);
  std::vector<std::uint64_t> next(static_cast<std::size_t>(lines));
  std::iota(next.begin(), next.end(), std::uint64_t{0});
  for (std::size_t i = next.size() - 1; i > 0; --i) std::swap(next[i], next[random() % i]);
  for (std::uint64_t& line : next) line *= kLoadLatencyLine;
  return next;
}

}  // namespace

LoadChase::LoadChase(const Case& c, const BufferPlan& plan, const NcclContext& context,
                     Session& session, bool through_host)
    : definition_(c),
      context_(context),
      loads_(plan.operations_per_slot),
      through_host_(through_host),
      next_(chain_of(c.size.value / kLoadLatencyLine)),
      position_(Bytes{sizeof(std::uint64_t)}),
      memory_(session, context, Bytes{1}, c.size, PeerRoad{through_host, device_api_problem()}) {}

void LoadChase::do_enqueue(std::int64_t) {
  if (!do_takes_part()) return;
  const void* chain = memory_.regions().scratch[definition_.pair->from];
  gpu::check(kernels::pointer_chase(chain, static_cast<std::uint64_t*>(position_.data()), loads_,
                                    context_.stream->get()));
}

/// The chain's owner writes it; no rank goes on before all have prepared.
void LoadChase::do_prepare() {
  memory_.join();
  if (context_.rank != definition_.pair->from) return;
  gpu::check(cudaMemcpy2DAsync(memory_.regions().scratch[context_.rank], kLoadLatencyLine,
                               next_.data(), sizeof(std::uint64_t), sizeof(std::uint64_t),
                               next_.size(), cudaMemcpyDefault, context_.stream->get()));
  context_.stream->synchronize();
}

void LoadChase::do_fill(const kernels::Pattern&) {
  gpu::check(cudaMemsetAsync(position_.data(), 0, sizeof(std::uint64_t), context_.stream->get()));
}

std::string LoadChase::do_form() const {
  if (!do_takes_part()) return {};
  return fmt::format("kernel: one thread's dependent loads, {}", memory_.road());
}

/// The chain is one cycle: only who has read every word right comes to the right place.
std::optional<Verification> LoadChase::do_check(bool corrupt) {
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

}  // namespace linkgain
