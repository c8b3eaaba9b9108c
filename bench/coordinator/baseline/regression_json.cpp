#include <cmath>

#include "baseline_json.hpp"
#include "linkgain/baseline/regression.hpp"
#include "linkgain/record/json_conversions.hpp"

namespace linkgain {
namespace {

constexpr const char* kCheckSchema = "linkgain.check/1";

/// A shift of logarithms as a share of the reference: 0.05 is 5 % slower.
std::optional<double> share_of(const std::optional<double>& log) {
  return log ? std::optional<double>(std::expm1(*log)) : std::nullopt;
}

json::Out write_settling(const std::optional<Settling>& settling) {
  if (!settling) return nullptr;
  return {{"launches", settling->launches}, {"baseline_too", settling->baseline_too}};
}

json::Out write_case(const CaseCheck& check) {
  return {{"case", case_name(check.definition)},
          {"variant", check.variant},
          {"verdict", name_of(check.verdict)},
          {"fails", fails(check.verdict)},
          {"headline", check.headline},
          {"reason", check.reason},
          {"reference_s", json::nullable(json::seconds_of(check.reference))},
          {"time_s", json::nullable(json::seconds_of(check.time))},
          {"reference_launches", check.reference_launches},
          {"launches", check.launches},
          {"shift", json::nullable(share_of(check.shift))},
          {"shift_low", json::nullable(share_of(check.low))},
          {"shift_high", json::nullable(share_of(check.high))},
          {"chance_slower", json::nullable(check.chance_slower)},
          {"chance_faster", json::nullable(check.chance_faster)},
          {"lower", json::nullable(check.tolerance.lower)},
          {"upper", json::nullable(check.tolerance.upper)},
          {"settled_by", write_settling(check.settling)}};
}

}  // namespace

std::string to_json(const CheckResult& result) {
  json::Out counts = json::Out::object();
  for (const RegressionVerdict verdict : kRegressionVerdicts) {
    counts[std::string(name_of(verdict))] = count_of(result, verdict);
  }
  return json::document_text({{"schema", kCheckSchema},
                              {"exit_code", static_cast<int>(exit_code_of(result))},
                              {"baseline_made", result.made},
                              {"key", json::write_key(result.key)},
                              {"sources", json::array_of(result.sources, json::write_source)},
                              {"counts", counts},
                              {"warnings", json::array_of(result.warnings, json::write_warning)},
                              {"cases", json::array_of(result.cases, write_case)}});
}

}  // namespace linkgain
