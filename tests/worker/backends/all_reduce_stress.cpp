// All-reduces by our kernels, drawn at random, every element of every one checked: whether what
// goes over the links arrives in order. Started by mpirun, one process a GPU; not a test that ctest
// runs, as it takes its time. See --help, and scripts/validation/stress-all-reduce.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "all_reduce_bursts.hpp"
#include "kernels/all_reduce/all_reduce.hpp"
#include "kernels/timing/warm_up.hpp"
#include "kernels/verify/verification.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/runtime/session.hpp"
#include "peer/memory.hpp"
#include "peer/peer_calls.hpp"

namespace linkgain::test {
namespace {

constexpr int kWrongData = 4;
constexpr int kHung = 6;
constexpr std::int64_t kMostOperations = 16;  ///< of a burst
constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
/// Huge bursts have numbers from here on.
constexpr std::uint64_t kFirstHuge = std::uint64_t{1} << 40;

struct Options {
  std::int64_t operations = 1'000'000;
  std::int64_t huge_operations = 50;
  std::uint64_t seed = 0;
  std::uint64_t first_burst = 0;
  double seconds = 0.0;
  double timeout = 60.0;
  bool one_device = false;
  bool through_host = false;
};

std::string_view type_name(kernels::ElementType type) {
  if (type == kernels::ElementType::float32) return "float32";
  return type == kernels::ElementType::float16 ? "float16" : "bfloat16";
}

/// Ends the job with a word why.
[[noreturn]] void give_up(Session& session, int exit_code, const std::string& text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
  session.abort(exit_code);
}

class Stress {
 public:
  Stress(Session& session, const Options& options)
      : session_(session), options_(options), start_(std::chrono::steady_clock::now()) {
    survey();
    introduce();
  }

  /// Runs all bursts that the options allow and prints the counts; collective.
  void run() {
    if (options_.first_burst < kFirstHuge) run_usual();
    if (!options_.through_host && !out_of_time_) run_huge();
    if (!session_.is_root()) return;
    for (const kernels::AllReduceTraits& each : kernels::kAllReduceMethods) {
      fmt::print("{:<16} {:>9} operations\n", each.name, count_of(each.method));
    }
    fmt::print("none of {} operations was wrong, {:.1f} s{}\n", done_, elapsed(), place_note());
  }

 private:
  /// Agrees on what must be the same on all ranks; collective.
  void survey() {
    const int device = options_.one_device ? 0 : session_.local_rank();
    std::string reason;
    const int count = gpu::device_count(&reason);
    std::optional<std::string> problem;
    if (!session_.on_one_host()) problem = "the ranks are on several hosts";
    if (device >= count) {
      problem =
          fmt::format("rank {} has no GPU: {} are there{} (--one-device puts all on the first)",
                      session_.rank(), count, reason.empty() ? "" : ", " + reason);
    }
    if (const auto first = session_.first_text(problem)) throw MachineError(*first);
    gpu::check(cudaSetDevice(device));
    info_ = gpu::device_info(device);
    gpus_ = session_.share(info_.pci_bus_id);
    multiprocessors_ = static_cast<int>(-session_.max(-info_.multiprocessors));
    path_ =
        options_.through_host ? kernels::AllReducePath::host_memory : peer_path(session_, gpus_);
    std::size_t free = 0;
    std::size_t total = 0;
    gpu::check(cudaMemGetInfo(&free, &total));
    constexpr double kUsed = 0.85;
    const int sharing = options_.one_device ? session_.ranks() : 1;
    available_ =
        static_cast<std::int64_t>(-session_.max(-kUsed * static_cast<double>(free) / sharing));
    stream_.emplace();
    noise_.emplace();
    results_.emplace(Bytes{kMostOperations * static_cast<std::int64_t>(sizeof(Result))});
    found_.emplace(results_->size());
    guards_.emplace(Bytes{kMostOperations * kGuardBytes});
  }

  void introduce() const {
    if (!session_.is_root()) return;
    fmt::print("all_reduce_stress: {} ranks, {}, {}\n", session_.ranks(), info_.name,
               options_.through_host ? "through host memory" : "CUDA IPC");
    fmt::print("GPUs: {}{}\n", fmt::join(gpus_, " "), place_note());
    fmt::print("mutant: {}\nreplay: --seed {} --first-burst {}\n", kernels::all_reduce_mutant(),
               options_.seed, options_.first_burst);
    std::fflush(stdout);
  }

  std::string place_note() const {
    return options_.one_device
               ? " (ALL RANKS ON ONE DEVICE: NOT ACROSS DEVICES, no link was tested)"
               : "";
  }

