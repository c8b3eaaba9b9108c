#include "limit_legend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/limits.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

std::string digits(double gb_per_s) {
  return fmt::format("{:.{}f}", gb_per_s, gb_per_s >= 99.95 ? 0 : 1);
}

}  // namespace

std::string LimitLegend::share(const Case& definition, const VariantResult& variant) {
  const double fraction = shown_fraction(definition, variant).value_or(0.0);
  if (!variant.busbw || fraction <= 0.0) {
    return {};
  }
  const double limit = *variant.busbw / fraction;
  const auto known = std::find_if(limits_.begin(), limits_.end(),
                                  [&](const Range& range) { return range.what == variant.limit; });
  if (known == limits_.end()) {
    limits_.push_back({variant.limit, limit, limit});
  } else {
    known->least_gb_per_s = std::min(known->least_gb_per_s, limit);
    known->most_gb_per_s = std::max(known->most_gb_per_s, limit);
  }
  return fmt::format(" ({})", rounded_percent(fraction, 0));
}

std::string LimitLegend::text() const {
  std::vector<std::string> words;
  for (const Range& range : limits_) {
    const std::string least = digits(range.least_gb_per_s);
    const std::string most = digits(range.most_gb_per_s);
    words.push_back(least == most ? fmt::format("{} {} GB/s", range.what, least)
                                  : fmt::format("{} {} to {} GB/s", range.what, least, most));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace linkgain
