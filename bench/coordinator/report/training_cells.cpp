#include "training_cells.hpp"

#include "linkgain/base/units.hpp"

namespace linkgain {

std::string training_time_cell(const Record& record, const VariantResult& variant) {
  if (has_wrong_data(variant)) return "**WRONG DATA**";
  if (!variant.time) return variant.skipped ? "skipped" : "not measured";
  return readable_time(time_of_all_steps(record.settings, *variant.time));
}

std::optional<ExposedCommunication> shown_exposed(const Record& record, const CaseResult& result,
                                                  std::size_t variant) {
  if (has_wrong_data(result.variants[variant])) return std::nullopt;
  return exposed_communication(record, result, variant);
}

}  // namespace linkgain
