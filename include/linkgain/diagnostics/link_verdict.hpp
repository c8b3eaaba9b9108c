#pragma once

#include <string>

#include "linkgain/hardware/topology.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

/// What `topo` and `doctor` say first.
struct LinkAnswer {
  /// "GPU0 and GPU1 are joined by NVLink: 4 of 4 links active, peer access works." More than two
  /// GPUs are grouped: all pairs, or which of them.
  std::string verdict;
  /// What to measure where two GPUs have a bridge that is in order, or could have one, with its
  /// command between backticks; else empty.
  std::string advice;
  /// Whether `doctor` has something to say: links that are down, a bridge that is missing, peer
  /// access that is refused over NVLink, or pairs of which nothing is known.
  bool trouble = false;
};
LinkAnswer link_answer(const Topology& topology);

Document document_of(const LinkAnswer& answer);

}  // namespace linkgain
