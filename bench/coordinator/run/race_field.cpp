#include "race_field.hpp"

#include <algorithm>
#include <set>

namespace linkgain {

std::vector<int> RaceField::enter(const Record& record, RaceStage stage) {
  field_ = field_of(record, stage);
  std::vector<int> cases;
  std::set<int> variants;
  for (std::size_t i = 0; i < field_.size(); ++i) {
    if (std::ranges::count(field_[i], true) <= 1) continue;
    cases.push_back(static_cast<int>(i));
    for (std::size_t variant = 0; variant < field_[i].size(); ++variant) {
      if (field_[i][variant]) variants.insert(static_cast<int>(variant));
    }
  }
  variants_.assign(variants.begin(), variants.end());
  return cases;
}

void note_excluded(const RaceField& field, Record& record) {
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    std::vector<VariantResult>& variants = record.cases[i].variants;
    for (std::size_t variant = 0; variant < variants.size(); ++variant) {
      if (field.races(static_cast<int>(i), static_cast<int>(variant))) continue;
      variants[variant].skipped = Skip{.refusal = "LL128 is safe over NVLink alone"};
    }
  }
}

}  // namespace linkgain
