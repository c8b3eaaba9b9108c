#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/all_reduce/all_reduce.hpp"
#include "kernels/verify/pattern.hpp"
#include "kernels/verify/verification.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/cases/selection.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/runtime/session.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "nccl/api.hpp"
#include "nccl/batch_timer.hpp"
#include "peer/memory.hpp"
#include "peer/peer_calls.hpp"
#include "support/gpu_rank_program.hpp"

// Times the methods of our all-reduce, size by size, beside NCCL's: what the crossover
// points of kernels/all_reduce/select.cu are read from. Not a test, as what it prints depends on
// the GPUs. Started by mpirun. See usage().
namespace linkgain::test {
namespace {

using kernels::AllReduceMethod;
using kernels::AllReducePath;

// How long an all-reduce takes by each of our methods and by NCCL.

/// Leaves out the slow ones: where every rank gets all data and not a share, those above a size.
std::vector<kernels::AllReduceMethod> methods_for(Bytes size, int ranks,
                                                  kernels::AllReducePath path) {
  constexpr std::int64_t kMostSent = std::int64_t{64} << 20;
  const bool through_host = path == kernels::AllReducePath::host_memory;
  std::vector<kernels::AllReduceMethod> methods;
  for (const kernels::AllReduceTraits& each : kernels::kAllReduceMethods) {
    if (each.has(through_host ? kernels::kThroughHost : kernels::kByP2p) &&
        (each.has(kernels::kDataByShares) || size.value * (ranks - 1) <= kMostSent)) {
      methods.push_back(each.method);
    }
  }
  return methods;
}

/// One size on this rank; all ranks call the same. Operations of a graph take buffers in turn, so
/// that they find their data cold.
class SizeMeasurement {
 public:
  SizeMeasurement(Session& session, ncclComm_t communicator, Bytes size,
                  kernels::AllReducePath path)
      : session_(session),
        communicator_(communicator),
        size_(size),
        pitch_(round_up(size.value, kPitch)),
        slots_(std::clamp<std::int64_t>(kColdBytes / (2 * pitch_), 1, kMostSlots)),
        scratch_(scratch_for(size, session.ranks(), path)),
        nccl_data_(Bytes{2 * pitch_ * slots_}),
        memory_(session, context(), Bytes{2 * pitch_ * slots_}, Bytes{scratch_},
                path == kernels::AllReducePath::host_memory
                    ? PeerTransport{true, {}}
                    : PeerTransport{false, device_api_problem()}) {
    memory_.join();
    for (void* const data : {memory_.data(), nccl_data_.data()}) fill(static_cast<char*>(data));
  }

  /// Returns the slowest rank's time of one operation: the median of kSamples.
  Seconds time(kernels::AllReduceMethod method, int blocks) {
    void* const scratch = memory_.regions().scratch[session_.rank()];
    gpu::check(cudaMemset(scratch, 0, static_cast<std::size_t>(scratch_)));
    gpu::check(kernels::reset_all_reduce_scratch(method, scratch, scratch_, stream_.get()));
    gpu::check(cudaDeviceSynchronize());
    session_.barrier();
    return time([&](std::int64_t slot) {
      const kernels::DataOffsets where{2 * slot * pitch_, (2 * slot + 1) * pitch_};
      gpu::check(kernels::all_reduce(method, memory_.regions(), where,
                                     kernels::ElementType::float32, elements(), elements(), blocks,
                                     stream_.get()));
    });
  }

  Seconds time_nccl() {
    return time([&](std::int64_t slot) {
      auto* const input = static_cast<char*>(nccl_data_.data()) + 2 * slot * pitch_;
      check(nccl().all_reduce(input, input + pitch_, static_cast<std::size_t>(elements()),
                              ncclFloat, ncclSum, communicator_, stream_.get()));
    });
  }

 private:
  static constexpr std::int64_t kPitch = 128;
  static constexpr std::int64_t kColdBytes = std::int64_t{256} << 20;
  static constexpr std::int64_t kMostSlots = 64;
  static constexpr int kSamples = 7;
  static constexpr std::uint32_t kSeed = 1;
  static constexpr double kSampleTime = 5e-3;

  static std::int64_t scratch_for(Bytes size, int ranks, kernels::AllReducePath path) {
    std::int64_t most = 0;
    for (const kernels::AllReduceMethod each : methods_for(size, ranks, path)) {
      most = std::max(most, kernels::all_reduce_scratch(each, size.value, ranks));
    }
    return most;
  }

  NcclContext context() {
    NcclContext context;
    context.communicator = communicator_;
    context.rank = session_.rank();
    context.stream = &stream_;
    return context;
  }

  /// Fills every slot's input with such data as linkgain measures with.
  void fill(char* data) {
    const kernels::Pattern pattern = kernels::make_pattern(
        kernels::ElementType::float32, kernels::ReductionKind::sum, session_.ranks(), kSeed);
    for (std::int64_t slot = 0; slot < slots_; ++slot) {
      gpu::check(kernels::fill_input(data + 2 * slot * pitch_, elements(), 0, pattern,
                                     session_.rank(), stream_.get()));
    }
    stream_.synchronize();
  }

  std::int64_t elements() const {
    return std::max<std::int64_t>(1, size_.value / static_cast<std::int64_t>(sizeof(float)));
  }

  Seconds time(const std::function<void(std::int64_t)>& enqueue) {
    const gpu::GraphExecutable graph = gpu::capture(stream_, [&] {
      for (std::int64_t slot = 0; slot < slots_; ++slot) enqueue(slot);
    });
    sample(graph, 1);
    const double first = sample(graph, 1);
    const int launches =
        std::clamp(static_cast<int>(kSampleTime / (first * static_cast<double>(slots_))), 1, 1000);
    std::vector<double> samples;
    for (int i = 0; i < kSamples; ++i) samples.push_back(sample(graph, launches));
    return Seconds{median(samples)};
  }

