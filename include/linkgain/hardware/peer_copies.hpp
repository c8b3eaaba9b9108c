#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/reading.hpp"

namespace linkgain {

/// What a copy engine moves from one GPU's memory into another's by peer access.
struct PeerCopy {
  std::string from;          ///< PCI bus id
  std::string to;            ///< PCI bus id
  Reading<double> gb_per_s;  ///< 1e9 B/s
  bool operator==(const PeerCopy&) const = default;
};

/// Returns the line that `linkgain-bench --load` prints, without its end.
std::string to_json_line(const std::vector<PeerCopy>& copies);

/// Reads that line. Missing if it is none.
Reading<std::vector<PeerCopy>> peer_copies_in(std::string_view line);

}  // namespace linkgain
