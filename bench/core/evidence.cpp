#include "linkgain/core/evidence.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

namespace linkgain {
namespace {

constexpr std::string_view kSimple = "SIMPLE";
/// Our own kernels' ways: all data to all ranks, or to each its share and the sums back.
constexpr std::string_view kOneShot = "ONE_SHOT";
constexpr std::string_view kTwoShot = "TWO_SHOT";
/// The driver's PCIe counters come round to zero here.
constexpr std::int64_t kPcieModulus = std::int64_t{1} << 32;
/// What PCIe's own headers, flags and reads that poll them may add to the payload: 37 % were seen
/// going out of GPUs through host memory at 1 GiB.
constexpr double kPcieOverhead = 1.5;

std::optional<std::int64_t> plain_growth(const std::optional<std::int64_t>& before,
                                         const std::optional<std::int64_t>& after) {
  if (!before || !after || *after < *before) return std::nullopt;
  return *after - *before;
}

std::optional<std::int64_t> modular_growth(const std::optional<std::int64_t>& before,
                                           const std::optional<std::int64_t>& after) {
  if (!before || !after) return std::nullopt;
  const std::int64_t difference = (*after - *before) % kPcieModulus;
  return difference < 0 ? difference + kPcieModulus : difference;
}

/// Bytes on the wire for each byte of payload, by the lines that a protocol sends: LL 8 bytes of
/// which 4 are data, LL128 128 of which 120 are.
std::optional<double> wire_bytes_per_byte(std::string_view protocol) {
  if (protocol == kSimple) return 1.0;
  if (protocol == "LL") return 2.0;
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
      return true;  // messages, which no algorithm changes
  }
  throw std::invalid_argument("no such operation");
}

/// Messages of a send_recv over all ranks.
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
      return messages(c) * size;
    case OperationKind::ping_pong:
      return size;
  }
  throw std::invalid_argument("no such operation");
}

/// The most payload that one rank sends or receives for one operation. In NCCL's trees a rank is an
/// inner one, with two children and a parent, for half of the data and a leaf for the other half;
/// what is known of no plan is taken for as much as can be.
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
    case OperationKind::send_recv:
      return size;
    case OperationKind::ping_pong:
      return size / 2;  // every second message, and batches hold as many there as back
  }
  throw std::invalid_argument("no such operation");
}

/// Whether one GPU's messages may have brought its PCIe counters round, so that their growth says
/// nothing.
bool pcie_may_come_round(const Case& c, const TransferPlan& plan, std::int64_t operations) {
  const double wire = wire_bytes_per_byte(plan.protocol).value_or(2.0) * kPcieOverhead;
  return static_cast<double>(operations) * largest_payload_of_a_rank(c, plan.algorithm) * wire >=
         static_cast<double>(kPcieModulus);
}

using Counter = std::optional<std::int64_t> LinkCounters::*;

std::optional<std::int64_t> sum(const std::vector<LinkCounters>& ranks, Counter counter) {
  if (ranks.empty()) return std::nullopt;
  std::int64_t total = 0;
  for (const LinkCounters& rank : ranks) {
    if (!(rank.*counter)) return std::nullopt;
    total += *(rank.*counter);
  }
  return total;
}

std::string why_not_measured(const Case& c, const std::vector<LinkCounters>& ranks) {
  if (ranks.size() != static_cast<std::size_t>(c.ranks)) {
    return fmt::format("counters of {} of {} ranks", ranks.size(), c.ranks);
  }
  std::size_t missing = 0;
  std::size_t first = ranks.size();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].nvlink_sent) continue;
    ++missing;
    if (first == ranks.size()) first = rank;
  }
  if (missing == 0) return {};
  if (missing == ranks.size()) return "the ranks' GPUs have no NVLink counters";
  return fmt::format("GPU of rank {} has no NVLink counters", first);
}

/// Why nothing is expected of NVLink, or the share is not judged; empty where it is.
std::string why_not_judged(const Case& c, const TransferPlan& plan) {
  const bool small = message_size(c) < kJudgedSize;
  const std::string too_small = fmt::format(
      "{}smaller than {}", is_grouped(c.operation) ? "messages " : "", readable_bytes(kJudgedSize));
  if (has_algorithm(c.operation)) {
    if (plan.algorithm.empty()) return "NCCL's log named no algorithm";
    if (!is_known(c.operation, plan.algorithm)) {
      return fmt::format("nothing is known of what {} moves", plan.algorithm);
    }
  } else if (plan.protocol.empty() && small) {
    return too_small;  // NCCL's log speaks of no messages; the plan is then that of their size
  }
  if (plan.protocol.empty()) return "NCCL's log named no protocol";
  if (!wire_bytes_per_byte(plan.protocol)) {
    return fmt::format("nothing is known of what protocol {} moves", plan.protocol);
  }
  if (small) return too_small;
  if (plan.protocol != kSimple) return fmt::format("protocol {}, not {}", plan.protocol, kSimple);
  return {};
}

