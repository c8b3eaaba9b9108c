#pragma once

#include <map>
#include <string>
#include <vector>

#include "fleet_node.hpp"
#include "fleet_peers.hpp"

namespace linkgain {

/// The kinds of machines of a fleet. Points to the records, which must outlive it.
class Kinds {
 public:
  Kinds(const std::vector<const FleetRecord*>& records, const FleetNames& names);

  /// What one of the records is held against.
  NodePeers peers_of(const FleetRecord& record) const;

  /// reach_of() each kind, the largest first.
  std::vector<std::string> reaches(const FleetNames& names, double tolerance) const;

  /// "2 kinds of machines: 31 of 8 x NVIDIA H200, 4 of 4 x NVIDIA L4"
  std::string text() const;

 private:
  std::vector<const Kind*> by_size() const;

  std::map<std::string, Kind> kinds_;
  std::map<std::string, const Kind*> largest_;  ///< by model
};

}  // namespace linkgain
