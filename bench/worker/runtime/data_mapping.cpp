#include "linkgain/runtime/data_mapping.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

namespace linkgain {
namespace {

/// Returns whether messages go from `to` to `from` too.
bool answers(const Case& c) {
  return c.pair->both || c.operation == OperationKind::ping_pong ||
         c.operation == OperationKind::latency;
}

/// Takes as many elements of every rank's input, in the order of the ranks.
std::vector<ExpectedPart> one_from_each(const Case& c, std::int64_t first_index) {
  const std::int64_t count = c.elements_per_rank();
  std::vector<ExpectedPart> parts;
  for (int source = 0; source < c.ranks; ++source) {
    parts.push_back({source * count, count, first_index, source});
  }
  return parts;
}

/// Takes all elements of every other rank's input, in the order of the ranks.
std::vector<ExpectedPart> whole_of_others(const Case& c) {
  const std::int64_t count = c.elements();
  std::vector<ExpectedPart> parts;
  for (int source = 0; source < c.ranks; ++source) {
    if (source != c.root) parts.push_back({source * count, count, 0, source});
  }
  return parts;
}

std::vector<Transfer> with_root(const Case& c, bool to_root) {
  std::vector<Transfer> transfers;
  for (int rank = 0; rank < c.ranks; ++rank) {
    if (rank == c.root) continue;
    if (to_root) {
      transfers.push_back({rank, c.root, Bytes{rank * c.size.value}});
    } else {
      transfers.push_back({c.root, rank, {}});
    }
  }
  return transfers;
}

std::vector<Transfer> between_ranks(const Case& c) {
  std::vector<Transfer> transfers;
  if (!c.pair) {
    for (int rank = 0; rank < c.ranks; ++rank)
      transfers.push_back({rank, (rank + 1) % c.ranks, {}});
    return transfers;
  }
  transfers.push_back({c.pair->from, c.pair->to, {}});
  if (c.pair->both) transfers.push_back({c.pair->to, c.pair->from, {}});
  return transfers;
}

/// Hashes the name by FNV-1a.
std::uint32_t seed_of(const std::string& name) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

}  // namespace

std::uint64_t factor_bits(DataType type, int rank) {
  const auto factor = static_cast<std::uint64_t>(kernels::factor_of(rank));
  // Powers of two have an exponent only.
  const auto floating = [&](int bias, int fraction_bits) {
    return static_cast<std::uint64_t>(bias + std::bit_width(factor) - 1) << fraction_bits;
  };
  switch (type) {
    case DataType::float64:
      return floating(1023, 52);
    case DataType::float32:
      return floating(127, 23);
    case DataType::bfloat16:
      return floating(127, 7);
    case DataType::float16:
      return floating(15, 10);
    case DataType::float8e4m3:
      return floating(7, 3);
    case DataType::float8e5m2:
      return floating(15, 2);
    case DataType::int8:
    case DataType::uint8:
    case DataType::int32:
    case DataType::uint32:
    case DataType::int64:
    case DataType::uint64:
      return factor;
  }
  throw std::logic_error("unhandled data type");
}

kernels::Pattern verification_pattern(const Case& c, std::int64_t operation) {
  const kernels::ReductionKind reduction =
      has_reduction(c.operation) ? reduction_kind(c.reduction) : kernels::ReductionKind::max;
  const kernels::Pattern first =
      kernels::make_pattern(element_type(c.type), reduction, c.ranks, seed_of(case_name(c)));
  return later_pattern(first, operation);
}

kernels::Pattern later_pattern(const kernels::Pattern& pattern, std::int64_t operations) {
  kernels::Pattern later = pattern;
  later.seed += static_cast<std::uint32_t>(operations);
  return later;
}

std::int64_t verified_burst(const Case& c, const BufferPlan& plan) {
  constexpr std::int64_t kMost = 8;
  constexpr std::int64_t kMostBytes = std::int64_t{8} << 20;
  return std::min(plan.slots, std::clamp<std::int64_t>(kMostBytes / c.size.value, 1, kMost));
}

Seconds verification_delay(const kernels::Pattern& pattern, int rank) {
  constexpr double kLongest = 200e-6;
  const std::uint32_t bits = kernels::scramble(kernels::scramble(pattern.seed) +
                                               static_cast<std::uint32_t>(rank) * 0x9e3779b9U);
  if (bits >> 31 == 0) return Seconds{0.0};
  return Seconds{kLongest * (bits & 0x7fffffffU) / double{0x7fffffffU}};
}

int sender_to(const Case& c, int rank) {
  if (!c.pair) return (rank + c.ranks - 1) % c.ranks;
  if (rank == c.pair->to) return c.pair->from;
  return answers(c) && rank == c.pair->from ? c.pair->to : -1;
}

int receiver_from(const Case& c, int rank) {
  if (!c.pair) return (rank + 1) % c.ranks;
  if (rank == c.pair->from) return c.pair->to;
  return answers(c) && rank == c.pair->to ? c.pair->from : -1;
}

bool takes_part(const Case& c, int rank) {
  if (!has_pair(c.operation)) return true;
  return sender_to(c, rank) >= 0 || receiver_from(c, rank) >= 0;
}

std::vector<Transfer> transfers_of(const Case& c) {
  if (!is_copy(c.operation) || is_local(c.operation)) return {};
  if (has_root(c.operation)) return with_root(c, c.operation == OperationKind::all_to_one);
  return between_ranks(c);
}

int executor_of(const Case& c, const Transfer& transfer) {
  const bool pulls =
      c.operation == OperationKind::copy_pull || c.operation == OperationKind::one_to_all;
  return pulls ? transfer.to : transfer.from;
}

void add(Verification& total, const Verification& found) {
  total.checked += found.checked;
  total.wrong += found.wrong;
  total.largest_error = std::max(total.largest_error, found.largest_error);
  total.bound = std::max(total.bound, found.bound);
  if (total.first_wrong.empty()) total.first_wrong = found.first_wrong;
}

std::vector<ExpectedPart> expected_parts(const Case& c, int rank) {
  const std::int64_t all = c.elements();
  const std::int64_t part = c.elements_per_rank();
  switch (c.operation) {
    case OperationKind::all_reduce:
      return {{.count = all}};
    case OperationKind::reduce:
      if (rank != c.root) return {};
      return {{.count = all}};
    case OperationKind::reduce_scatter:
      return {{.count = part, .first_index = rank * part}};
    case OperationKind::broadcast:
      return {{.count = all, .source = c.root}};
    case OperationKind::scatter:
      return {{.count = part, .first_index = rank * part, .source = c.root}};
    case OperationKind::all_gather:
      return one_from_each(c, 0);
    case OperationKind::alltoall:
      return one_from_each(c, rank * part);
    case OperationKind::gather:
      if (rank != c.root) return {};
      return one_from_each(c, 0);
    case OperationKind::send_recv:
    case OperationKind::ping_pong:
    case OperationKind::copy_push:
    case OperationKind::copy_pull:
    case OperationKind::latency:
      if (sender_to(c, rank) < 0) return {};
      return {{.count = all, .source = sender_to(c, rank)}};
    case OperationKind::all_to_one:
      if (rank != c.root) return {};
      return whole_of_others(c);
    case OperationKind::one_to_all:
      if (rank == c.root) return {};
      return {{.count = all, .source = c.root}};
    case OperationKind::host_to_device:
    case OperationKind::device_to_host:
    case OperationKind::product_norm:
      return {{.count = all, .source = rank}};
    case OperationKind::load_latency:
    case OperationKind::gpt2_step:
    case OperationKind::program:
      return {};  // checked in another way
  }
  throw std::logic_error("unhandled operation");
}

}  // namespace linkgain
