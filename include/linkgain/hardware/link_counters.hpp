#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace linkgain {

/// The driver's PCIe counters wrap here.
inline constexpr std::int64_t kPcieModulus = std::int64_t{1} << 32;

/// Cumulative counters of one GPU's links, in bytes. Absent means not measured.
struct LinkCounters {
  std::optional<std::int64_t> nvlink_sent;
  std::optional<std::int64_t> nvlink_received;
  /// The driver counts these modulo 2^32; a difference is taken so.
  std::optional<std::int64_t> pcie_sent;
  std::optional<std::int64_t> pcie_received;
  bool operator==(const LinkCounters&) const = default;
};

/// Why a GPU lacks counters; empty where it has both of the kind.
struct AbsentCounters {
  std::string nvlink;
  std::string pcie;
};

/// Returns one counter's growth for each member; absent where either end is, and for NVLink where
/// the counter went backwards (a driver that was loaded anew).
LinkCounters growth(const LinkCounters& before, const LinkCounters& after);

}  // namespace linkgain
