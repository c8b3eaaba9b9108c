#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "linkgain/base/json.hpp"

namespace linkgain {

/// A JSON Schema (draft 7), parsed once, that documents are held against.
class JsonSchema {
 public:
  explicit JsonSchema(std::string_view text);
  ~JsonSchema();
  JsonSchema(const JsonSchema&) = delete;
  JsonSchema& operator=(const JsonSchema&) = delete;

  /// Throws UsageError with this advice where `document` departs from the schema; its text names
  /// the innermost place and what is wrong there, as in "not a valid baseline: at the
  /// baseline[cases][0]: Missing required property 'time_s'.". `kind` names what the document is.
  void require(const json::In& document, const std::string& kind, const std::string& advice) const;

 private:
  struct Parsed;

  /// Empty where there is none.
  std::string departure(const json::In& document, const std::string& root) const;

  std::unique_ptr<Parsed> parsed_;
};

}  // namespace linkgain
