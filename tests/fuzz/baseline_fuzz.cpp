// A baseline, as `check` reads it and people edit it.
#include "fuzz_target.hpp"
#include "linkgain/baseline/baseline.hpp"
#include "linkgain/baseline/regression.hpp"

namespace linkgain {
namespace {

void read(std::string_view text) {
  const Baseline baseline = parse_baseline(text, "input");
  const auto parse = [](const std::string& written) { return parse_baseline(written, "written"); };
  const auto write = [](const Baseline& value) { return to_json(value); };
  fuzz::require_round_trip(baseline, parse, write);
  for (const BaselineCase& each : baseline.cases) tolerance_of(baseline, each);
  baseline_summary(baseline);
  to_json(check_launches({}, baseline));
}

}  // namespace
}  // namespace linkgain
