#pragma once

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json_node.hpp"

/// What tells a record from other JSON documents.
namespace linkgain::json {

/// A document of another program or of another kind.
class NotARecord : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Throws NotARecord where the document has no `schema` of a record, UsageError where it is one of
/// a version that is not read.
void require_known_schema(const Node& document);

}  // namespace linkgain::json
