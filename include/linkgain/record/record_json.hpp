#pragma once

#include <span>
#include <string>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json_document.hpp"
#include "linkgain/record/record.hpp"

/// The JSON form of what records are made of, one for the record, the journal and the protocol.
/// Written with a fixed key order; read from any order. Absent optionals are null.
namespace linkgain::json {

Out write_health(const Health& health);
Health read_health(const In& json);
Out write_health_summary(const HealthSummary& summary);
HealthSummary read_health_summary(const In& json);
Out write_verification(const Verification& verification);
Verification read_verification(const In& json);
Out write_execution(const Execution& execution);
Execution read_execution(const In& json);
Out write_warning(const Warning& warning);
Warning read_warning(const In& json);
Out write_evidence_cost(const EvidenceCost& cost);
EvidenceCost read_evidence_cost(const In& json);
Out write_time_spent(const TimeSpent& spent);
TimeSpent read_time_spent(const In& json);
Out write_settings(const Settings& settings);
Settings read_settings(const In& json);
Out write_program_run(const ProgramRun& run);
ProgramRun read_program_run(const In& json);
Out write_case(const CaseResult& result);
CaseResult read_case(const In& json);

/// A document of another program or of another kind.
class NotARecord : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Throws NotARecord where the document has no `schema` of a record, UsageError where it is one of
/// another version. The same for the name itself, empty for none.
void require_known_schema(const In& document);
void require_known_schema(const std::string& found);

/// The samples of all cases, in the order measured, in columns: one array for each member, one
/// array of times for each rank.
Out write_samples(const std::vector<CaseResult>& cases);
/// The same of one case.
Out write_samples(int case_index, std::span<const Sample> samples);
/// Gives every sample to its case, numbered from `first_sequence` on. Throws UsageError where one
/// is of a case or a variant that is not there.
void read_samples(const In& json, std::vector<CaseResult>& cases, int first_sequence = 0);

}  // namespace linkgain::json
