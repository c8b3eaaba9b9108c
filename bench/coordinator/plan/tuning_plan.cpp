#include "tuning_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/hardware/nccl_environment.hpp"

namespace linkgain {
namespace {

/// Operations that a setting matters to.
enum class Concerns { collectives, sums, messages };

struct Candidate {
  const char* name;
  Concerns concerns;
  Environment environment;
};

/// Lists values beside NCCL's defaults (2.28: graph/tuning.cc, init.cc, enqueue.cc). Trees are
/// known to all_reduce alone; chunks, channels and the threshold of messages to send and receive
/// alone.
const std::vector<Candidate>& all_candidates() {
  using enum Concerns;
  static const std::vector<Candidate> kAll{
      {"ll", collectives, {{"NCCL_PROTO", "LL"}}},
      {"ll128", collectives, {{"NCCL_PROTO", "LL128"}}},
      {"simple", collectives, {{"NCCL_PROTO", "Simple"}}},
      {"ring", collectives, {{"NCCL_ALGO", "Ring"}}},
      {"tree", sums, {{"NCCL_ALGO", "Tree"}}},
      {"max-ctas-8", collectives, {{"NCCL_MAX_CTAS", "8"}}},
      {"max-ctas-16", collectives, {{"NCCL_MAX_CTAS", "16"}}},
      {"min-ctas-32", collectives, {{"NCCL_MIN_CTAS", "32"}}},
      {"ll128-ctas-32", collectives, {{"NCCL_PROTO", "LL128"}, {"NCCL_MIN_CTAS", "32"}}},
      {"buffers-8M", collectives, {{"NCCL_BUFFSIZE", "8388608"}}},
      {"thresholds", collectives, {{"NCCL_THREAD_THRESHOLDS", "4 4 32 8 4 32"}}},
      {"nvl-chunks-128K", messages, {{"NCCL_P2P_NVL_CHUNKSIZE", "131072"}}},
      {"nvl-chunks-2M", messages, {{"NCCL_P2P_NVL_CHUNKSIZE", "2097152"}}},
      {"net-chunks-512K", messages, {{"NCCL_P2P_NET_CHUNKSIZE", "524288"}}},
      {"channels-32", messages, {{"NCCL_MIN_P2P_NCHANNELS", "32"}}},
      {"ll-to-64K", messages, {{"NCCL_P2P_LL_THRESHOLD", "65536"}}},
  };
  return kAll;
}

bool is_of(OperationKind operation, Concerns concerns) {
  static constexpr std::array kCollectives{OperationKind::all_reduce, OperationKind::all_gather,
                                           OperationKind::reduce_scatter, OperationKind::broadcast,
                                           OperationKind::reduce};
  const bool is_collective = std::ranges::count(kCollectives, operation) > 0;
  switch (concerns) {
    case Concerns::collectives:
      return is_collective;
    case Concerns::sums:
      return operation == OperationKind::all_reduce;
    case Concerns::messages:
      return calls_library(operation) && !is_collective;
  }
  return false;
}

/// Names the caller's variables of NCCL's that change how fast it is.
std::vector<std::string> set_by_caller(const Environment& caller) {
  std::vector<std::string> names;
  for (const auto& [name, value] : caller) {
    const EnvironmentVariable* const known = known_variable(name);
    if (known != nullptr && name.starts_with("NCCL_") && known->affects == Affects::resources &&
        !is_harmless(*known, value)) {
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace

std::vector<Variant> tuning_variants(const std::vector<OperationKind>& operations,
                                     const Environment& caller) {
  std::vector<Variant> variants{{"default", {}}};
  const std::vector<std::string> set = set_by_caller(caller);
  if (!set.empty()) variants.push_back({.name = "unset", .environment = {}, .unset = set});
  const std::size_t without_candidates = variants.size();
  for (const Candidate& each : all_candidates()) {
    const auto concerned = [&](OperationKind kind) { return is_of(kind, each.concerns); };
    if (!std::ranges::all_of(operations, concerned)) continue;
    variants.push_back({each.name, each.environment});
  }
  if (variants.size() == without_candidates) {
    throw UsageError("--tune knows no setting that matters to all operations of --only",
                     "tune collectives (all_reduce, all_gather, reduce_scatter, broadcast, reduce) "
                     "in one run and messages (send_recv, alltoall and the like) in another");
  }
  return variants;
}

std::vector<Selection> tuning_selections(const std::vector<OperationKind>& operations,
                                         BackendKind backend) {
  const bool has_graphs = supports(backend, LaunchMode::graph);
  Selection selection;
  selection.operations = operations;
  selection.sizes = parse_sizes(backend == BackendKind::nccl ? "64K:256M:x2" : "64K:4M:x4");
  selection.launches = {has_graphs ? LaunchChoice::graph : LaunchChoice::stream};
  return {selection};
}

}  // namespace linkgain
