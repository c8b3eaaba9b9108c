#pragma once

#include <string_view>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// What the variant of that name gave; null where the case has none.
const VariantResult* find_variant(const CaseResult& result, std::string_view name);

}  // namespace linkgain
