#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/digest.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/json_node.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

struct RecordDocument;
struct SampleTable;

/// Reads of a record's file what launch values are made of, in a quarter of the time that
/// parse_record() takes: cases have no samples, and of these there are the columns `case`,
/// `variant`, `launch`, `round`, `seconds_by_rank`, `clock_event_reasons_by_rank`, `disturbed` and
/// `unverified`, of equal length. Returns nothing of any other file than one of the newest schema
/// that is as linkgain wrote it, which its digest says; parse_record() reads that, or says what is
/// wrong.
std::optional<RecordDocument> read_as_written(std::string_view text);

/// Returns the document, one object, with the digest of all that stands before it as its last
/// member. `before` is what stands between two of its members, `so_far` the digest of what was
/// written in front of it, to which all of this is added.
std::string with_digest(std::string_view document, std::string_view before, Digest& so_far);

/// Returns the digest that `text`, parsed as `document`, has; empty for none. Throws UsageError
/// where that is not the one that with_digest() gives it. Adds the text to `so_far`.
std::string require_digest(std::string_view text, const json::Node& document,
                           std::string_view before, Digest& so_far);

/// Throws UsageError where a record's parts do not belong together: a program's cases among those
/// of linkgain or the other way round, ranks or variants in another order or there twice, a link of
/// a rank that is not there, a launch that was not planned, more wrong elements than checked ones.
void require_structure(const Record& record);

/// Throws UsageError where a sample is of a case or a variant that is not there, was timed on no
/// rank, or has times or health of other ranks than its case has. Columns must have equal lengths.
void require_rows(const SampleTable& samples, const std::vector<CaseResult>& cases);

/// Gives every sample to its case, numbered from `first_sequence` on. Throws UsageError as
/// require_columns() and require_rows() do.
void add_samples(const SampleTable& table, std::vector<CaseResult>& cases, int first_sequence = 0);

/// Gives each case of a record that was read what its samples give, by summarise(), after
/// require_structure().
void derive_results(Record& record);

}  // namespace linkgain

/// What tells a record from other JSON documents.
namespace linkgain::json {

/// A document of another program or of another kind.
class NotARecord : public UsageError {
 public:
  using UsageError::UsageError;
};

/// A record of a version that is not read.
class OtherVersion : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Throws NotARecord where the document has no `schema` of a record, OtherVersion where it is one
/// of a version that is not read.
void require_known_schema(const Node& document);

}  // namespace linkgain::json
