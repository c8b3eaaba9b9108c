#include "linkgain/cases/traffic.hpp"

#include <stdexcept>

namespace linkgain {
namespace {

/// Our own kernels' ways: all data to all ranks, or to each its share and the sums back.
constexpr std::string_view kOneShot = "ONE_SHOT";
constexpr std::string_view kTwoShot = "TWO_SHOT";

/// Messages of a send_recv or copy over all ranks.
int messages(const Case& c) {
  if (!c.pair) return c.ranks;
  return c.pair->both ? 2 : 1;
}

/// Payload that all ranks send to other ranks for one operation, where is_known().
std::optional<double> payload_bytes(const Case& c, std::string_view algorithm) {
  if (!is_known(c.operation, algorithm)) return std::nullopt;
  const double size = static_cast<double>(c.size.value);
  switch (c.operation) {
    case OperationKind::all_reduce:
      return (algorithm == kOneShot ? c.ranks : 2.0) * (c.ranks - 1) * size;
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
    case OperationKind::program:
      break;  // not known
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> link_bytes_per_byte(std::string_view protocol) {
  if (protocol == kSimple) return 1.0;
  if (protocol == "LL") return 2.0;
  if (protocol == "LL16") return 16.0 / 12.0;
  if (protocol == "LL128") return 128.0 / 120.0;
  return std::nullopt;
}

/// Whether it is known what an operation's algorithm moves.
///
/// all_reduce: a ring's ranks send 2 (n-1)/n S each; in a tree every rank but the root sends S up
/// and is sent S down. all_gather, reduce_scatter: in a ring each rank's part goes n-1 steps, as it
/// is or with more added at each; by PAT it goes (or is added up) along a tree that joins the n
/// ranks by n-1 messages. broadcast, reduce: a chain through all ranks, which NCCL calls ring too.
bool is_known(OperationKind operation, std::string_view algorithm) {
  const bool ring = algorithm == "RING";
  switch (operation) {
    case OperationKind::all_reduce:
      return ring || algorithm == "TREE" || algorithm == kOneShot || algorithm == kTwoShot;
    case OperationKind::all_gather:
    case OperationKind::reduce_scatter:
      return ring || algorithm == "PAT";
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
    case OperationKind::program:
      return false;
  }
  throw std::invalid_argument("no such operation");
}

double largest_payload_of_a_rank(const Case& c, std::string_view algorithm) {
  const double size = static_cast<double>(c.size.value);
  const double of_others = (c.ranks - 1) * size / c.ranks;
  switch (c.operation) {
    case OperationKind::all_reduce:
      if (algorithm == kOneShot) return (c.ranks - 1) * size;
      return algorithm == "RING" || algorithm == kTwoShot ? 2.0 * of_others : 2.0 * size;
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
  const std::optional<double> payload = payload_bytes(c, plan.algorithm);
  const std::optional<double> link_bytes = link_bytes_per_byte(plan.protocol);
  if (!payload || !link_bytes) return std::nullopt;
  return *payload * *link_bytes;
}

}  // namespace linkgain