std::string first_reason(const Case& c, const WireEvidence& evidence,
                         const std::vector<LinkCounters>& ranks, bool several_hosts) {
  if (evidence.operations <= 0) return "no operation was counted";
  if (std::string reason = why_not_measured(c, ranks); !reason.empty()) return reason;
  if (several_hosts) return "ranks on several hosts";
  return why_not_judged(c, evidence.plan);
}

template <typename T>
std::optional<T> sum(const std::optional<T>& a, const std::optional<T>& b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

std::string same_or_empty(const std::string& a, const std::string& b) {
  return a == b ? a : std::string{};
}

}  // namespace

Bytes message_size(const Case& c) {
  return is_grouped(c.operation) ? Bytes{c.size.value / c.ranks} : c.size;
}

LinkCounters growth(const LinkCounters& before, const LinkCounters& after) {
  return {.nvlink_sent = plain_growth(before.nvlink_sent, after.nvlink_sent),
          .nvlink_received = plain_growth(before.nvlink_received, after.nvlink_received),
          .pcie_sent = modular_growth(before.pcie_sent, after.pcie_sent),
          .pcie_received = modular_growth(before.pcie_received, after.pcie_received)};
}

std::optional<double> WireEvidence::nvlink_share() const {
  if (!nvlink_sent || !expected || *expected <= 0.0) return std::nullopt;
  return static_cast<double>(*nvlink_sent) / *expected;
}

std::optional<double> WireEvidence::judged_share() const {
  return judged ? nvlink_share() : std::nullopt;
}

std::optional<double> expected_bytes(const Case& c, const TransferPlan& plan) {
  const std::optional<double> payload = payload_bytes(c, plan.algorithm);
  const std::optional<double> wire = wire_bytes_per_byte(plan.protocol);
  if (!payload || !wire) return std::nullopt;
  return *payload * *wire;
}

TransferPlan default_plan(const Case& c) {
  if (has_algorithm(c.operation)) return {};
  // NCCL sends messages of up to 16 KiB times its channels by LL, by default at most 1 MiB.
  const bool simple = message_size(c) >= kJudgedSize;
  return {.algorithm = {}, .protocol = std::string(simple ? kSimple : "")};
}

WireEvidence assess(const Case& c, const TransferPlan& plan, std::int64_t operations,
                    const std::vector<LinkCounters>& growth_by_rank, bool several_hosts) {
  WireEvidence evidence;
  evidence.plan = plan;
  evidence.operations = operations;
  if (growth_by_rank.size() == static_cast<std::size_t>(c.ranks)) {
    evidence.nvlink_sent = sum(growth_by_rank, &LinkCounters::nvlink_sent);
    evidence.nvlink_received = sum(growth_by_rank, &LinkCounters::nvlink_received);
    if (!pcie_may_come_round(c, plan, operations)) {
      evidence.pcie_sent = sum(growth_by_rank, &LinkCounters::pcie_sent);
      evidence.pcie_received = sum(growth_by_rank, &LinkCounters::pcie_received);
    }
  }
  if (const auto bytes = expected_bytes(c, plan); bytes && !several_hosts && operations > 0) {
    evidence.expected = *bytes * static_cast<double>(operations);
  }
  evidence.reason = first_reason(c, evidence, growth_by_rank, several_hosts);
  evidence.judged = evidence.reason.empty();
  return evidence;
}

WireEvidence combine(const WireEvidence& a, const WireEvidence& b) {
  if (a == WireEvidence{}) return b;
  if (b == WireEvidence{}) return a;
  WireEvidence both;
  both.plan = {.algorithm = same_or_empty(a.plan.algorithm, b.plan.algorithm),
               .protocol = same_or_empty(a.plan.protocol, b.plan.protocol)};
  both.operations = a.operations + b.operations;
  both.nvlink_sent = sum(a.nvlink_sent, b.nvlink_sent);
  both.nvlink_received = sum(a.nvlink_received, b.nvlink_received);
  both.pcie_sent = sum(a.pcie_sent, b.pcie_sent);
  both.pcie_received = sum(a.pcie_received, b.pcie_received);
  both.expected = sum(a.expected, b.expected);
  both.reason = a.reason.empty() ? b.reason : a.reason;
  both.judged = a.judged && b.judged;
  return both;
}

Path path_by_evidence(Path by_transport, const WireEvidence& evidence) {
  const std::optional<double> share = evidence.judged_share();
  if (!share) return by_transport;
  if (*share > kAllNvlink) return Path::nvlink;
  if (*share >= kNoNvlink) return Path::mixed;
  return by_transport == Path::nvlink ? Path::pcie_p2p : by_transport;
}

}  // namespace linkgain
