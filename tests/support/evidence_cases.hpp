#pragma once

#include <cstdint>
#include <optional>

#include "linkgain/record/evidence.hpp"
#include "record_parts.hpp"

/// Cases, plans and counters that the tests of traffic evidence share.
namespace linkgain::test {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;
inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;
inline const TransferPlan kRing{"RING", "SIMPLE"};
inline const TransferPlan kSimpleMessage{"", "SIMPLE"};

inline Case send_recv(std::int64_t size, int ranks = 2, std::optional<Pair> pair = std::nullopt) {
  Case c = all_reduce(size, ranks);
  c.operation = OperationKind::send_recv;
  c.pair = pair;
  return c;
}

inline LinkCounters counters(std::int64_t nvlink, std::int64_t pcie = 0) {
  return {
      .nvlink_sent = nvlink, .nvlink_received = nvlink, .pcie_sent = pcie, .pcie_received = pcie};
}

}  // namespace linkgain::test
