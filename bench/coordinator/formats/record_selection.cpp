#include "linkgain/formats/record_selection.hpp"

#include <algorithm>
#include <string_view>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {

std::size_t selected_variant(const Record& record, const RecordSelection& selection) {
  const std::vector<Variant>& variants = record.settings.variants;
  if (record.settings.program) {
    throw UsageError("a run of linkgain exec has metrics of a program, no operations",
                     "use --format csv or json");
  }
  if (variants.empty()) throw UsageError("the record has no variant: nothing was measured");
  if (selection.variant.empty()) return 0;
  const auto found = std::ranges::find(variants, selection.variant, &Variant::name);
  if (found != variants.end()) return static_cast<std::size_t>(found - variants.begin());
  std::vector<std::string_view> names;
  for (const Variant& each : variants) names.push_back(each.name);
  throw UsageError(unknown_name("variant", selection.variant, names));
}

std::vector<const CaseResult*> selected_cases(const Record& record,
                                              const RecordSelection& selection) {
  const std::vector<OperationKind>& wanted = selection.operations;
  std::vector<const CaseResult*> cases;
  for (const CaseResult& each : record.cases) {
    const OperationKind operation = each.definition.operation;
    if (wanted.empty() || std::ranges::find(wanted, operation) != wanted.end()) {
      cases.push_back(&each);
    }
  }
  if (record.cases.empty()) throw UsageError("the record has no case: nothing was measured");
  if (cases.empty()) throw UsageError("the record has no case of that operation");
  return cases;
}

Environment environment_of(const Record& record, std::size_t variant) {
  const std::vector<Environment>& in_force = record.settings.environment_in_force;
  return variant < in_force.size() ? in_force[variant] : Environment{};
}

}  // namespace linkgain
