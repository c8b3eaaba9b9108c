// Times the ways in which our all-reduce can go, size by size, beside NCCL's: what the crossover
// points of kernels/all_reduce_choice.cu are read from. Not a test, as what it prints depends on
// the GPUs. Started by mpirun. See usage().
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

#include "kernels/all_reduce.hpp"
#include "linkgain/core/errors.hpp"
#include "linkgain/core/statistics.hpp"
#include "linkgain/core/sweep.hpp"
#include "linkgain/core/units.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/event.hpp"
#include "linkgain/gpu/graph.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/runtime/session.hpp"
#include "nccl_api.hpp"
#include "nccl_communicator.hpp"
#include "nccl_device_api.hpp"
#include "peer_memory.hpp"
#include "support/gpu_rank_program.hpp"

namespace linkgain {
namespace {

using kernels::AllReduceMethod;

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
constexpr std::int64_t kMebibyte = 1 << 20;

struct NamedMethod {
  AllReduceMethod method;
  std::string_view name;
  std::int64_t most_sent;  ///< bytes of a rank above which it is far from the fastest
};

constexpr std::int64_t kNoEnd = std::int64_t{1} << 50;
constexpr NamedMethod kByPeers[] = {{AllReduceMethod::low_latency, "low_latency", 2 * kMebibyte},
                                    {AllReduceMethod::low_latency_wide, "wide", 8 * kMebibyte},
                                    {AllReduceMethod::one_shot, "one_shot", 16 * kMebibyte},
                                    {AllReduceMethod::two_shot, "two_shot", kNoEnd},
                                    {AllReduceMethod::ring, "ring", kNoEnd}};
constexpr NamedMethod kThroughHost[] = {
    {AllReduceMethod::low_latency, "low_latency", 2 * kMebibyte},
    {AllReduceMethod::one_shot, "one_shot", 16 * kMebibyte},
    {AllReduceMethod::relayed_two_shot, "relayed", kNoEnd}};

/// Those that are near the fastest.
std::vector<NamedMethod> methods_for(Bytes size, int ranks, bool through_host) {
  const auto all = through_host ? std::span<const NamedMethod>(kThroughHost)
                                : std::span<const NamedMethod>(kByPeers);
  std::vector<NamedMethod> methods(all.begin(), all.end());
  std::erase_if(methods, [&](const NamedMethod& each) {
    const bool is_wide = each.method == AllReduceMethod::low_latency_wide;
    return size.value * (ranks - 1) > each.most_sent ||
           (is_wide && !kernels::has_low_latency_wide());
  });
  return methods;
}

/// One size on this rank; all ranks call the same. Operations of a graph take buffers in turn, so
/// that they find their data cold.
class SizeMeasurement {
 public:
  SizeMeasurement(Session& session, ncclComm_t communicator, Bytes size, bool through_host)
      : session_(session),
        communicator_(communicator),
        size_(size),
        pitch_(round_up(size.value, kPitch)),
        slots_(std::clamp<std::int64_t>(kColdBytes / (2 * pitch_), 1, kMostSlots)),
        scratch_(scratch_for(size, session.ranks(), through_host)),
        nccl_data_(Bytes{2 * pitch_ * slots_}),
        memory_(session, context(), Bytes{2 * pitch_ * slots_}, Bytes{scratch_},
                through_host ? PeerRoad{true, {}} : PeerRoad{false, device_api_problem()}) {
    memory_.join();
    for (void* const data : {memory_.data(), nccl_data_.data()}) {
      gpu::check(cudaMemset(data, 0, static_cast<std::size_t>(2 * pitch_ * slots_)));
    }
  }

  /// Of one operation, of the slowest rank; the median of kSamples.
  Seconds time(AllReduceMethod method, int blocks) {
    gpu::check(cudaMemset(memory_.regions().scratch[session_.rank()], 0,
                          static_cast<std::size_t>(scratch_)));
    gpu::check(cudaDeviceSynchronize());
    session_.barrier();
    return time([&](std::int64_t slot) {
      const kernels::AllReduceOffsets where{2 * slot * pitch_, (2 * slot + 1) * pitch_};
      gpu::check(kernels::all_reduce(method, memory_.regions(), where,
                                     kernels::ElementType::float32, elements(), elements(), blocks,
                                     stream_.get()));
    });
  }

  Seconds time_nccl() {
    return time([&](std::int64_t slot) {
      auto* const input = static_cast<char*>(nccl_data_.data()) + 2 * slot * pitch_;
      check(ncclAllReduce(input, input + pitch_, static_cast<std::size_t>(elements()), ncclFloat,
                          ncclSum, communicator_, stream_.get()));
    });
  }