  Limits limits(std::int64_t data, std::int64_t scratch) const {
    Limits limits;
    limits.data_bytes = data;
    limits.scratch_bytes = scratch;
    limits.path = path_;
    limits.scratch_of = [ranks = session_.ranks()](kernels::AllReduceMethod method,
                                                   std::int64_t bytes) {
      return kernels::all_reduce_scratch(method, bytes, ranks);
    };
    return limits;
  }

  PeerMemory make_memory(const Limits& limits) {
    NcclContext context;
    context.rank = session_.rank();
    context.stream = &*stream_;
    const PeerTransport transport{options_.through_host, "CUDA IPC is to be tested"};
    PeerMemory memory(session_, context, Bytes{limits.data_bytes}, Bytes{limits.scratch_bytes},
                      transport);
    memory.join();
    session_.barrier();
    return memory;
  }

  void run_usual() {
    constexpr std::int64_t kHostScratch = std::int64_t{64} << 20;  // of /dev/shm
    const std::int64_t scratch = std::min(9 * kGibibyte / 4, available_ * 2 / 3);
    const Limits usual =
        limits(std::min(kGibibyte, available_ / 3), options_.through_host ? kHostScratch : scratch);
    const PeerMemory memory = make_memory(usual);
    run_bursts(usual, memory, options_.first_burst, options_.operations);
    session_.barrier();  // nobody frees what another one still works with
  }

  /// Tries sizes up to 9 GiB, or as large as memory allows.
  void run_huge() {
    if (options_.huge_operations == 0) return;
    Limits huge = limits(0, 0);
    huge.smallest_bytes = std::int64_t{256} << 20;
    const auto needs = [&](std::int64_t bytes) {
      // What two_shot needs: in, out and two sets of shares.
      return 2 * bytes + kernels::all_reduce_scratch(kernels::AllReduceMethod::two_shot, bytes,
                                                     session_.ranks());
    };
    huge.largest_bytes = 9 * kGibibyte;
    while (needs(huge.largest_bytes) > available_) huge.largest_bytes -= kGibibyte / 4;
    if (huge.largest_bytes <= huge.smallest_bytes) return;
    huge.usual_bytes = huge.largest_bytes;
    huge.data_bytes = 2 * huge.largest_bytes + (1 << 20);
    huge.scratch_bytes =
        std::min(available_ - huge.data_bytes,
                 kernels::all_reduce_scratch(kernels::AllReduceMethod::ll, huge.largest_bytes,
                                             session_.ranks()));
    if (session_.is_root()) {
      fmt::print("operations to {}\n", readable_bytes({huge.largest_bytes}));
      std::fflush(stdout);
    }
    const PeerMemory memory = make_memory(huge);
    run_bursts(huge, memory, std::max(kFirstHuge, options_.first_burst), options_.huge_operations);
    session_.barrier();
  }

  void run_bursts(const Limits& limits, const PeerMemory& memory, std::uint64_t first,
                  std::int64_t operations) {
    std::int64_t left = operations;
    for (std::uint64_t number = first; left > 0 && !out_of_time_; ++number) {
      const Burst burst = draw_burst(options_.seed, number, limits, left);
      if (burst.elements.empty()) throw MachineError("there is too little memory");
      run_burst(burst, limits, memory);
      const auto count = static_cast<std::int64_t>(burst.elements.size());
      left -= count;
      done_ += count;
      counts_[static_cast<std::size_t>(burst.method)] += count;
      // Also what keeps a rank from the next burst's scratch until all are done with this one's.
      const double slowest = session_.max(elapsed());
      out_of_time_ = options_.seconds > 0.0 && slowest > options_.seconds;
      report_progress(number);
    }
  }

  void report_progress(std::uint64_t number) {
    constexpr double kBetween = 10.0;
    if (!session_.is_root() || elapsed() < next_report_) return;
    fmt::print("{:>9} operations, burst {}, {:.0f} s\n", done_, number, elapsed());
    std::fflush(stdout);
    next_report_ = elapsed() + kBetween;
  }

  void run_burst(const Burst& burst, const Limits& limits, const PeerMemory& memory) {
    Random random(options_.seed ^ 0x5851f42d4c957f2dU,
                  burst.number * kernels::kMostRanks + static_cast<unsigned>(session_.rank()));
    void* scratch = memory.regions().scratch[session_.rank()];
    const std::int64_t used =
        kernels::all_reduce_scratch(burst.method, burst.most_bytes(), session_.ranks());
    gpu::check(kernels::reset_all_reduce_scratch(burst.method, scratch, used, stream_->get()));
    gpu::check(kernels::set_all_reduce_counters(scratch, {burst.operations, burst.signals},
                                                stream_->get()));
    wait_for_stream(burst);
    session_.barrier();
    const Slots slots(burst);
    const auto count = static_cast<std::int64_t>(burst.elements.size());
    const std::int64_t at_once = std::min(count, limits.data_bytes / slots.pitch);
    for (std::int64_t first = 0; first < count; first += at_once) {
      run_group(burst, memory, first, std::min(first + at_once, count), random);
    }
    wait_for_stream(burst);
    for (std::int64_t i = 0; i < count; ++i) expect_right(burst, i);
  }

