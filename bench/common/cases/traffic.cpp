#include "linkgain/cases/traffic.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>

namespace linkgain {
namespace {

template <typename Enum>
struct Name {
  std::string_view name;
  Enum value;
};
template <typename Enum>  // clang before 17 finds none by itself
Name(std::string_view, Enum)->Name<Enum>;

constexpr std::array kAlgorithms{
    Name{"", Algorithm::unnamed},          Name{"RING", Algorithm::ring},
    Name{"TREE", Algorithm::tree},         Name{"PAT", Algorithm::pat},
    Name{"ONE_SHOT", Algorithm::one_shot}, Name{"TWO_SHOT", Algorithm::two_shot},
};

constexpr std::array kProtocols{
    Name{"", Protocol::unnamed},    Name{kSimple, Protocol::simple},
    Name{"LL", Protocol::ll},       Name{"LL16", Protocol::ll16},
    Name{"LL128", Protocol::ll128}, Name{"SENTINEL", Protocol::sentinel},
};

template <typename Enum, std::size_t count>
Enum value_called(std::string_view name, const std::array<Name<Enum>, count>& names) {
  const auto found = std::ranges::find(names, name, &Name<Enum>::name);
  return found == names.end() ? Enum::other : found->value;
}

/// Counts the messages of a send_recv or copy over all ranks.
int messages(const Case& c) {
  if (!c.pair) return c.ranks;
  return c.pair->both ? 2 : 1;
}

/// Returns payload that all ranks send to other ranks for one operation, where is_known().
std::optional<double> payload_bytes(const Case& c, Algorithm algorithm) {
  if (!is_known(c.operation, algorithm)) return std::nullopt;
  const double size = static_cast<double>(c.size.value);
  switch (c.operation) {
    case OperationKind::all_reduce:
      return (algorithm == Algorithm::one_shot ? c.ranks : 2.0) * (c.ranks - 1) * size;
    case OperationKind::all_gather:      // n parts of S/n, each over n-1 links
    case OperationKind::reduce_scatter:  // the same
    case OperationKind::broadcast:       // S over n-1 links
    case OperationKind::reduce:          // the same
    case OperationKind::alltoall:        // each of n ranks sends S/n to n-1 others
      return (c.ranks - 1) * size;
    case OperationKind::gather:  // n-1 ranks send S/n to the root
    case OperationKind::scatter:
      return (c.ranks - 1) * static_cast<double>(message_size(c).value);
    case OperationKind::send_recv:
    case OperationKind::copy_push:
    case OperationKind::copy_pull:
      return messages(c) * size;
    case OperationKind::all_to_one:
    case OperationKind::one_to_all:
      return (c.ranks - 1) * size;
    case OperationKind::ping_pong:
    case OperationKind::latency:
      return size;
    case OperationKind::gpt2_step:
      return training_payload(*c.training, c.ranks);
    case OperationKind::load_latency:
    case OperationKind::host_to_device:
    case OperationKind::device_to_host:
    case OperationKind::product_norm:
    case OperationKind::program:
      break;  // not known
  }
  return std::nullopt;
}

}  // namespace

Algorithm algorithm_called(std::string_view name) {
  // "NVLS", "NVLSTREE"
  return name.starts_with("NVLS") ? Algorithm::nvls : value_called(name, kAlgorithms);
}

Protocol protocol_called(std::string_view name) { return value_called(name, kProtocols); }

std::optional<double> link_bytes_per_byte(Protocol protocol) {
  switch (protocol) {
    case Protocol::simple:
    case Protocol::sentinel:
      return 1.0;
    case Protocol::ll:
      return 2.0;
    case Protocol::ll16:
      return 16.0 / 12.0;
    case Protocol::ll128:
      return 128.0 / 120.0;
    case Protocol::unnamed:
    case Protocol::other:
      return std::nullopt;
  }
  throw std::invalid_argument("no such protocol");
}

/// Returns whether it is known what an operation's algorithm moves.
///
/// all_reduce: a ring's ranks send 2 (n-1)/n S each; in a tree every rank but the root sends S up
/// and is sent S down. all_gather, reduce_scatter: in a ring each rank's part goes n-1 steps, as it
/// is or with more added at each; by PAT it goes (or is added up) along a tree that joins the n
/// ranks by n-1 messages. broadcast, reduce: a chain through all ranks, which NCCL calls ring too.
bool is_known(OperationKind operation, Algorithm algorithm) {
  const bool ring = algorithm == Algorithm::ring;
  switch (operation) {
    case OperationKind::all_reduce:
      return ring || algorithm == Algorithm::tree || algorithm == Algorithm::one_shot ||
             algorithm == Algorithm::two_shot;
    case OperationKind::all_gather:
    case OperationKind::reduce_scatter:
      return ring || algorithm == Algorithm::pat;
    case OperationKind::broadcast:
    case OperationKind::reduce:
      return ring;
    case OperationKind::alltoall:
    case OperationKind::gather:
    case OperationKind::scatter:
    case OperationKind::send_recv:
    case OperationKind::ping_pong:
    case OperationKind::copy_push:
    case OperationKind::copy_pull:
    case OperationKind::all_to_one:
    case OperationKind::one_to_all:
    case OperationKind::latency:
      return true;  // messages, which no algorithm changes
    case OperationKind::gpt2_step:
      return true;  // what rings move; who uses others names no protocol
    case OperationKind::load_latency:
    case OperationKind::host_to_device:
    case OperationKind::device_to_host:
    case OperationKind::product_norm:
    case OperationKind::program:
      return false;
  }
  throw std::invalid_argument("no such operation");
}

double largest_payload_of_a_rank(const Case& c, Algorithm algorithm) {
  const double size = static_cast<double>(c.size.value);
  const double of_others = (c.ranks - 1) * size / c.ranks;
  switch (c.operation) {
    case OperationKind::all_reduce:
      if (algorithm == Algorithm::one_shot) return (c.ranks - 1) * size;
      return algorithm == Algorithm::ring || algorithm == Algorithm::two_shot ? 2.0 * of_others
                                                                              : 2.0 * size;
    case OperationKind::all_gather:
    case OperationKind::reduce_scatter:
      // In both algorithms all ranks do alike: each gets, or adds up, the parts of the others.
      return is_known(c.operation, algorithm) ? of_others : size;
    case OperationKind::broadcast:
    case OperationKind::reduce:
      // A rank amid the chain gets S and passes it on.
      return size;
    case OperationKind::alltoall:
    case OperationKind::gather:   // the root
    case OperationKind::scatter:  // the root
      return of_others;
    case OperationKind::all_to_one:  // the root
    case OperationKind::one_to_all:  // the root
      return (c.ranks - 1) * size;
    case OperationKind::send_recv:
    case OperationKind::copy_push:
    case OperationKind::copy_pull:
    case OperationKind::host_to_device:
    case OperationKind::device_to_host:
    case OperationKind::product_norm:
      return size;
    case OperationKind::ping_pong:
    case OperationKind::latency:
      return size / 2;  // every second message, and batches hold as many there as back
    case OperationKind::load_latency:
      return kLoadLatencyLine;
    case OperationKind::gpt2_step:
      return training_payload(*c.training, c.ranks) / c.ranks;
    case OperationKind::program:
      break;
  }
  throw std::invalid_argument("no such operation");
}

Bytes message_size(const Case& c) {
  if (c.operation == OperationKind::load_latency) return Bytes{kLoadLatencyLine};
  return is_exchange(c.operation) ? Bytes{c.size.value / c.ranks} : c.size;
}

std::optional<double> expected_bytes(const Case& c, const TransferPlan& plan) {
  const std::optional<double> payload = payload_bytes(c, algorithm_called(plan.algorithm));
  const std::optional<double> link_bytes = link_bytes_per_byte(protocol_called(plan.protocol));
  if (!payload || !link_bytes) return std::nullopt;
  return *payload * *link_bytes;
}

}  // namespace linkgain
