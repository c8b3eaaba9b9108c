// clang-format off: valijson reads whole numbers, too, so that this header comes before it
#include "linkgain/base/json_library.hpp"
// clang-format on

#include <fmt/format.h>

#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json_document.hpp"
#include "linkgain/base/visible_text.hpp"

namespace linkgain::json {
namespace {

std::string rows_of(const Out& value) {
  std::string text = value.is_array() ? "[" : "{";
  const char* separator = "\n ";
  for (const auto& [name, row] : value.items()) {
    text += separator;
    if (value.is_object()) text += fmt::format("\"{}\": ", name);
    text += text_of(row);
    separator = ",\n ";
  }
  return text + (value.is_array() ? "\n]" : "\n}");
}

std::string text_of_member(const Out& value, Layout layout) {
  switch (layout) {
    case Layout::line:
      break;
    case Layout::indented:
      return text_of(value, 1);
    case Layout::rows:
      return rows_of(value);
  }
  return text_of(value);
}

/// Names of the members so far of each object that has no end yet.
class OpenObjects {
 public:
  void begin() { names_.emplace_back(); }
  void end() { names_.pop_back(); }
  void add(const std::string& name) {
    if (visible(name) != name) {
      throw UsageError(fmt::format("the name of member '{}' is no text", visible(name)));
    }
    if (!names_.back().insert(name).second) {
      throw UsageError(fmt::format("an object has member '{}' twice", name));
    }
  }

 private:
  std::vector<std::set<std::string>> names_;
};

}  // namespace

In parse(std::string_view text) {
  OpenObjects open;
  const auto look = [&open](int, In::parse_event_t event, In& parsed) {
    if (event == In::parse_event_t::object_start) open.begin();
    if (event == In::parse_event_t::object_end) open.end();
    if (event == In::parse_event_t::key) open.add(parsed.get_ref<const std::string&>());
    if (event == In::parse_event_t::value && parsed.is_string()) {
      auto& value = parsed.get_ref<std::string&>();
      value = visible_lines(value);
    }
    return true;
  };
  return In::parse(text, look);
}

std::string text_of(const Out& value, int indent) {
  return value.dump(indent, ' ', false, Out::error_handler_t::replace);
}

std::string laid_out(const Out& document,
                     const std::function<Layout(const std::string&, const Out&)>& layout_of) {
  std::string text = "{";
  const char* separator = "\n";
  for (const auto& [key, value] : document.items()) {
    text += fmt::format("{}\"{}\": ", separator, key);
    text += text_of_member(value, layout_of(key, value));
    separator = ",\n";
  }
  return text + "\n}\n";
}

}  // namespace linkgain::json

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

void JsonSchema::require(const json::In& document, const std::string& kind,
                         const std::string& advice) const {
  const std::string found = departure(document, "the " + kind);
  if (found.empty()) return;
  throw UsageError("not a valid " + kind + ": at " + found, advice);
}

// The failed checks come from the inside out: the first names the member at fault, the others the
// objects around it.
std::string JsonSchema::departure(const json::In& document, const std::string& root) const {
  valijson::ValidationResults problems;
  valijson::Validator validator;
  if (validator.validate(parsed_->schema, valijson::adapters::NlohmannJsonAdapter(document),
                         &problems)) {
    return {};
  }
  valijson::ValidationResults::Error first;
  problems.popError(first);
  std::string where = root;
  for (const std::string& part : first.context) {
    if (part != "<root>") where += part;
  }
  return where + ": " + first.description;
}

}  // namespace linkgain
