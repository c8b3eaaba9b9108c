#include "linkgain/proof/peer_access.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/all_reduce/all_reduce.hpp"
#include "kernels/copy/copy.hpp"
#include "kernels/peer/exchange.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/shared_memory.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/gpu/waits.hpp"

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

constexpr std::int64_t kSummed = std::int64_t{1} << 18;  // elements of an all-reduce of 1 MiB
constexpr Bytes kSummedBytes{kSummed * static_cast<std::int64_t>(sizeof(float))};
constexpr auto kMethod = kernels::AllReduceMethod::sentinel;
constexpr int kSumRounds = 8;  // each with inputs of its own
constexpr int kSumsInGraph = 4;
constexpr int kReplays = 16;
/// How long ranks work between two looks at the data under load, and copies between two looks at
/// the clock.
constexpr double kLoadRoundSeconds = 1.0;
constexpr int kLoadCopies = 16;

/// That a kernel waits at most in a sum is a share of it.
constexpr Seconds kSumsLimit{2.5};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Tells whether CUDA reports so that memory of the other GPU cannot be opened or reached. Others
/// are those of a worker that cannot run: no code for this GPU, no memory left.
bool is_of_access(cudaError_t code) {
  constexpr std::array kOfAccess{cudaErrorPeerAccessUnsupported, cudaErrorMapBufferObjectFailed,
                                 cudaErrorNvlinkUncorrectable, cudaErrorIllegalAddress,
                                 cudaErrorLaunchFailure};
  return std::ranges::find(kOfAccess, code) != kOfAccess.end();
}

/// Returns an integer that a rank adds in a round, so small that sums are exact.
float summand(int rank, int round, std::int64_t place) {
  constexpr std::int64_t kMost = 1024;
  return static_cast<float>((place * 7 + round * 13 + rank * 29) % kMost);
}

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

/// Sums by linkgain's kernel over the two ranks, on the current device, as a graph.
class KernelSums {
 public:
  /// Opens the other rank's scratch, which begins with zeros; every rank must call it.
  KernelSums(Session& session, const gpu::Stream& stream, bool own_window)
      : session_(session),
        stream_(stream),
        data_(Bytes{2 * kSummedBytes.value}),
        scratch_(Bytes{kernels::all_reduce_scratch(kMethod, kSummedBytes.value, 2)}) {
    gpu::enqueue_fill(scratch_.data(), 0, scratch_.size(), stream_);
    gpu::check(kernels::reset_all_reduce_scratch(kMethod, scratch_.data(), scratch_.size().value,
                                                 stream_.get()));
    stream_.synchronize();
    peer_.emplace(open_peer(session, scratch_));
    const auto own = static_cast<std::size_t>(session.rank());
    regions_.ranks = 2;
    regions_.rank = session.rank();
    regions_.data[own] = data_.data();
    regions_.scratch[own] = scratch_.data();
    regions_.scratch[1 - own] = own_window ? scratch_.data() : peer_->data();
    int device = 0;
    int multiprocessors = 0;
    gpu::check(cudaGetDevice(&device));
    gpu::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    const int blocks = kernels::all_reduce_blocks(kMethod, kSummedBytes.value, 2, multiprocessors,
                                                  kernels::AllReducePath::p2p);
    const auto type = kernels::ElementType::float32;
    gpu::check(kernels::check_all_reduce(kMethod, type, 2, blocks));
    graph_.emplace(gpu::capture(stream_, [&] {
      for (int i = 0; i < kSumsInGraph; ++i) {
        gpu::check(kernels::all_reduce(kMethod, regions_, {0, kSummedBytes.value}, type, kSummed,
                                       kSummed, blocks, stream_.get(), waits_.bound()));
      }
    }));
  }

  /// Puts the round's summands of this rank where the graph finds them, and poison where sums go.
  void fill(int round) {
    std::vector<float> input(static_cast<std::size_t>(kSummed));
    for (std::int64_t i = 0; i < kSummed; ++i) {
      input[static_cast<std::size_t>(i)] = summand(session_.rank(), round, i);
    }
    gpu::enqueue_copy(data_.data(), input.data(), kSummedBytes, stream_);
    gpu::enqueue_fill(output(), kPoison, kSummedBytes, stream_);
    stream_.synchronize();
  }

  void enqueue() { graph_->launch(stream_); }

