#pragma once

#include <map>
#include <string>
#include <vector>

#include "linkgain/core/fleet.hpp"

namespace linkgain {

/// What the peers of a machine make of one case and variant.
struct PeerFigure {
  int nodes = 0;              ///< with a time
  double centre = 0.0;        ///< median of the log times
  double spread = 0.0;        ///< standard deviation that the median absolute deviation stands for
  Path path = Path::unknown;  ///< of two thirds of the nodes or more, else unknown
};

/// Machines that are like each other.
struct Kind {
  std::string machine;  ///< "8 x NVIDIA H200"
  std::string model;    ///< of the first GPU
  std::vector<const FleetRecord*> members;
  std::map<std::string, int> drivers;  ///< how many members have which
  std::map<std::string, int> nccls;
  std::vector<PeerFigure> figures;  ///< by number of FleetNames
};

/// What must be alike: models, count, labels of the links, active NVLinks.
std::string kind_of(const Machine& machine);

/// Fills `figures`, by the number of `names`; for fewer than kKindSize members they stay empty.
void summarise(Kind& kind, const FleetNames& names);

/// The entry that most have, where it is more than half of all; empty where there is none.
std::string majority(const std::map<std::string, int>& counts);

}  // namespace linkgain
