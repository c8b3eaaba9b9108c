#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

#include "linkgain/race/tuning.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// Which variants launches measure now, and in which cases: all in all, until a race narrows them.
class RaceField {
 public:
  explicit RaceField(std::size_t variants) : variants_(variants) {
    std::iota(variants_.begin(), variants_.end(), 0);
  }

  /// Has only those measured from now on that race in this stage. Returns the cases, by their
  /// places, in which there is a candidate.
  std::vector<int> enter(const Record& record, RaceStage stage);

  const std::vector<int>& variants() const { return variants_; }
  bool is_entered() const { return !field_.empty(); }
  bool races(int index, int variant) const {
    return field_.empty() ||
           field_[static_cast<std::size_t>(index)][static_cast<std::size_t>(variant)];
  }

 private:
  std::vector<int> variants_;
  Field field_;  ///< empty without a race
};

/// Says in the record of the variants that may not race on this machine why they are not measured.
void note_excluded(const RaceField& field, Record& record);

}  // namespace linkgain
