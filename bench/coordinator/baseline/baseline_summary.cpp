#include "linkgain/baseline/baseline_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "linkgain/tables/table.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

struct Pool {
  int cases = 0;
  std::optional<Spread> spread;
};

std::string spread_table(const Baseline& baseline) {
  std::map<std::string, Pool> pools;
  for (const BaselineCase& reference : baseline.cases) {
    if (reference.spread && reference.spread->alone) continue;
    Pool& pool = pools[spread_pool(reference.definition, reference.variant)];
    ++pool.cases;
    pool.spread = reference.spread;
  }
  using enum Table::Alignment;
  Table table({{"Like cases"},
               {"Cases", right},
               {"Between launches", right},
               {"Degrees of freedom", right}});
  for (const auto& [name, pool] : pools) {
    table.add_row({name, fmt::format("{}", pool.cases),
                   pool.spread ? fmt::format("{:.2f} %", 100.0 * pool.spread->deviation) : "?",
                   fmt::format("{}", pool.spread ? pool.spread->degrees_of_freedom : 0)});
  }
  return table.text();
}

std::string launches_text(const Baseline& baseline) {
  const auto [fewest, most] = std::minmax_element(
      baseline.cases.begin(), baseline.cases.end(),
      [](const BaselineCase& a, const BaselineCase& b) { return a.launches < b.launches; });
  if (fewest == baseline.cases.end()) return "no launches";
  if (fewest->launches == most->launches) return counted(most->launches, "launch", "launches");
  return fmt::format("{} to {} launches", fewest->launches, most->launches);
}

}  // namespace

std::string baseline_summary(const Baseline& baseline) {
  std::string text = fmt::format(
      "{}: {} of {}\n\n{}\n", describe(baseline.key),
      counted(static_cast<std::int64_t>(baseline.cases.size()), "reference", "references"),
      launches_text(baseline), spread_table(baseline));
  for (const Warning& warning : baseline.warnings) {
    text += fmt::format("warning: {}\n", one_line(warning.text));
    if (!warning.advice.empty()) text += fmt::format("         {}\n", one_line(warning.advice));
  }
  return baseline.warnings.empty() ? text : text + "\n";
}

}  // namespace linkgain
