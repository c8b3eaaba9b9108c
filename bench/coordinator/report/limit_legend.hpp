#pragma once

#include <string>
#include <vector>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// Writes the share of the limit beside bus bandwidths and remembers which limits those were.
class LimitLegend {
 public:
  /// " (73 %)", or empty where it is not known.
  std::string share(const Case& definition, const VariantResult& variant);

  /// "NVLink payload 450 GB/s, pinned host copy of a rank alone 54.9 to 55.3 GB/s", in order of
  /// appearance.
  std::string text() const;

 private:
  struct Range {
    std::string what;
    double least_gb_per_s = 0.0;
    double most_gb_per_s = 0.0;
  };
  std::vector<Range> limits_;
};

}  // namespace linkgain
