#include "linkgain/cases/case.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "linkgain/base/enum_names.hpp"
#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

constexpr int kFewestRanks = 2;
constexpr std::array kLaunchModes{LaunchMode::stream, LaunchMode::graph};

/// The multiple of `granule` next to a size above zero.
Bytes nearest_multiple(Bytes size, std::int64_t granule) {
  const std::int64_t rest = size.value % granule;
  const std::int64_t below = size.value - rest;
  if (below == 0) return Bytes{granule};
  const bool fits = below <= std::numeric_limits<std::int64_t>::max() - granule;
  return Bytes{fits && rest > granule / 2 ? below + granule : below};
}

/// A training has its own parameters and none of the others'.
void validate_training(const Case& c) {
  if (!c.training) {
    throw UsageError("gpt2_step needs precision and model: gpt2_step/fp32/gpt2/np2");
  }
  validate(*c.training);
  Case plain;
  plain.operation = c.operation;
  plain.ranks = c.ranks;
  plain.training = c.training;
  plain.size = gradient_bytes(*c.training);
  if (c != plain) {
    throw UsageError("gpt2_step has no type, launch mode, buffers, root, pair or place of its own");
  }
}

void validate_size(const Case& c) {
  const std::int64_t element = size_of(c.type);
  if (c.size.value <= 0) {
    throw UsageError(fmt::format("size {}: at least one element of {} bytes is needed",
                                 exact_bytes(c.size), element));
  }
  const std::int64_t granule = size_granule(c);
  if (c.size.value % granule == 0) return;
  std::string of(has_type(c.operation) ? name_of(c.type) : name_of(c.operation));
  if (is_split_over_ranks(c.operation)) {
    of = fmt::format("one {} for each of {}'s {} ranks", name_of(c.type), name_of(c.operation),
                     c.ranks);
  }
  throw UsageError(fmt::format("size {}: no multiple of the {} bytes of {}, the nearest is {}",
                               exact_bytes(c.size), granule, of,
                               exact_bytes(nearest_multiple(c.size, granule))));
}

void validate_pair(const Pair& pair, int ranks) {
  const auto outside = [ranks](int rank) { return rank < 0 || rank >= ranks; };
  if (outside(pair.from) || outside(pair.to)) {
    throw UsageError(fmt::format("pair={}-{}: the ranks of np{} are 0 to {}", pair.from, pair.to,
                                 ranks, ranks - 1));
  }
  if (pair.from == pair.to) {
    throw UsageError(fmt::format("pair={}-{}: the two ranks must differ", pair.from, pair.to));
  }
}

/// In place and reduction, which not every operation has, and the kernels that there are.
void validate_form(const Case& c) {
  if (c.in_place && !has_in_place_form(c.operation)) {
    throw UsageError(fmt::format("field 'inplace': {} cannot work in place", name_of(c.operation)));
  }
  if (!has_reduction(c.operation) && c.reduction != Reduction::sum) {
    throw UsageError(fmt::format("reduction '{}': {} has no reduction, leave it out",
                                 name_of(c.reduction), name_of(c.operation)));
  }
  if (c.kernel && !has_kernel(c)) {
    throw UsageError(
        "field 'kernel': our own kernels are for copies, and for all_reduce, the sum of float32, "
        "float16 or bfloat16 in plain buffers over at most 8 ranks");
  }
}

/// What only calls of a library have.
void validate_memory_work(const Case& c) {
  if (!works_on_memory(c.operation)) return;
  const auto refuse = [&](std::string_view field, std::string_view why) {
    throw UsageError(fmt::format("field '{}': {} {}", field, name_of(c.operation), why));
  };
  if (c.type != DataType::float32) refuse(name_of(c.type), "moves bytes, whatever their type");
  if (c.launch != LaunchMode::stream) refuse(name_of(c.launch), "is not captured into graphs");
  if (c.buffers != Buffers::plain) refuse(name_of(c.buffers), "has memory of its own kind");
  if (c.ranks > kMostRanksOfKernels) {
    throw UsageError(fmt::format("number of ranks np{}: {} works across {} GPUs at most", c.ranks,
                                 name_of(c.operation), kMostRanksOfKernels));
  }
}