  double sample(const gpu::GraphExecutable& graph, int launches) {
    const auto launch = [&](int times) {
      for (int i = 0; i < times; ++i) graph.launch(stream_);
    };
    const Seconds time = timer_.time(
        communicator_, stream_, [&] { launch(1); }, [&] { launch(launches - 1); });
    return session_.max(time.value) / (launches * static_cast<double>(slots_));
  }

  Session& session_;
  ncclComm_t communicator_;
  Bytes size_;
  std::int64_t pitch_;
  std::int64_t slots_;
  std::int64_t scratch_;
  gpu::Stream stream_;
  BatchTimer timer_;
  gpu::DeviceBuffer nccl_data_;  ///< which NCCL does not know of before, as most programs' is
  PeerMemory memory_;
};

struct Options {
  std::vector<Bytes> sizes = parse_sizes("8:1G:x2");
  bool through_host = false;
};

constexpr std::string_view kUsage =
    "usage: mpirun -np N all_reduce_methods [--host] [--sizes SIZES]\n\n"
    "Prints for each size (8:1G:x2) how long an all-reduce of float32 on 2 to 8 GPUs takes by\n"
    "graph with each of linkgain's methods and several numbers of blocks, and with NCCL. The one\n"
    "that linkgain chooses has a star. --host: through host memory, up to 32 MiB; start it with\n"
    "NCCL_P2P_DISABLE=1, so that NCCL goes there too.\n";

/// Larger operations through the host go in pieces of this.
constexpr std::int64_t kHostPiece = std::int64_t{32} << 20;

void print_row(const std::string& name, int blocks, Seconds time, Bytes size, int ranks,
               bool chosen) {
  const Bytes on_bus{2 * (ranks - 1) * size.value / ranks};
  fmt::print("  {:<15} {:>6} {:>10} {:>11}{}\n", name, blocks > 0 ? std::to_string(blocks) : "",
             readable_time(time), readable_bandwidth(gigabytes_per_second(on_bus, time)),
             chosen ? " *" : "");
  std::fflush(stdout);
}

/// Returns half, one and two times as many as linkgain takes, if a device has room for them.
std::vector<int> numbers_of_blocks(AllReduceMethod method, int ranks, int usual,
                                   int multiprocessors) {
  std::vector<int> numbers;
  const int most = method == AllReduceMethod::two_shot || method == AllReduceMethod::ring ||
                           method == AllReduceMethod::sentinel
                       ? 2 * multiprocessors
                       : multiprocessors;
  for (const int number : {usual / 2, usual, 2 * usual}) {
    if (number >= 1 && number <= most &&
        kernels::check_all_reduce(method, kernels::ElementType::float32, ranks, number) ==
            cudaSuccess) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

void measure(Session& session, ncclComm_t communicator, Bytes size, AllReducePath path) {
  const int multiprocessors = gpu::device_info(session.local_rank()).multiprocessors;
  SizeMeasurement measurement(session, communicator, size, path);
  const kernels::AllReduceChoice choice = kernels::choose_all_reduce(
      size.value, kernels::ElementType::float32, session.ranks(), multiprocessors, path);
  const auto print = [&](std::string_view name, int blocks, Seconds time, bool chosen) {
    if (session.is_root()) {
      print_row(std::string(name), blocks, time, size, session.ranks(), chosen);
    }
  };
  if (session.is_root()) fmt::print("{}\n", readable_bytes(size));
  print("NCCL", 0, measurement.time_nccl(), false);
  for (const AllReduceMethod method : methods_for(size, session.ranks(), path)) {
    const int usual =
        kernels::all_reduce_blocks(method, size.value, session.ranks(), multiprocessors, path);
    for (const int blocks : numbers_of_blocks(method, session.ranks(), usual, multiprocessors)) {
      print(kernels::traits_of(method).name, blocks, measurement.time(method, blocks),
            method == choice.method && blocks == choice.blocks);
    }
  }
}

/// Finds the path between the GPUs, through the host if asked for; collective.
AllReducePath path_of(Session& session, const Options& options) {
  if (options.through_host) return AllReducePath::host_memory;
  return peer_path(session, session.share(gpu::device_info(session.local_rank()).pci_bus_id));
}

void run(Session& session, const Options& options) {
  take_gpu(session);
  const Communicator communicator = make_communicator(session);
  const AllReducePath path = path_of(session, options);
  if (session.is_root()) {
    fmt::print("all_reduce float32, {} ranks, {}\n", session.ranks(),
               options.through_host ? "host memory" : "P2P");
  }
  for (const Bytes size : options.sizes) {
    if (options.through_host && size.value > kHostPiece) continue;
    measure(session, communicator.get(), size, path);
  }
}

/// Throws UsageError where the arguments are not understood.
Options parse(std::span<char* const> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--host") {
      options.through_host = true;
    } else if (argument == "--sizes" && i + 1 < arguments.size()) {
      options.sizes = parse_sizes(arguments[++i]);
    } else {
      throw UsageError(std::string(kUsage));
    }
  }
  return options;
}

}  // namespace
}  // namespace linkgain::test

int main(int argc, char** argv) {
  try {
    linkgain::Session session(argc, argv);
    const linkgain::test::Options options = linkgain::test::parse({argv + 1, argv + argc});
    return linkgain::test::run_or_end_all(session, [&] { linkgain::test::run(session, options); });
  } catch (const linkgain::UsageError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
