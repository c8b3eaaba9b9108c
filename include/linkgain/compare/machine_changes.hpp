#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/compare/run_figures.hpp"

namespace linkgain {

/// What a change is one of.
enum class ChangeKind {
  link,      ///< what joins GPUs
  pcie,      ///< what joins GPUs with the host, and the rates of copies over it
  gpu,       ///< which GPUs
  clock,     ///< what clocks the GPUs reached, and what limits clocks and power
  driver,    ///< NVIDIA's driver
  nccl,      ///< NCCL's library
  software,  ///< everything else that is installed
  host,      ///< the machine around the GPUs
  variable,  ///< variables in force
  setting,   ///< what linkgain was told to do
};

/// "link", "gpu", ...
std::string_view name_of(ChangeKind kind);

/// Something that two runs have otherwise; both sides are known.
struct Change {
  ChangeKind kind = ChangeKind::link;
  std::string what;    ///< "GPU0–GPU1", "driver", "NCCL_ALGO with p2p"
  std::string before;  ///< "PHB"; "not set"
  std::string after;   ///< "NV4"
  bool operator==(const Change&) const = default;
};

/// What differs between the machines and settings of two runs, links first. Ranks are matched by
/// number. What only one of the two tells is left out, variables excepted.
std::vector<Change> changes_between(const RunFigures& before, const RunFigures& after);

}  // namespace linkgain
