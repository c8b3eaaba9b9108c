#include "json_schema.hpp"

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace linkgain {

struct JsonSchema::Parsed {
  valijson::Schema schema;
};

JsonSchema::JsonSchema(std::string_view text) : parsed_(std::make_unique<Parsed>()) {
  const json::In document = json::In::parse(text);
  valijson::SchemaParser{}.populateSchema(valijson::adapters::NlohmannJsonAdapter(document),
                                          parsed_->schema);
}

JsonSchema::~JsonSchema() = default;

// The failed checks come from the inside out: the first names the member at fault, the others the
// objects around it.
std::string JsonSchema::departure(const json::In& document, const std::string& what) const {
  valijson::ValidationResults problems;
  valijson::Validator validator;
  if (validator.validate(parsed_->schema, valijson::adapters::NlohmannJsonAdapter(document),
                         &problems)) {
    return {};
  }
  valijson::ValidationResults::Error first;
  problems.popError(first);
  std::string where = what;
  for (const std::string& part : first.context) {
    if (part != "<root>") where += part;
  }
  return where + ": " + first.description;
}

}  // namespace linkgain
