#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "linkgain/core/case.hpp"
#include "linkgain/core/record.hpp"

namespace linkgain {

/// Payload per direction that a link of this NVLink version (NVML's number) carries of its rate.
/// NVLink 2: 64b/66b coding, 32/33; NVLink 4 and 5: 256b/257b and Reed-Solomon (544,514), 16/17
/// (26.5625 → 25 GB/s, 53.125 → 50 GB/s). Absent for versions whose coding is not published.
std::optional<double> nvlink_payload_share(int version);

/// "4.0" for NVML's version 6, as the product sheets name it: 1 → 1.0, 2 → 2.0, 3 → 2.2, 4 → 3.0,
/// 5 → 3.1, 6 → 4.0, 7 → 5.0, 8 → 6.0. Empty for a number not known here.
std::string nvlink_version_name(int nvml_version);

/// What a path can carry in one direction of one rank.
struct Limit {
  double gb_per_s = 0.0;  ///< 1e9 B/s
  std::string what;       ///< "NVLink payload", "NVLink rate" where the payload's share is not
                          ///< known, kCopyAtOnce, kCopyAlone
};

inline constexpr std::string_view kCopyAtOnce = "pinned host copy of all ranks at once";
inline constexpr std::string_view kCopyAlone = "pinned host copy of a rank alone";

/// Whether the bytes that busbw counts go over the links of some ranks only, which then have the
/// host's memory nearly for themselves: those of a pair, and those of the root where it exchanges
/// other data with every rank (gather, scatter, all_to_one, one_to_all).
bool loads_few_ranks(const Case& c);

/// The limit of busbw on this path: the slowest of the ranks over whose links its bytes go.
/// Path::nvlink: of NVLink. pcie_p2p, host_memory, mixed and network: of the pinned host copy, in
/// the directions that the bytes take; alone where loads_few_ranks(), else of all ranks at once.
/// Absent where it was not measured. Two ranks that were not measured alone, as in older records,
/// have the rate of both at once; with more ranks that would be no limit.
std::optional<Limit> limit_of(const Machine& machine, const Case& c, Path path);

/// The share of its limit that a result of a record is shown with. Older records hold cases of few
/// ranks against the rate of all at once ("pinned host copy"): that share is absent here where
/// there are other ranks, or where it is above 1, so that the limit was none.
std::optional<double> shown_fraction(const Case& c, const VariantResult& variant);

}  // namespace linkgain
