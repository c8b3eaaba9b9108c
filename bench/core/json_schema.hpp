#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "json_conversions.hpp"

namespace linkgain {

/// A JSON Schema (draft 7), parsed once, that documents are held against.
class JsonSchema {
 public:
  explicit JsonSchema(std::string_view text);
  ~JsonSchema();
  JsonSchema(const JsonSchema&) = delete;
  JsonSchema& operator=(const JsonSchema&) = delete;

  /// The innermost place at which `document` departs from the schema and how, as in "the
  /// baseline[cases][0]: Missing required property 'time_s'."; empty where it does not. `what`
  /// names the document's root.
  std::string departure(const json::In& document, const std::string& what) const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace linkgain