  /// Runs each operation on a slot of its own, with nothing of the host's between them.
  void run_group(const Burst& burst, const PeerMemory& memory, std::int64_t first, std::int64_t end,
                 Random& random) {
    const Slots slots(burst);
    auto* const data = static_cast<char*>(memory.data());
    gpu::enqueue_fill(data, kernels::kPoisonByte, Bytes{(end - first) * slots.pitch}, *stream_);
    for (std::int64_t i = first; i < end; ++i) {
      gpu::check(kernels::fill_input(data + (i - first) * slots.pitch, elements_of(burst, i), 0,
                                     pattern_of(burst, i), session_.rank(), stream_->get()));
    }
    delay_blocks(random);
    const int blocks = blocks_of(burst);
    const auto enqueue = [&] {
      for (std::int64_t i = first; i < end; ++i) {
        delay_rank(random);
        const std::int64_t begin = (i - first) * slots.pitch;
        gpu::check(kernels::all_reduce(
            burst.method, memory.regions(), {begin, begin + slots.output}, burst.type,
            elements_of(burst, i), burst.most_elements, blocks, stream_->get()));
      }
    };
    if (burst.graph) {
      const gpu::GraphExecutable graph = gpu::capture(*stream_, enqueue);
      graph.launch(*stream_);
      wait_for_stream(burst);
    } else {
      enqueue();
    }
    check_group(burst, data, first, end);
  }

  /// Fills and checks cost the device little beside what operations wait for each other.
  void check_group(const Burst& burst, const char* data, std::int64_t first, std::int64_t end) {
    const Slots slots(burst);
    auto* const results = static_cast<Result*>(results_->data());
    for (std::int64_t i = first; i < end; ++i) {
      const char* output = data + (i - first) * slots.pitch + slots.output;
      gpu::check(kernels::clear_result(results + i, stream_->get()));
      gpu::check(kernels::check_reduction(output, elements_of(burst, i), 0, pattern_of(burst, i),
                                          results + i, stream_->get()));
      gpu::enqueue_copy(static_cast<char*>(guards_->data()) + i * kGuardBytes,
                        output + slots.padded, Bytes{kGuardBytes}, *stream_);
    }
    gpu::enqueue_copy(static_cast<Result*>(found_->data()) + first, results + first,
                      Bytes{(end - first) * static_cast<std::int64_t>(sizeof(Result))}, *stream_);
  }

  void delay_rank(Random& random) {
    const double microseconds = draw_delay_microseconds(random);
    if (microseconds == 0.0) return;
    gpu::check(kernels::warm_up(stream_->get(), microseconds, 1));
  }

  /// Lets other kernels occupy multiprocessors for a while, so that some blocks of an operation
  /// start later than others.
  void delay_blocks(Random& random) {
    constexpr std::int64_t kBlocks = 8;  // fill a multiprocessor
    if (random.one_in(2)) return;
    for (std::int64_t left = 1 + random.below(3); left > 0; --left) {
      const auto blocks = static_cast<int>(1 + random.below(kBlocks * multiprocessors_ / 2));
      gpu::check(kernels::warm_up(noise_->get(), 200.0 * random.share(), blocks));
    }
  }

  int blocks_of(const Burst& burst) const {
    const int usual = kernels::all_reduce_blocks(burst.method, burst.most_bytes(), session_.ranks(),
                                                 multiprocessors_, path_);
    int blocks = std::max(1, static_cast<int>(usual * burst.blocks));
    while (blocks > 1 && kernels::check_all_reduce(burst.method, burst.type, session_.ranks(),
                                                   blocks) != cudaSuccess) {
      blocks /= 2;
    }
    return blocks;
  }

  static std::int64_t elements_of(const Burst& burst, std::int64_t operation) {
    return burst.elements[static_cast<std::size_t>(operation)];
  }

  kernels::Pattern pattern_of(const Burst& burst, std::int64_t operation) const {
    return kernels::make_pattern(burst.type, kernels::ReductionKind::sum, session_.ranks(),
                                 burst.seed + static_cast<std::uint32_t>(operation));
  }

  /// Ends the job where the device does not come to an end.
  void wait_for_stream(const Burst& burst) {
    const double begin = elapsed();
    while (!stream_->done()) {
      if (elapsed() - begin > options_.timeout) {
        give_up(session_, kHung,
                fmt::format("HUNG after {:.1f} s, {}", elapsed(), describe(burst, 0)));
      }
    }
  }

