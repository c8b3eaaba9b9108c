#include "linkgain/hardware/link_counters.hpp"

namespace linkgain {

namespace {

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

}  // namespace

LinkCounters growth(const LinkCounters& before, const LinkCounters& after) {
  return {.nvlink_sent = plain_growth(before.nvlink_sent, after.nvlink_sent),
          .nvlink_received = plain_growth(before.nvlink_received, after.nvlink_received),
          .pcie_sent = modular_growth(before.pcie_sent, after.pcie_sent),
          .pcie_received = modular_growth(before.pcie_received, after.pcie_received)};
}

}  // namespace linkgain