void validate_root(const Case& c) {
  if (c.root == 0) return;
  if (!has_root(c.operation)) {
    throw UsageError(
        fmt::format("field 'root': {} has no root; broadcast, reduce, gather, scatter, "
                    "all_to_one and one_to_all have one",
                    name_of(c.operation)));
  }
  if (c.root < 0 || c.root >= c.ranks) {
    throw UsageError(
        fmt::format("root={}: the ranks of np{} are 0 to {}", c.root, c.ranks, c.ranks - 1));
  }
}

void validate_peers(const Case& c) {
  if (c.pair && !has_pair(c.operation)) {
    throw UsageError(
        fmt::format("field 'pair': {} works on all ranks, only send_recv, ping_pong, copies and "
                    "latencies have pairs",
                    name_of(c.operation)));
  }
  if (c.pair) validate_pair(*c.pair, c.ranks);
  if (!needs_pair(c.operation)) return;
  const std::string_view name = name_of(c.operation);
  if (!c.pair) {
    throw UsageError(
        fmt::format("field 'pair': {} goes between two ranks, name them as pair=0-1", name));
  }
  if (c.pair->both) {
    throw UsageError(
        fmt::format("field 'both': {} has no form with both directions at once", name));
  }
}

}  // namespace

std::string_view name_of(LaunchMode launch) {
  switch (launch) {
    case LaunchMode::stream:
      return "stream";
    case LaunchMode::graph:
      return "graph";
  }
  throw std::invalid_argument("no such launch mode");
}

LaunchMode parse_launch_mode(std::string_view name) {
  return parse_name("launch mode", name, kLaunchModes);
}

std::string_view name_of(Buffers buffers) {
  switch (buffers) {
    case Buffers::plain:
      return "plain";
    case Buffers::allocated:
      return "allocated";
    case Buffers::registered:
      return "registered";
    case Buffers::symmetric:
      return "symmetric";
  }
  throw std::invalid_argument("no such buffers");
}

Buffers parse_buffers(std::string_view name) {
  return parse_name("kind of buffers", name, kBuffers);
}

bool has_kernel(const Case& c) {
  if (is_copy(c.operation)) return true;
  const bool type =
      c.type == DataType::float32 || c.type == DataType::float16 || c.type == DataType::bfloat16;
  return c.operation == OperationKind::all_reduce && type && c.reduction == Reduction::sum &&
         c.buffers == Buffers::plain && c.ranks <= kMostRanksOfKernels;
}

bool is_own_work(const Case& c) { return c.kernel || works_on_memory(c.operation); }

bool uses_link(const Case& c) {
  if (c.training) return c.training->strategy != TrainingStrategy::none;
  return !is_local(c.operation);
}

std::int64_t size_granule(const Case& c) {
  if (is_copy(c.operation)) return 16;
  if (c.operation == OperationKind::latency) return 8;
  if (c.operation == OperationKind::load_latency) return kLoadLatencyLine;
  const std::int64_t element = size_of(c.type);
  return is_split_over_ranks(c.operation) ? element * c.ranks : element;
}

void validate(const Case& c) {
  if (c.ranks < kFewestRanks || c.ranks > kMostRanks) {
    throw UsageError(
        fmt::format("number of ranks np{}: from np{} to np{}", c.ranks, kFewestRanks, kMostRanks));
  }
  if (is_training(c.operation)) return validate_training(c);
  if (c.training) {
    throw UsageError(fmt::format("{} is no training", name_of(c.operation)));
  }
  validate_size(c);
  validate_form(c);
  validate_memory_work(c);
  validate_root(c);
  validate_peers(c);
}

double algorithm_bandwidth(const Case& c, Seconds time) {
  return gigabytes_per_second(c.size, time);
}

double bus_bandwidth(const Case& c, Seconds time) {
  return algorithm_bandwidth(c, time) * bus_bandwidth_factor(c.operation, c.ranks);
}

}  // namespace linkgain
