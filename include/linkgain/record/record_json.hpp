#pragma once

#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json_document.hpp"

/// What tells a record from other JSON documents.
namespace linkgain::json {

/// A document of another program or of another kind.
class NotARecord : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Throws NotARecord where the document has no `schema` of a record, UsageError where it is one of
/// another version. The same for the name itself, empty for none.
void require_known_schema(const In& document);
void require_known_schema(const std::string& found);

}  // namespace linkgain::json