  void expect_right(const Burst& burst, std::int64_t operation) {
    const Result& result = static_cast<const Result*>(found_->data())[operation];
    if (result.wrong > 0) {
      give_up(session_, kWrongData,
              fmt::format("WRONG after {:.1f} s, {}: {} elements, first {}: {} instead of {}",
                          elapsed(), describe(burst, operation), result.wrong,
                          result.first_wrong_index, result.first_got, result.first_expected));
    }
    const auto* guard =
        static_cast<const unsigned char*>(guards_->data()) + operation * kGuardBytes;
    if (std::any_of(guard, guard + kGuardBytes,
                    [](unsigned char byte) { return byte != kernels::kPoisonByte; })) {
      give_up(session_, kWrongData,
              fmt::format("WRONG after {:.1f} s, {}: written beyond the output's end", elapsed(),
                          describe(burst, operation)));
    }
  }

  std::string describe(const Burst& burst, std::int64_t operation) const {
    return fmt::format(
        "rank {}, operation {} of {} in burst {} ({} before): {} {} elements of {} {}, {}, {}, {} "
        "blocks, counters from {} and {}; replay: --seed {} --first-burst {}{}",
        session_.rank(), operation + 1, burst.elements.size(), burst.number, done_,
        kernels::traits_of(burst.method).name, elements_of(burst, operation), burst.most_elements,
        type_name(burst.type), burst.in_place ? "in place" : "out of place",
        burst.graph ? "graph" : "stream", blocks_of(burst), burst.operations, burst.signals,
        options_.seed, burst.number, place_note());
  }

  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  std::int64_t count_of(kernels::AllReduceMethod method) const {
    return counts_[static_cast<std::size_t>(method)];
  }

  using Result = kernels::CheckResult;

  Session& session_;
  Options options_;
  std::chrono::steady_clock::time_point start_;
  GpuInfo info_;
  std::vector<std::string> gpus_;
  int multiprocessors_ = 0;
  kernels::AllReducePath path_ = kernels::AllReducePath::p2p;
  std::int64_t available_ = 0;
  std::optional<gpu::Stream> stream_;
  std::optional<gpu::Stream> noise_;
  std::optional<gpu::DeviceBuffer> results_;
  std::optional<gpu::PinnedBuffer> found_;
  std::optional<gpu::PinnedBuffer> guards_;
  std::array<std::int64_t, std::size(kernels::kAllReduceMethods)> counts_{};
  std::int64_t done_ = 0;
  bool out_of_time_ = false;
  double next_report_ = 10.0;
};

/// Takes rank 0's seed, drawn if none was given.
void agree_on_seed(Session& session, Options& options) {
  if (options.seed == 0) options.seed = std::random_device{}();
  session.broadcast(&options.seed, sizeof options.seed);
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("--operations", options.operations, "of up to 256 MiB")->capture_default_str();
  app.add_option("--huge", options.huge_operations, "operations of 256 MiB to 9 GiB, after these")
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "end after this time (default: no limit)");
  app.add_option("--seed", options.seed, "of the sequence (default: another each time)");
  app.add_option("--first-burst", options.first_burst, "where the sequence begins")
      ->capture_default_str();
  app.add_option("--timeout", options.timeout, "seconds after which a burst hangs")
      ->capture_default_str();
  app.add_flag("--one-device", options.one_device,
               "all ranks on the first GPU, taking turns: not across devices");
  app.add_flag("--host", options.through_host, "scratch in host memory, as where there is no P2P");
}

int run_program(int argc, char** argv) {
  CLI::App app{
      "Random all-reduces by linkgain's kernels, every element checked.\n"
      "mpirun -np 2 all_reduce_stress\n"
      "Exit status: 0 nothing was wrong, 2 usage, 3 this machine cannot, 4 wrong data, 6 hung."};
  Options options;
  add_options(app, options);
  Session session(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = session.is_root() ? app.exit(error) : error.get_exit_code();
    return status == 0 ? 0 : 2;
  }
  agree_on_seed(session, options);
  try {
    Stress(session, options).run();
    return 0;
  } catch (const MachineError& error) {
    give_up(session, 3, fmt::format("rank {}: {}", session.rank(), error.what()));
  } catch (const std::exception& error) {
    give_up(session, 1, fmt::format("rank {}: {}", session.rank(), error.what()));
  }
}

}  // namespace
}  // namespace linkgain::test

int main(int argc, char** argv) {
  // A kernel's first launch may wait for the device, which may wait for another rank.
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  try {
    return linkgain::test::run_program(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
