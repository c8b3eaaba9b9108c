#include "linkgain/record/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkgain {
namespace {

/// What PCIe's own headers, flags and reads that poll them may add to the payload: 37 % were seen
/// going out of GPUs through host memory at 1 GiB.
constexpr double kPcieOverhead = 1.5;

/// Returns whether one GPU's messages may have brought its PCIe counters round, so that their
/// growth says nothing.
bool pcie_may_wrap(const Case& c, const TransferPlan& plan, std::int64_t operations) {
  const double link_bytes =
      link_bytes_per_byte(protocol_called(plan.protocol)).value_or(2.0) * kPcieOverhead;
  return static_cast<double>(operations) *
             largest_payload_of_a_rank(c, algorithm_called(plan.algorithm)) * link_bytes >=
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

/// Says which ranks lack a counter of `kind`; empty where none does.
std::string who_lacks(const Case& c, const std::vector<LinkCounters>& ranks, std::string_view kind,
                      const std::vector<Counter>& counters) {
  if (ranks.size() != static_cast<std::size_t>(c.ranks)) {
    return fmt::format("counters of {} of {} ranks", ranks.size(), c.ranks);
  }
  const auto lacks = [&](const LinkCounters& rank) {
    return std::ranges::any_of(counters, [&](Counter counter) { return !(rank.*counter); });
  };
  const auto missing = std::ranges::count_if(ranks, lacks);
  if (missing == 0) return {};
  if (missing == c.ranks) return fmt::format("the ranks' GPUs have no {} counters", kind);
  const auto first = std::ranges::find_if(ranks, lacks) - ranks.begin();
  return fmt::format("GPU of rank {} has no {} counters", first, kind);
}

/// Says why PCIe bytes are not known; empty where they are.
std::string why_no_pcie(const Case& c, const TransferPlan& plan, std::int64_t operations,
                        const std::vector<LinkCounters>& ranks) {
  std::string absent =
      who_lacks(c, ranks, "PCIe", {&LinkCounters::pcie_sent, &LinkCounters::pcie_received});
  if (!absent.empty() || !pcie_may_wrap(c, plan, operations)) return absent;
  return fmt::format("the counters may have wrapped, which they do every {}",
                     readable_bytes(Bytes{kPcieModulus}));
}

/// Says what message_size() is the size of, where that is not the case's own.
std::string_view what_is_small(const Case& c) {
  if (c.operation == OperationKind::load_latency) return "loads ";
  return is_exchange(c.operation) ? "messages " : "";
}

/// Says why nothing is expected of NVLink, or the share is not judged; empty where it is.
std::string why_not_judged(const Case& c, const TransferPlan& plan,
                           std::string_view why_no_algorithm) {
  const bool small = message_size(c) < kJudgedSize;
  const std::string too_small =
      fmt::format("{}smaller than {}", what_is_small(c), readable_bytes(kJudgedSize));
  if (has_algorithm(c.operation)) {
    if (plan.algorithm.empty()) return std::string(why_no_algorithm);
    if (!is_known(c.operation, algorithm_called(plan.algorithm))) {
      return fmt::format("nothing is known of what {} moves", plan.algorithm);
    }
  } else if (plan.protocol.empty() && small) {
    return too_small;  // NCCL's log speaks of no messages; the plan is then that of their size
  }
  if (plan.protocol.empty()) return "NCCL's log named no protocol";
  const std::optional<double> each = link_bytes_per_byte(protocol_called(plan.protocol));
  if (!each) {
    return fmt::format("nothing is known of what protocol {} moves", plan.protocol);
  }
  if (small) return too_small;
  if (*each != 1.0) {
    return fmt::format("protocol {}, not {}", plan.protocol, kSimple);
  }
  return {};
}

std::string first_reason(const Case& c, const TrafficEvidence& evidence,
                         const std::vector<LinkCounters>& ranks, bool several_hosts,
                         std::string_view why_no_algorithm) {
  if (evidence.operations <= 0) return "no operation was counted";
  if (std::string reason = who_lacks(c, ranks, "NVLink", {&LinkCounters::nvlink_sent});
      !reason.empty())
    return reason;
  if (several_hosts) return "ranks on several hosts";
  if (!uses_link(c)) return "nothing is sent between GPUs";
  return why_not_judged(c, evidence.plan, why_no_algorithm);
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

std::optional<double> TrafficEvidence::nvlink_share() const {
  if (!nvlink_sent || !expected || *expected <= 0.0) return std::nullopt;
  return static_cast<double>(*nvlink_sent) / *expected;
}

std::optional<double> TrafficEvidence::judged_share() const {
  return judged ? nvlink_share() : std::nullopt;
}

TransferPlan default_plan(const Case& c) {
  if (has_algorithm(c.operation)) return {};
  // NCCL sends messages of up to 16 KiB times its channels by LL, by default at most 1 MiB.
  const bool simple = message_size(c) >= kJudgedSize;
  return {.algorithm = {}, .protocol = std::string(simple ? kSimple : "")};
}

TrafficEvidence assess(const Case& c, const TransferPlan& plan, std::int64_t operations,
                       const std::vector<LinkCounters>& growth_by_rank, bool several_hosts,
                       std::string_view why_no_algorithm) {
  TrafficEvidence evidence;
  evidence.plan = plan;
  evidence.operations = operations;
  if (growth_by_rank.size() == static_cast<std::size_t>(c.ranks)) {
    evidence.nvlink_sent = sum(growth_by_rank, &LinkCounters::nvlink_sent);
    evidence.nvlink_received = sum(growth_by_rank, &LinkCounters::nvlink_received);
    if (!pcie_may_wrap(c, plan, operations)) {
      evidence.pcie_sent = sum(growth_by_rank, &LinkCounters::pcie_sent);
      evidence.pcie_received = sum(growth_by_rank, &LinkCounters::pcie_received);
    }
  }
  if (const auto bytes = expected_bytes(c, plan); bytes && !several_hosts && operations > 0) {
    evidence.expected = *bytes * static_cast<double>(operations);
  }
  evidence.reason = first_reason(c, evidence, growth_by_rank, several_hosts, why_no_algorithm);
  evidence.pcie_reason = why_no_pcie(c, plan, operations, growth_by_rank);
  evidence.judged = evidence.reason.empty();
  return evidence;
}

TrafficEvidence combine(const TrafficEvidence& a, const TrafficEvidence& b) {
  if (a == TrafficEvidence{}) return b;
  if (b == TrafficEvidence{}) return a;
  TrafficEvidence both;
  both.plan = {.algorithm = same_or_empty(a.plan.algorithm, b.plan.algorithm),
               .protocol = same_or_empty(a.plan.protocol, b.plan.protocol),
               .blocks = a.plan.blocks == b.plan.blocks ? a.plan.blocks : std::nullopt};
  both.operations = a.operations + b.operations;
  both.nvlink_sent = sum(a.nvlink_sent, b.nvlink_sent);
  both.nvlink_received = sum(a.nvlink_received, b.nvlink_received);
  both.pcie_sent = sum(a.pcie_sent, b.pcie_sent);
  both.pcie_received = sum(a.pcie_received, b.pcie_received);
  both.expected = sum(a.expected, b.expected);
  both.reason = a.reason.empty() ? b.reason : a.reason;
  both.pcie_reason = a.pcie_reason.empty() ? b.pcie_reason : a.pcie_reason;
  both.judged = a.judged && b.judged;
  return both;
}

Path path_by_evidence(Path by_transport, const TrafficEvidence& evidence) {
  const std::optional<double> share = evidence.judged_share();
  if (!share) return by_transport;
  if (*share > kAllNvlink) return Path::nvlink;
  if (*share >= kNoNvlink) return Path::mixed;
  return by_transport == Path::nvlink ? Path::pcie_p2p : by_transport;
}

}  // namespace linkgain
