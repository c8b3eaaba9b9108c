#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "fleet_likeness.hpp"
#include "fleet_node.hpp"
#include "fleet_peers.hpp"

namespace linkgain {

/// The kinds of machines of a fleet. A machine of which less is known counts to the largest kind
/// that it may be of. Points to the records, which must outlive it.
class Kinds {
 public:
  Kinds(const std::vector<const FleetRecord*>& records, const FleetNames& names);

  /// What one of the records is held against.
  NodePeers peers_of(const FleetRecord& record) const;

  /// reach_of() each kind, the largest first.
  std::vector<std::string> reaches(const FleetNames& names, double tolerance) const;

  /// "2 kinds of machines: 31 of 8 x NVIDIA H200, 4 of 4 x NVIDIA L4"; what is alike by
  /// GPUs and count is told apart by its links.
  std::string text() const;

 private:
  Kind& kind_for(const Likeness& likeness);
  std::vector<Kind*> by_size();
  std::vector<const Kind*> by_size() const;
  void name_kinds();

  std::map<Likeness, Kind> kinds_;
  std::unordered_map<const FleetRecord*, const Kind*> kind_of_;
  std::map<std::string, const Kind*> largest_;  ///< by model
};

}  // namespace linkgain
