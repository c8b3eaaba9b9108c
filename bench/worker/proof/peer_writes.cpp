#include "linkgain/proof/peer_writes.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "kernels/copy/copy.hpp"
#include "kernels/peer/exchange.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/shared_memory.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain {
namespace {

using Outcome = Delivery::Outcome;
using Words = std::vector<std::uint32_t>;

/// Bytes of a write: more than the cache of a GPU holds.
constexpr Bytes kWritten{std::int64_t{64} << 20};
constexpr std::int64_t kWords = kWritten.value / static_cast<std::int64_t>(sizeof(std::uint32_t));
constexpr unsigned char kPoison = 0xA5;
/// The second write finds the first one's data, so that old data cannot pass for new.
constexpr int kWrites = 2;

constexpr std::int64_t kExchangedWords = 4096;
static_assert(kernels::exchange_inbox_bytes(kExchangedWords) <= kWritten.value);
constexpr std::uint32_t kExchangeRounds = 64;
/// That a kernel waits at most. Two processes that share a device take turns of milliseconds.
constexpr double kKernelMicroseconds = 2e6;

/// Returns what rank `sender` puts at a place in its `write`-th write.
std::uint32_t word_of(int sender, int write, std::int64_t place) {
  std::uint32_t word = static_cast<std::uint32_t>(place) * 2654435761u;
  word ^= static_cast<std::uint32_t>(write * 2 + sender + 1) * 0x9e3779b9u;
  return (word ^ (word >> 15)) * 0x85ebca6bu;
}

Words words_of(int sender, int write) {
  Words words(static_cast<std::size_t>(kWords));
  for (std::int64_t i = 0; i < kWords; ++i) {
    words[static_cast<std::size_t>(i)] = word_of(sender, write, i);
  }
  return words;
}

const char* direction(int sender) {
  return sender == 0 ? "first to second GPU" : "second to first GPU";
}

/// Makes the rank's device the current one.
void take_device(const Session& session, const std::vector<int>& gpus) {
  const int count = gpu::device_count();
  if (count == 0) throw MachineError("CUDA shows no GPU", "check nvidia-smi -L");
  const int rank = session.rank();
  gpu::check(cudaSetDevice(gpus.empty() ? rank % count : gpus.at(static_cast<std::size_t>(rank))));
}

/// Opens the other rank's memory of the same kind; every rank must call it.
gpu::ImportedMemory open_peer(Session& session, const gpu::DeviceBuffer& own) {
  const cudaIpcMemHandle_t handle = gpu::export_memory(own);
  const std::vector<std::string> all =
      session.share({reinterpret_cast<const char*>(&handle), sizeof handle});
  cudaIpcMemHandle_t handed{};
  std::memcpy(&handed, all.at(static_cast<std::size_t>(1 - session.rank())).data(), sizeof handed);
  return gpu::ImportedMemory(handed);
}

/// One of two ranks that reach each other's inbox, on the current device, and the fault that a test
/// orders of it.
class Prover {
 public:
  /// Makes memory for the proof; the inbox begins with zeros. Every rank must call it.
  Prover(Session& session, const std::optional<Fault>& fault)
      : session_(session),
        fault_(fault && fault->rank == session.rank() ? fault : std::nullopt),
        source_(kWritten),
        inbox_(kWritten) {
    gpu::enqueue_fill(inbox_.data(), 0, kWritten, stream_);
    stream_.synchronize();
    peer_ = open_peer(session, inbox_);
  }

  /// Closes the other rank's memory; every rank must call it, as memory goes when nobody has it
  /// open any more.
  void close() {
    peer_.reset();
    session_.barrier();
  }

  Delivery write(bool by_copy_engine) {
    gpu::enqueue_fill(inbox_.data(), kPoison, kWritten, stream_);
    stream_.synchronize();
    session_.barrier();
    std::string seen;
    for (int write = 0; write < kWrites; ++write) {
      for (int sender = 0; sender < 2; ++sender) {
        if (sender == session_.rank()) send(write, by_copy_engine);
        session_.barrier();
        if (sender == session_.rank() || !seen.empty()) continue;
        seen = look(sender, write);
      }
    }
    return together(seen.empty() ? Outcome::arrived : Outcome::not_arrived, seen);
  }

