#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/shared_memory.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/runtime/session.hpp"
#include "support/gpu_rank_program.hpp"

// Prints what copy engines move between two GPUs, in both directions at once, where each GPU copies
// in a process of its own and where one process copies on both. Not a test, as what it prints
// depends on the GPUs: mpirun -np 2 copies_by_processes.
namespace linkgain::test {
namespace {

constexpr Bytes kSize{std::int64_t{512} << 20};
constexpr int kTimed = 40;
constexpr int kAround =
    8;  // copies, so that both ways are under way before and after what is timed

/// The copies of one GPU. All functions want it to be the current one.
class Side {
 public:
  /// Puts copies into its stream, and marks around those that count. Memory must outlive it.
  void enqueue(void* to, const void* from) {
    copy(to, from, kAround);
    start_.record(stream_);
    copy(to, from, kTimed);
    stop_.record(stream_);
    copy(to, from, kAround);
  }

  /// Waits for them.
  double gigabytes_per_second() const {
    stream_.synchronize();
    return static_cast<double>(kTimed * kSize.value) / gpu::elapsed(start_, stop_).value * 1e-9;
  }

 private:
  void copy(void* to, const void* from, int times) const {
    for (int i = 0; i < times; ++i) {
      gpu::check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(kSize.value), cudaMemcpyDefault,
                                 stream_.get()));
    }
  }

  gpu::Stream stream_;
  gpu::Event start_;
  gpu::Event stop_;
};

void print(const Session& session, std::string_view processes, bool pull,
           const std::array<double, 2>& rates) {
  if (!session.is_root()) return;
  fmt::print("{}, {}: {:.1f} and {:.1f} GB/s\n", processes, pull ? "pull" : "push", rates[0],
             rates[1]);
  std::fflush(stdout);
}

void by_two_processes(Session& session, bool pull) {
  const gpu::DeviceBuffer own(kSize);
  const gpu::DeviceBuffer open_to_others(kSize);
  const cudaIpcMemHandle_t handle = gpu::export_memory(open_to_others);
  const auto handles =
      session.share(std::string(reinterpret_cast<const char*>(&handle), sizeof handle));
  cudaIpcMemHandle_t theirs{};
  const auto peer = static_cast<std::size_t>(1 - session.rank());
  std::memcpy(&theirs, handles[peer].data(), sizeof theirs);
  const gpu::ImportedMemory imported(theirs);
  Side side;
  session.barrier();
  if (pull) {
    side.enqueue(own.data(), imported.data());
  } else {
    side.enqueue(imported.data(), own.data());
  }
  const auto rates = session.share(fmt::format("{}", side.gigabytes_per_second()));
  print(session, "two processes", pull, {std::stod(rates[0]), std::stod(rates[1])});
}

/// Copies on rank 0 alone. Every rank must call it.
void by_one_process(Session& session, bool pull) {
  if (session.is_root()) {
    struct Gpu {
      explicit Gpu(int number) {
        gpu::check(cudaSetDevice(number));
        const cudaError_t enabled = cudaDeviceEnablePeerAccess(1 - number, 0);
        if (enabled != cudaErrorPeerAccessAlreadyEnabled) gpu::check(enabled);
        buffers.emplace(std::array{gpu::DeviceBuffer(kSize), gpu::DeviceBuffer(kSize)});
        side.emplace();
      }
      std::optional<std::array<gpu::DeviceBuffer, 2>> buffers;
      std::optional<Side> side;
    };
    std::array<Gpu, 2> gpus{Gpu(0), Gpu(1)};
    std::array<double, 2> rates{};
    for (const std::size_t each : {0U, 1U}) {
      gpu::check(cudaSetDevice(static_cast<int>(each)));
      void* const own = (*gpus[each].buffers)[0].data();
      void* const theirs = (*gpus[1 - each].buffers)[1].data();
      gpus[each].side->enqueue(pull ? own : theirs, pull ? theirs : own);
    }
    for (const std::size_t each : {0U, 1U}) rates[each] = gpus[each].side->gigabytes_per_second();
    print(session, "one process", pull, rates);
    gpu::check(cudaSetDevice(0));
  }
  session.barrier();
}

void run(Session& session) {
  if (session.ranks() != 2) throw MachineError("two ranks are needed");
  take_gpu(session);
  for (int turn = 0; turn < 2; ++turn) {
    for (const bool pull : {true, false}) {
      by_two_processes(session, pull);
      by_one_process(session, pull);
    }
  }
}

}  // namespace
}  // namespace linkgain::test

int main(int argc, char** argv) {
  try {
    linkgain::Session session(argc, argv);
    return linkgain::test::run_or_end_all(session, [&] { linkgain::test::run(session); });
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
