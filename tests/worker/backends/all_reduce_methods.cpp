// Times the methods of our all-reduce, size by size, beside NCCL's: what the crossover
// points of kernels/all_reduce/select.cu are read from. Not a test, as what it prints depends on
// the GPUs. Started by mpirun. See usage().
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "all_reduce_timing.hpp"
#include "kernels/all_reduce/all_reduce.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/selection.hpp"
#include "linkgain/cases/sizes.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/runtime/session.hpp"
#include "nccl/api.hpp"
#include "peer/peer_calls.hpp"
#include "support/gpu_rank_program.hpp"

namespace linkgain::test {
namespace {

using kernels::AllReduceMethod;
using kernels::AllReducePath;

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

/// Half, one and two times as many as linkgain takes, of what a device has room for.
std::vector<int> numbers_of_blocks(AllReduceMethod method, int ranks, int usual,
                                   int multiprocessors) {
  std::vector<int> numbers;
  const int most = method == AllReduceMethod::two_shot || method == AllReduceMethod::ring
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

/// Collective.
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