  Delivery exchange() {
    hang_if_told();
    auto fault = kernels::ExchangeFault::none;
    if (has(Fault::Kind::drop)) fault = kernels::ExchangeFault::drop;
    if (has(Fault::Kind::stale)) fault = kernels::ExchangeFault::stale;
    const kernels::ExchangeSide side{inbox_.data(), target(), kExchangedWords, session_.rank(),
                                     fault};
    const gpu::DeviceBuffer memory(Bytes{sizeof(kernels::ExchangeReport)});
    auto* const on_device = static_cast<kernels::ExchangeReport*>(memory.data());
    session_.barrier();
    gpu::check(
        kernels::exchange(side, kExchangeRounds, kKernelMicroseconds, on_device, stream_.get()));
    kernels::ExchangeReport report{};
    gpu::enqueue_copy(&report, on_device, Bytes{sizeof report}, stream_);
    stream_.synchronize();
    session_.barrier();
    if (report.wrong > 0) {
      return together(Outcome::not_arrived,
                      fmt::format("{}: flags of {} rounds came, and {} words were not those sent",
                                  direction(1 - session_.rank()), report.rounds, report.wrong));
    }
    if (report.rounds < kExchangeRounds) {
      return together(
          Outcome::gave_up,
          fmt::format("{}: gave up after {:g} s in round {} of {}, the last flag was {}",
                      direction(1 - session_.rank()), kKernelMicroseconds / 1e6, report.rounds + 1,
                      kExchangeRounds, report.last_flag));
    }
    return together(Outcome::arrived, "");
  }

 private:
  bool has(Fault::Kind kind) const { return fault_ && fault_->kind == kind; }
  void* target() const { return has(Fault::Kind::own_window) ? inbox_.data() : peer_->data(); }

  void hang_if_told() const {
    while (has(Fault::Kind::hang)) ::pause();
  }

  void send(int write, bool by_copy_engine) {
    hang_if_told();
    if (has(Fault::Kind::drop) || (has(Fault::Kind::stale) && write > 0)) return;
    const Words words = words_of(session_.rank(), write);
    gpu::enqueue_copy(source_.data(), words.data(), kWritten, stream_);
    if (by_copy_engine) {
      gpu::enqueue_copy(target(), source_.data(), kWritten, stream_);
    } else {
      gpu::check(kernels::copy(target(), source_.data(), kWritten.value, kernels::kCopyShapes[0],
                               stream_.get()));
    }
    stream_.synchronize();
  }

  /// Says what is wrong with the inbox; empty if nothing is.
  std::string look(int sender, int write) {
    Words found(static_cast<std::size_t>(kWords));
    gpu::enqueue_copy(found.data(), inbox_.data(), kWritten, stream_);
    stream_.synchronize();
    std::uint32_t poison = 0;
    std::memset(&poison, kPoison, sizeof poison);
    std::int64_t wrong = 0;
    std::int64_t old = 0;
    for (std::int64_t i = 0; i < kWords; ++i) {
      const std::uint32_t word = found[static_cast<std::size_t>(i)];
      if (word == word_of(sender, write, i)) continue;
      ++wrong;
      if (word == (write == 0 ? poison : word_of(sender, write - 1, i))) ++old;
    }
    if (wrong == 0) return {};
    return fmt::format("{}: {} of {} words are wrong, {} of them what stood there before",
                       direction(sender), wrong, kWords, old);
  }

  /// Gathers the graver outcome of both ranks and the words of each on rank 0.
  Delivery together(Outcome own, const std::string& seen) {
    const std::vector<std::string> all = session_.gather(seen);
    // In the order of gravity, from arrived on: what is wrong says more than what is late.
    const double gravity = own == Outcome::arrived ? 0.0 : own == Outcome::gave_up ? 1.0 : 2.0;
    const double worst = session_.max(gravity);
    std::string words;
    for (const std::string& each : all) {
      if (!each.empty()) words += (words.empty() ? "" : "; ") + each;
    }
    if (worst == 0.0) return {Outcome::arrived, words};
    return {worst == 1.0 ? Outcome::gave_up : Outcome::not_arrived, words};
  }

  Session& session_;
  std::optional<Fault> fault_;
  gpu::Stream stream_;
  gpu::DeviceBuffer source_;
  gpu::DeviceBuffer inbox_;
  std::optional<gpu::ImportedMemory> peer_;
};

}  // namespace

Delivery prove_peer_writes(Session& session, ProofRung rung, const std::vector<int>& gpus,
                           const std::optional<Fault>& fault) {
  take_device(session, gpus);
  Prover prover(session, fault);
  const Delivery delivery =
      rung == ProofRung::flags ? prover.exchange() : prover.write(rung == ProofRung::copy_engine);
  prover.close();
  return delivery;
}

}  // namespace linkgain