 private:
  static constexpr std::int64_t kPitch = 128;
  static constexpr std::int64_t kColdBytes = std::int64_t{256} << 20;
  static constexpr std::int64_t kMostSlots = 64;
  static constexpr int kSamples = 7;
  static constexpr double kSampleTime = 5e-3;

  static std::int64_t scratch_for(Bytes size, int ranks, bool through_host) {
    std::int64_t most = 0;
    for (const NamedMethod& each : methods_for(size, ranks, through_host)) {
      most = std::max(most, kernels::all_reduce_scratch(each.method, size.value, ranks));
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

  /// A small all-reduce lines the ranks up first.
  double sample(const gpu::GraphExecutable& graph, int launches) {
    auto* const line_up = static_cast<float*>(line_up_.data());
    check(ncclAllReduce(line_up, line_up, 1, ncclFloat, ncclSum, communicator_, stream_.get()));
    start_.record(stream_);
    for (int i = 0; i < launches; ++i) graph.launch(stream_);
    stop_.record(stream_);
    stream_.synchronize();
    return session_.max(gpu::elapsed(start_, stop_).value) /
           (launches * static_cast<double>(slots_));
  }

  Session& session_;
  ncclComm_t communicator_;
  Bytes size_;
  std::int64_t pitch_;
  std::int64_t slots_;
  std::int64_t scratch_;
  gpu::Stream stream_;
  gpu::Event start_;
  gpu::Event stop_;
  gpu::DeviceBuffer line_up_{Bytes{sizeof(float)}};
  gpu::DeviceBuffer nccl_data_;  ///< which NCCL does not know of before, as most programs' is
  PeerMemory memory_;
};

void print_row(const std::string& name, int blocks, Seconds time, Bytes size, int ranks,
               bool chosen) {
  const Bytes on_bus{2 * (ranks - 1) * size.value / ranks};
  fmt::print("  {:<12} {:>6} {:>10} {:>11}{}\n", name, blocks > 0 ? std::to_string(blocks) : "",
             readable_time(time), readable_bandwidth(gigabytes_per_second(on_bus, time)),
             chosen ? " *" : "");
  std::fflush(stdout);
}

/// Half, one and two times as many as linkgain takes, of what a device has room for.
std::vector<int> numbers_of_blocks(AllReduceMethod method, int usual, int multiprocessors) {
  std::vector<int> numbers;
  const int most = method == AllReduceMethod::two_shot || method == AllReduceMethod::ring
                       ? 2 * multiprocessors
                       : multiprocessors;
  for (const int number : {usual / 2, usual, 2 * usual}) {
    if (number >= 1 && number <= most) numbers.push_back(number);
  }
  return numbers;
}

void measure(Session& session, ncclComm_t communicator, Bytes size, bool through_host) {
  const int multiprocessors = gpu::device_info(session.local_rank()).multiprocessors;
  SizeMeasurement measurement(session, communicator, size, through_host);
  const auto road =
      through_host ? kernels::AllReduceRoad::host_memory : kernels::AllReduceRoad::atomic_peers;
  const kernels::AllReduceChoice choice = kernels::choose_all_reduce(
      size.value, kernels::ElementType::float32, session.ranks(), multiprocessors, road);
  const auto print = [&](std::string_view name, int blocks, Seconds time, bool chosen) {
    if (session.is_root()) {
      print_row(std::string(name), blocks, time, size, session.ranks(), chosen);
    }
  };
  if (session.is_root()) fmt::print("{}\n", readable_bytes(size));
  print("NCCL", 0, measurement.time_nccl(), false);
  for (const auto& [method, name, most_sent] : methods_for(size, session.ranks(), through_host)) {
    const int usual =
        kernels::all_reduce_blocks(method, size.value, session.ranks(), multiprocessors, road);
    for (const int blocks : numbers_of_blocks(method, usual, multiprocessors)) {
      print(name, blocks, measurement.time(method, blocks),
            method == choice.method && blocks == choice.blocks);
    }
  }
}

void run(Session& session, const Options& options) {
  testing::take_gpu(session);
  const Communicator communicator = make_communicator(session);
  if (session.is_root()) {
    fmt::print("all_reduce float32, {} ranks, {}\n", session.ranks(),
               options.through_host ? "host memory" : "P2P");
  }
  for (const Bytes size : options.sizes) {
    if (options.through_host && size.value > kHostPiece) continue;
    measure(session, communicator.get(), size, options.through_host);
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
}  // namespace linkgain

int main(int argc, char** argv) {
  try {
    linkgain::Session session(argc, argv);
    const linkgain::Options options = linkgain::parse({argv + 1, argv + argc});
    return linkgain::testing::run_or_end_all(session, [&] { linkgain::run(session, options); });
  } catch (const linkgain::UsageError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
