#include "limit_legend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "wording.hpp"

namespace linkgain {

std::string readable_limit(const VariantResult& variant) {
  const double fraction = variant.fraction_of_limit.value_or(0.0);
  if (!variant.busbw || fraction <= 0.0) {
    return {};
  }
  const double limit = *variant.busbw / fraction;
  return fmt::format("{} {:.{}f} GB/s", variant.limit, limit, limit >= 99.95 ? 0 : 1);
}

std::string LimitLegend::share(const VariantResult& variant) {
  const std::string limit = readable_limit(variant);
  if (limit.empty()) {
    return {};
  }
  if (std::find(limits_.begin(), limits_.end(), limit) == limits_.end()) {
    limits_.push_back(limit);
  }
  return fmt::format(" ({})", readable_fraction(*variant.fraction_of_limit));
}

std::string LimitLegend::text() const { return fmt::format("{}", fmt::join(limits_, ", ")); }

}  // namespace linkgain
