#include "linkgain/record/find_variant.hpp"

#include <algorithm>

namespace linkgain {

const VariantResult* find_variant(const CaseResult& result, std::string_view name) {
  const auto found = std::find_if(result.variants.begin(), result.variants.end(),
                                  [&](const VariantResult& each) { return each.variant == name; });
  return found == result.variants.end() ? nullptr : &*found;
}

}  // namespace linkgain