  /// Says what is wrong with the round's sums; empty if nothing is.
  std::string look(int round) {
    std::vector<float> sums(static_cast<std::size_t>(kSummed));
    gpu::enqueue_copy(sums.data(), output(), kSummedBytes, stream_);
    stream_.synchronize();
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < kSummed; ++i) {
      const float expected = summand(0, round, i) + summand(1, round, i);
      wrong += sums[static_cast<std::size_t>(i)] == expected ? 0 : 1;
    }
    if (wrong == 0) return {};
    return fmt::format("{} GPU: {} of {} sums are wrong in round {}",
                       session_.rank() == 0 ? "first" : "second", wrong, kSummed, round + 1);
  }

  /// Says for whom a kernel waited in vain.
  std::optional<std::string> failure() const { return waits_.failure(); }

  /// Closes the other rank's memory; every rank must call it.
  void close() {
    peer_.reset();
    session_.barrier();
  }

 private:
  void* output() const { return static_cast<char*>(data_.data()) + kSummedBytes.value; }

  Session& session_;
  const gpu::Stream& stream_;
  gpu::DeviceWaits waits_{session_.rank(), kSumsLimit};
  gpu::DeviceBuffer data_;  ///< summands, then sums
  gpu::DeviceBuffer scratch_;
  std::optional<gpu::ImportedMemory> peer_;
  kernels::PeerRegions regions_{};
  std::optional<gpu::GraphExecutable> graph_;
};

/// One of two ranks that reach each other's inbox, on the current device, and the fault that a test
/// orders of it.
class Prover {
 public:
  /// Makes memory for the proof, and opens the other rank's when it has called `begin`; the inbox
  /// begins with zeros. Every rank must call it.
  Prover(Session& session, const std::optional<Fault>& fault, const std::function<void()>& begin)
      : session_(session),
        fault_(fault && fault->rank == session.rank() ? fault : std::nullopt),
        source_(kWritten),
        inbox_(kWritten) {
    gpu::enqueue_fill(inbox_.data(), 0, kWritten, stream_);
    stream_.synchronize();
    begin();
    peer_ = open_peer(session, inbox_);
  }

  /// Closes the other rank's memory; every rank must call it, as memory goes when nobody has it
  /// open any more.
  void close() {
    peer_.reset();
    session_.barrier();
  }

  Delivery write(bool by_copy_engine) {
    poison(inbox_);
    std::string seen;
    for (int write = 0; write < kWrites; ++write) {
      for (int sender = 0; sender < 2; ++sender) {
        if (sender == session_.rank()) send(write, by_copy_engine);
        session_.barrier();
        if (sender == session_.rank() || !seen.empty()) continue;
        seen = look(inbox_, sender, write);
      }
    }
    return together(seen.empty() ? Outcome::arrived : Outcome::not_arrived, seen);
  }

  /// Has each rank put words into its own inbox, and the other load them from there.
  Delivery load() {
    poison(inbox_);
    std::string seen;
    for (int write = 0; write < kWrites; ++write) {
      for (int owner = 0; owner < 2; ++owner) {
        const bool is_owner = owner == session_.rank();
        if (is_owner) put(inbox_, write);
        session_.barrier();
        if (!is_owner) {
          hang_if_told();
          time([&] { enqueue_stores(source_.data(), target()); });
          if (seen.empty()) seen = look(source_, owner, write);
        }
        session_.barrier();
      }
    }
    return together(seen.empty() ? Outcome::arrived : Outcome::not_arrived, seen);
  }

  /// Sums by linkgain's kernel, round after round.
  Delivery sum() {
    hang_if_told();
    KernelSums sums(session_, stream_, has(Fault::Kind::own_window));
    Seen seen;
    for (int round = 0; round < kSumRounds && is_well(seen); ++round) {
      seen = sum_round(sums, round, [] {});
    }
    sums.close();
    return together(seen.outcome, seen.words);
  }

