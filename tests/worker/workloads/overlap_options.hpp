#pragma once

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "support/training_precisions.hpp"

namespace linkgain::test {

struct OverlapOptions {
  std::vector<kernels::TrainingPrecision> precisions{std::begin(kPrecisions),
                                                     std::end(kPrecisions)};
  int steps = 100;
  bool has_usual_priority = false;
  std::string csv;

  /// Blocks of each arm that make the steps.
  int turns(int steps_per_block) const { return (steps + steps_per_block - 1) / steps_per_block; }
};

inline std::string overlap_usage() {
  return "usage: mpirun -np N [-x NCCL_VARIABLE=VALUE] training_overlap [--steps N]\n"
         "         [--precision fp32|tf32|bf16] [--strategy ddp] [--priority usual|highest]\n"
         "         [--csv FILE]\n\n"
         "Trains GPT-2 124M on 2 or more GPUs, 4 x 1024 tokens each, and prints how far exposed\n"
         "communication is from what the bucket model gives, and where that comes from. N (100)\n"
         "steps are timed in blocks of 10, one after the other with and without communication. "
         "The\n"
         "model speaks of ddp, so no other strategy is taken.\n\n"
         "What PyTorch's users could change it with: --priority of the stream of communication "
         "(the\n"
         "highest by default; PyTorch's own is usual), and in the environment\n"
         "  NCCL_MAX_CTAS=N           multiprocessors that NCCL takes, at most (as "
         "config.maxCTAs)\n"
         "  NCCL_CGA_CLUSTER_SIZE=N   how many of them must be free at once, 0 to 8 (4 from "
         "sm_90)\n"
         "  NCCL_NTHREADS=N, NCCL_PROTO=LL128, NCCL_BUFFSIZE=N, CUDA_DEVICE_MAX_CONNECTIONS=N\n";
}

/// Absent where the arguments are not understood.
inline std::optional<OverlapOptions> parse_overlap_options(
    const std::vector<std::string>& arguments) {
  OverlapOptions options;
  if (arguments.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& name = arguments[i];
    const std::string& value = arguments[i + 1];
    if (name == "--precision") {
      std::erase_if(options.precisions, [&](const auto each) { return text_of(each) != value; });
    } else if (name == "--steps") {
      const char* end = value.data() + value.size();
      const auto [stop, error] = std::from_chars(value.data(), end, options.steps);
      if (stop != end || error != std::errc()) return std::nullopt;
    } else if (name == "--csv") {
      options.csv = value;
    } else if (name == "--priority" && (value == "usual" || value == "highest")) {
      options.has_usual_priority = value == "usual";
    } else if (name != "--strategy" || value != "ddp") {
      return std::nullopt;
    }
  }
  if (options.steps < 1 || options.precisions.empty()) return std::nullopt;
  return options;
}

}  // namespace linkgain::test
