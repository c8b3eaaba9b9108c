#pragma once

#include <map>
#include <string>
#include <vector>

#include "linkgain/fleet/fleet.hpp"

namespace linkgain {

/// What the peers of a machine make of one case and variant.
struct PeerFigure {
  int nodes = 0;              ///< with a time
  double centre = 0.0;        ///< median of the log times
  double spread = 0.0;        ///< standard deviation that the median absolute deviation stands for
  int launches = 0;           ///< the fewest of a node
  Path path = Path::unknown;  ///< of two thirds of the nodes or more, else unknown
};

/// Machines that are like each other.
struct Kind {
  std::string machine;  ///< describe_machine()
  /// The same, and where another kind has that too what tells them apart: "2 x NVIDIA H200 (NV17)".
  std::string name;
  std::string model;  ///< of the first GPU; without GPUs the same as `machine`
  std::vector<const FleetRecord*> members;
  std::map<std::string, int> drivers;  ///< how many members have which
  std::map<std::string, int> nccls;
  std::vector<PeerFigure> figures;  ///< by number of FleetNames
};

/// Fills `figures`, by the number of `names`; for fewer than kKindSize members they stay empty.
void summarise(Kind& kind, const FleetNames& names);

/// How much more of the log time than its peers' median makes a case slow.
double slow_bound(const PeerFigure& figure, double tolerance);

/// What slowdown is found in machines of this kind, by class of size where they differ; the
/// tolerance may be finer than their launches can tell. Empty for fewer than kKindSize
/// machines.
std::string reach_of(const Kind& kind, const FleetNames& names, double tolerance);

/// The entry that most have, where it is more than half of all; empty where there is none.
std::string majority(const std::map<std::string, int>& counts);

}  // namespace linkgain
