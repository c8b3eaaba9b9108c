#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/core/baseline.hpp"
#include "linkgain/core/errors.hpp"
#include "linkgain/core/machine.hpp"
#include "linkgain/core/machine_key.hpp"
#include "linkgain/core/record.hpp"

/// The JSON form of the domain types, one for the record, the journal and the protocol. Written
/// with a fixed key order; read from any order. Absent optionals are null.
namespace linkgain::json {

using Out = nlohmann::ordered_json;
using In = nlohmann::json;

/// `indent` -1: one line. Bytes that are no UTF-8, as arguments and variables may hold, are
/// replaced.
inline std::string text_of(const Out& value, int indent = -1) {
  return value.dump(indent, ' ', false, Out::error_handler_t::replace);
}

/// A document of its own, a member a line.
inline std::string document_text(const Out& members) { return text_of(members, 1) + "\n"; }

template <typename T>
Out nullable(const std::optional<T>& value) {
  return value ? Out(*value) : Out(nullptr);
}

template <typename T>
std::optional<T> optional_at(const In& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::nullopt;
  return found->get<T>();
}

/// A member that is there and not null, or nothing.
inline const In* member_of(const In& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

inline std::optional<double> seconds_of(const std::optional<Seconds>& time) {
  return time ? std::optional<double>(time->value) : std::nullopt;
}

template <typename T, typename Write>
Out array_of(const std::vector<T>& values, Write write) {
  Out array = Out::array();
  for (const T& value : values) array.push_back(write(value));
  return array;
}

template <typename T, typename Read>
std::vector<T> vector_of(const In& array, Read read) {
  std::vector<T> values;
  values.reserve(array.size());
  for (const In& item : array) values.push_back(read(item));
  return values;
}

/// Of its label; absent for none. Throws std::invalid_argument for any other.
std::optional<Ancestor> ancestor_of(const std::optional<std::string>& label);
Out write_ancestor(const std::optional<Ancestor>& ancestor);

Out write_machine(const Machine& machine);
Machine read_machine(const In& json);

/// What is not known is null.
Out write_key(const MachineKey& key);
MachineKey read_key(const In& json);

Out write_health(const Health& health);
Health read_health(const In& json);
/// One rank's counters, in bytes.
Out write_link_counters(const LinkCounters& counters);
LinkCounters read_link_counters(const In& json);
Out write_evidence_cost(const EvidenceCost& cost);
EvidenceCost read_evidence_cost(const In& json);
Out write_host_copy(const HostCopyRates& rates);
HostCopyRates read_host_copy(const In& json);

/// The share of NVLink is written for readers of the JSON, and derived anew when it is read.
Out write_evidence(const WireEvidence& evidence);
WireEvidence read_evidence(const In& json);
Out write_health_summary(const HealthSummary& summary);
HealthSummary read_health_summary(const In& json);
Out write_verification(const Verification& verification);
Verification read_verification(const In& json);
Out write_execution(const Execution& execution);
Execution read_execution(const In& json);
Out write_warning(const Warning& warning);
Warning read_warning(const In& json);
Out write_source(const BaselineSource& source);
BaselineSource read_source(const In& json);
Out write_settings(const Settings& settings);
Settings read_settings(const In& json);
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

/// Samples in columns: one array for each member, one array of times for each rank.
Out write_samples(const std::vector<Sample>& samples);
std::vector<Sample> read_samples(const In& json);

}  // namespace linkgain::json
