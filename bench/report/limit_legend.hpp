#pragma once

#include <string>
#include <vector>

#include "linkgain/core/record.hpp"

namespace linkgain {

/// Writes the share of the limit beside bus bandwidths and remembers which limits those were.
class LimitLegend {
 public:
  /// " (73 %)", or empty where it is not known.
  std::string share(const VariantResult& variant);

  /// "NVLink payload 450 GB/s, pinned host copy 55.3 GB/s", in order of appearance.
  std::string text() const;

 private:
  std::vector<std::string> limits_;
};

/// What limits a variant: "NVLink payload 450 GB/s"; empty where it is not known.
std::string readable_limit(const VariantResult& variant);

}  // namespace linkgain
