#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// What the first variant has that the other one lacks, as far as the record shows it.
enum class Contrast {
  nvlink,         ///< the first variant's path is NVLink, the other's is not
  p2p,            ///< P2P is off in the other variant alone
  shared_memory,  ///< the mpi backend's own pair
  variant,        ///< anything else: the variants' names tell
};

/// The words for one contrast: the column's title, and what a sentence begins with; empty where the
/// variants' names stand in its place.
struct Words {
  std::string_view title;
  std::string_view subject;
};
Words words_of(Contrast contrast);

/// What holding one variant against the first came to.
enum class Outcome {
  wrong_data,     ///< one of the two gave wrong results
  not_measured,   ///< no round measured both
  same_road,      ///< variants that choose the road took the same one
  no_interval,    ///< too few rounds to say
  no_difference,  ///< the interval includes 1
  less_time,
  more_time,
};

struct Comparison {
  const VariantResult* first = nullptr;
  const VariantResult* other = nullptr;
  const Ratio* ratio = nullptr;  ///< null where there is none
  Outcome outcome = Outcome::not_measured;
};

/// How a case's table is headed. Cases of more than two variants have Contrast::variant.
Contrast contrast_of(const Record& record, const CaseResult& result);

/// Every later variant against the first, in the record's order, skipped ones included. Empty where
/// the case has one variant. Points into `result`.
std::vector<Comparison> compare_variants(const Record& record, const CaseResult& result);

/// Cases of one curve (curve_name()) by size, curves in order of appearance. Trainings are none.
struct Curve {
  std::string name;
  std::vector<const CaseResult*> cases;
};
std::vector<Curve> curves_of(const Record& record);

}  // namespace linkgain