  /// Sums while stores and copies go both ways, for so long, two seconds at least, and looks at all
  /// of it once a second.
  Delivery work(Seconds time) {
    hang_if_told();
    KernelSums sums(session_, stream_, has(Fault::Kind::own_window));
    const gpu::Stream stores;
    const gpu::Stream copies;
    const std::int64_t half = kWritten.value / 2;
    const auto place = [&](void* memory) { return static_cast<char*>(memory) + half; };
    const Clock::time_point begin = Clock::now();
    Seen seen;
    int round = 0;
    const auto goes_on = [&] {
      return round < kWrites || session_.max(seconds_since(begin)) < time.value;
    };
    for (; is_well(seen) && goes_on(); ++round) {
      const int write = round % kWrites;
      poison(inbox_);
      put(source_, write);
      const Clock::time_point round_begin = Clock::now();
      seen = sum_round(sums, round, [&] {
        do {
          for (int i = 0; i < kLoadCopies; ++i) {
            gpu::check(kernels::copy(target(), source_.data(), half, kernels::kCopyShapes[0],
                                     stores.get()));
            gpu::enqueue_copy(place(target()), place(source_.data()), Bytes{half}, copies);
          }
          enqueue_sums(sums);
          stores.synchronize();
          copies.synchronize();
          stream_.synchronize();
        } while (session_.max(seconds_since(round_begin)) < kLoadRoundSeconds);
      });
      session_.barrier();
      if (seen.outcome == Outcome::arrived) {
        seen.words = look(inbox_, 1 - session_.rank(), write);
        if (!seen.words.empty()) seen.outcome = Outcome::not_arrived;
      }
      session_.barrier();
    }
    sums.close();
    if (!seen.words.empty()) seen.words += fmt::format(" (after {:.0f} s)", seconds_since(begin));
    return together(seen.outcome, seen.words);
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
  struct Seen {
    Outcome outcome = Outcome::arrived;
    std::string words{};
  };

  bool has(Fault::Kind kind) const { return fault_ && fault_->kind == kind; }

  /// Tells whether both ranks saw nothing wrong; both must call it.
  bool is_well(const Seen& seen) {
    return session_.max(seen.outcome == Outcome::arrived ? 0.0 : 1.0) == 0.0;
  }

  void enqueue_sums(KernelSums& sums) const {
    if (has(Fault::Kind::drop)) return;
    for (int i = 0; i < kReplays; ++i) sums.enqueue();
  }

  /// Replays the sums of a round, beside `other_work`, and looks at them.
  template <typename Work>
  Seen sum_round(KernelSums& sums, int round, const Work& other_work) {
    if (!has(Fault::Kind::stale) || round == 0) sums.fill(round);
    session_.barrier();
    enqueue_sums(sums);
    other_work();
    stream_.synchronize();
    session_.barrier();
    if (const auto failure = sums.failure()) return {Outcome::gave_up, *failure};
    if (has(Fault::Kind::drop)) return {};
    const std::string seen = sums.look(round);
    return {seen.empty() ? Outcome::arrived : Outcome::not_arrived, seen};
  }

  void poison(const gpu::DeviceBuffer& buffer) {
    gpu::enqueue_fill(buffer.data(), kPoison, kWritten, stream_);
    stream_.synchronize();
    session_.barrier();
  }

  /// Copies this rank's words of a write into its memory, as far as a fault lets it.
  void put(const gpu::DeviceBuffer& buffer, int write) {
    if (has(Fault::Kind::drop) || (has(Fault::Kind::stale) && write > 0)) return;
    const Words words = words_of(session_.rank(), write);
    gpu::enqueue_copy(buffer.data(), words.data(), kWritten, stream_);
    stream_.synchronize();
  }

  /// Has a kernel read from `from` and write to `to`.
  void enqueue_stores(void* to, const void* from) {
    gpu::check(kernels::copy(to, from, kWritten.value, kernels::kCopyShapes[0], stream_.get()));
  }

  /// Keeps the time of the last transfer, which comes after a first.
  template <typename Enqueue>
  void time(const Enqueue& enqueue) {
    const Clock::time_point begin = Clock::now();
    enqueue();
    stream_.synchronize();
    seconds_ = seconds_since(begin);
  }
  void* target() const {
    if (has(Fault::Kind::unmapped)) return nullptr;
    return has(Fault::Kind::own_window) ? inbox_.data() : peer_->data();
  }

  void hang_if_told() const {
    while (has(Fault::Kind::hang)) ::pause();
  }

  void send(int write, bool by_copy_engine) {
    hang_if_told();
    if (has(Fault::Kind::drop) || (has(Fault::Kind::stale) && write > 0)) return;
    put(source_, write);
    time([&] {
      if (by_copy_engine) {
        gpu::enqueue_copy(target(), source_.data(), kWritten, stream_);
      } else {
        enqueue_stores(target(), source_.data());
      }
    });
  }

  /// Says what is wrong with words of the sender's; empty if nothing is.
  std::string look(const gpu::DeviceBuffer& buffer, int sender, int write) {
    Words found(static_cast<std::size_t>(kWords));
    gpu::enqueue_copy(found.data(), buffer.data(), kWritten, stream_);
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
    const double seconds = session_.max(seconds_);
    if (worst == 0.0) return {Outcome::arrived, words, seconds};
    return {worst == 1.0 ? Outcome::gave_up : Outcome::not_arrived, words, seconds};
  }

  Session& session_;
  std::optional<Fault> fault_;
  gpu::Stream stream_;
  gpu::DeviceBuffer source_;
  gpu::DeviceBuffer inbox_;
  std::optional<gpu::ImportedMemory> peer_;
  double seconds_ = 0.0;
};

}  // namespace

Delivery prove_peer_access(Session& session, const PeerRung& rung,
                           const std::optional<Fault>& fault, const std::function<void()>& begin) {
  take_device(session, rung.gpus);
  const auto climb = [&](Prover& prover) {
    switch (rung.rung) {
      case ProofRung::stores:
        return prover.write(false);
      case ProofRung::copy_engine:
        return prover.write(true);
      case ProofRung::loads:
        return prover.load();
      case ProofRung::flags:
        return prover.exchange();
      case ProofRung::kernels:
        return prover.sum();
      case ProofRung::load:
        return prover.work(rung.load_time);
      case ProofRung::all_reduce:
      case ProofRung::control:
        break;
    }
    throw std::logic_error("a rung of NCCL's");
  };
  try {
    Prover prover(session, fault, begin);
    const Delivery delivery = climb(prover);
    prover.close();
    return delivery;
  } catch (const gpu::CudaError& error) {
    if (is_of_access(error.code())) throw PeerAccessError(error.what(), error.advice());
    throw;
  }
}

}  // namespace linkgain
