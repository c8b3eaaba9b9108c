#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/base/json_members.hpp"

/// The JSON Schema (draft 7) of what describe_members() names.
namespace linkgain::test {

/// Schemas of structs that have a section, by its name.
using SchemaDefinitions = json::Out;

template <typename T>
json::Out schema_of(const json::Rule& rule, SchemaDefinitions& definitions);

class SchemaVisitor {
 public:
  explicit SchemaVisitor(SchemaDefinitions& definitions) : definitions_(definitions) {}

  template <typename T>
  void operator()(const char* key, const T&, const char* text = "", const json::Rule& rule = {}) {
    add(key, schema_of<T>(rule, definitions_), text);
    required_.push_back(key);
  }
  template <typename T>
  void later(const char* key, const T&, const char* text = "", const json::Rule& rule = {}) {
    add(key, schema_of<T>(rule, definitions_), text);
  }
  template <typename T>
  void sparse(const char* key, const T&, const char* text = "", const json::Rule& rule = {}) {
    if constexpr (json::is_optional<T>) {
      add(key, schema_of<typename json::ItemOf<T>::Type>(rule, definitions_), text);
    } else {
      add(key, schema_of<T>(rule, definitions_), text);
    }
  }
  template <typename T>
  void derived(const char* key, const T& value, const char* text = "",
               const json::Rule& rule = {}) {
    (*this)(key, value, text, rule);
    properties_[key]["readOnly"] = true;
  }
  template <typename T>
  void derived_sparse(const char* key, const T& value, const char* text = "",
                      const json::Rule& rule = {}) {
    sparse(key, value, text, rule);
    properties_[key]["readOnly"] = true;
  }
  template <typename T>
  void other(const char* key, const T& value, const char* text = "", const json::Rule& rule = {}) {
    later(key, value, text, rule);
  }
  void unbounded(const char* key, double, const char* text = "") {
    (*this)(key, std::optional<double>(), text);
  }
  void constant(const char* key, std::string_view value) {
    add(key, {{"type", "string"}, {"enum", {value}}}, "");
    required_.push_back(key);
  }
  template <typename Estimate>
  void estimate(const json::EstimateKeys& keys, const Estimate&, const json::EstimateTexts& texts,
                const json::Rule& rule = {}) {
    if constexpr (json::is_optional<Estimate>) {
      derived(keys.value, std::optional<double>(), texts.value, rule);
    } else {
      derived(keys.value, double{}, texts.value, rule);
    }
    derived(keys.low, std::optional<double>(), texts.low, json::kAnyNumber);
    derived(keys.high, std::optional<double>(), texts.high, json::kAnyNumber);
    derived(keys.replicates, std::optional<int>(), texts.replicates);
  }
  void section(const char* name, const char* text = "") {
    name_ = name;
    text_ = text;
  }

  /// Refers to it by its name, if it has one.
  json::Out take() {
    json::Out schema{{"type", "object"}, {"additionalProperties", false}};
    if (!text_.empty()) schema["description"] = text_;
    if (!required_.empty()) schema["required"] = required_;
    schema["properties"] = properties_;
    if (name_.empty()) return schema;
    if (!definitions_.contains(name_)) definitions_[name_] = schema;
    return {{"$ref", "#/definitions/" + name_}};
  }

 private:
  void add(const char* key, json::Out schema, const char* text) {
    if (*text != '\0') schema["description"] = text;
    properties_[key] = std::move(schema);
  }

  SchemaDefinitions& definitions_;
  std::string name_;
  std::string text_;
  std::vector<std::string> required_;
  json::Out properties_ = json::Out::object();
};

/// Lets a value be null, too. A section says so itself, for all its members.
inline json::Out nullable_schema(json::Out schema, SchemaDefinitions& definitions) {
  if (schema.contains("$ref")) {
    const auto reference = schema["$ref"].get<std::string>();
    definitions[reference.substr(reference.rfind('/') + 1)]["type"] = {"object", "null"};
    return schema;
  }
  schema["type"] = {schema["type"], "null"};
  if (schema.contains("enum")) schema["enum"].push_back(nullptr);
  return schema;
}

/// Writes a bound as somebody would: 0, not 0.0.
inline json::Out bound(double value) {
  const bool is_whole = std::trunc(value) == value && std::abs(value) < 0x1p63;
  return is_whole ? json::Out(static_cast<std::int64_t>(value)) : json::Out(value);
}

inline json::Out number_schema(const char* type, const json::Rule& rule) {
  json::Out schema{{"type", type}};
  if (rule.above) {
    schema["exclusiveMinimum"] = bound(*rule.above);
  } else if (std::isfinite(rule.least)) {
    schema["minimum"] = bound(rule.least);
  }
  if (std::isfinite(rule.most)) schema["maximum"] = bound(rule.most);
  return schema;
}

template <typename T>
json::Out schema_of(const json::Rule& rule, SchemaDefinitions& definitions) {
  if constexpr (json::HasText<T> || std::same_as<T, std::string>) {
    json::Out schema{{"type", "string"}};
    if constexpr (requires { json::AsText<T>::words(); }) {
      schema["enum"] = json::AsText<T>::words();
    }
    if (rule.form != json::Form::any) schema["pattern"] = json::pattern_of(rule.form);
    return schema;
  } else if constexpr (json::is_optional<T>) {
    return nullable_schema(schema_of<typename json::ItemOf<T>::Type>(rule, definitions),
                           definitions);
  } else if constexpr (json::is_vector<T>) {
    json::Out schema{{"type", "array"},
                     {"items", schema_of<typename json::ItemOf<T>::Type>(rule, definitions)}};
    if (rule.fewest > 0) schema["minItems"] = rule.fewest;
    return schema;
  } else if constexpr (json::is_map<T>) {
    return {{"type", "object"},
            {"additionalProperties", schema_of<typename json::ItemOf<T>::Type>(rule, definitions)}};
  } else if constexpr (std::same_as<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::same_as<T, std::uint64_t>) {
    return {{"type", "integer"}};  // bits, which validators compare with no signed number
  } else if constexpr (std::integral<T>) {
    return number_schema("integer", rule);
  } else if constexpr (std::same_as<T, double> || std::same_as<T, Seconds>) {
    return number_schema("number", rule);
  } else {
    SchemaVisitor visitor(definitions);
    const T value{};
    describe_members(visitor, value);
    return visitor.take();
  }
}

/// Puts a short schema on one line, else each member on a line of its own.
inline std::string laid_out_schema(const json::Out& schema, int depth = 0) {
  constexpr std::size_t kWidth = 100;
  const std::string line = json::dump(schema);
  const std::size_t width = line.size() + 2 * static_cast<std::size_t>(depth);
  if (!schema.is_object() || width <= kWidth) return line;
  const std::string margin(2 * static_cast<std::size_t>(depth), ' ');
  std::string text = "{";
  const char* separator = "\n";
  for (const auto& [key, value] : schema.items()) {
    text +=
        fmt::format("{}{}  \"{}\": {}", separator, margin, key, laid_out_schema(value, depth + 1));
    separator = ",\n";
  }
  return text + "\n" + margin + "}";
}

}  // namespace linkgain::test
