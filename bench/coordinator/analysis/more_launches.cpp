#include "linkgain/analysis/more_launches.hpp"

#include <algorithm>
#include <cmath>

namespace linkgain {
namespace {

constexpr Bytes kBoundByLink{std::int64_t{16} << 20};
constexpr Bytes kBetween{std::int64_t{1} << 20};

}  // namespace

double interval_width(const Case& c, std::optional<double> asked) {
  if (asked) return *asked;
  if (c.training || c.size >= kBoundByLink) return 0.01;
  return c.size >= kBetween ? 0.02 : 0.05;
}

std::vector<int> cases_worth_more(const Record& record, std::optional<double> asked, int planned,
                                  int launches_done) {
  const double most_gain = std::sqrt(2.0 * planned / launches_done);
  std::vector<int> chosen;
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    const CaseResult& result = record.cases[i];
    if (result.definition.training) continue;
    const double width = interval_width(result.definition, asked);
    const auto comes_to_width = [&](const RatioResult& each) {
      const std::optional<double> now = each.ratio.relative_half_width();
      return now && *now > width && *now <= width * most_gain;
    };
    if (std::any_of(result.ratios.begin(), result.ratios.end(), comes_to_width)) {
      chosen.push_back(static_cast<int>(i));
    }
  }
  return chosen;
}

}  // namespace linkgain
