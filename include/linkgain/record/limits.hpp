#pragma once

#include <optional>

#include "linkgain/cases/case.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// What a path can carry in one direction of one rank.
struct Limit {
  double gb_per_s = 0.0;  ///< 1e9 B/s
  LimitKind kind = LimitKind::unknown;
};

/// Returns whether the bytes that busbw counts go over the links of some ranks only, which then
/// have the host's memory nearly for themselves: those of a pair, and those of the root where it
/// exchanges other data with every rank (gather, scatter, all_to_one, one_to_all).
bool loads_few_ranks(const Case& c);

/// Returns the limit of busbw on this path: the slowest of the ranks over whose links its bytes go.
/// Path::nvlink: of NVLink. pcie_p2p, host_memory, mixed and network: of the pinned host copy, in
/// the directions that the bytes take; alone where loads_few_ranks(), else of all ranks at once.
/// Absent where it was not measured. Two ranks that were not measured alone, as in older records,
/// have the rate of both at once; with more ranks that would be no limit.
std::optional<Limit> limit_of(const Machine& machine, const Case& c, Path path);

/// Notes how near to the limit of its path a variant came, busbw over limit_of(), and what limits
/// it. Nothing where either is not known, and of messages one after the other: they never fill a
/// link, so that their share would say nothing.
void note_limit(VariantResult& variant, const Case& c, const Machine& machine);

/// Returns the share of its limit that a result of a record is shown with. Older records hold cases
/// of few ranks against the rate of all at once: that share is absent here where there are other
/// ranks, or where it is above 1, so that the limit was none.
std::optional<double> shown_fraction(const Case& c, const VariantResult& variant);

}  // namespace linkgain
