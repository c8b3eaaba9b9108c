#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/names.hpp"
#include "linkgain/delivery/delivery_proof.hpp"
#include "linkgain/diagnostics/link_verdict.hpp"

namespace linkgain {

struct Survey;

/// What a check finds that is not in order, or what it cannot look at without help.
struct Fault {
  std::string_view check;
  CheckVerdict verdict = CheckVerdict::warning;
  std::string_view when;    ///< for `--explain`; the finding's own value has the numbers
  std::string_view why;     ///< why it matters; empty of what is not checkable
  std::string_view advice;  ///< in both {name} stands for what the check fills in
};

/// What a check is about; the order of a diagnosis for people.
enum class CheckGroup { gpus, power, cooling, connectivity, host, software };

template <>
inline constexpr auto kNames<CheckGroup> =
    names<CheckGroup>("group", {{CheckGroup::gpus, "gpus"},
                                {CheckGroup::power, "power"},
                                {CheckGroup::cooling, "cooling"},
                                {CheckGroup::connectivity, "connectivity"},
                                {CheckGroup::host, "host"},
                                {CheckGroup::software, "software"}});

enum class Unit { count, watts, celsius, percent, seconds, bytes, gb_per_s };

/// How people and other programs have a unit.
struct UnitEntry {
  Unit unit;
  std::string_view name;   ///< of what other programs get, with Prometheus' base units
  double factor;           ///< what a number is multiplied with for them
  std::string_view shown;  ///< behind a number for people
};
inline constexpr std::array kUnits{
    UnitEntry{Unit::count, "number", 1.0, ""},
    UnitEntry{Unit::watts, "watts", 1.0, " W"},
    UnitEntry{Unit::celsius, "celsius", 1.0, " °C"},
    UnitEntry{Unit::percent, "ratio", 0.01, " %"},
    UnitEntry{Unit::seconds, "seconds", 1.0, " s"},
    UnitEntry{Unit::bytes, "bytes", 1.0, " B"},
    UnitEntry{Unit::gb_per_s, "bytes_per_second", 1e9, " GB/s"},
};

/// A number that a finding shows, for other programs.
struct FindingNumber {
  std::string name;  ///< of its check: "limit", "slowdown"
  Unit unit = Unit::count;
  double number = 0.0;  ///< in the unit
  bool operator==(const FindingNumber&) const = default;

  const UnitEntry& entry() const { return kUnits[static_cast<std::size_t>(unit)]; }
  double in_base_unit() const { return number * entry().factor; }
};

/// Holds what a finding says: a text for people, and the numbers in it for other programs.
class FindingValue {
 public:
  FindingValue() = default;
  FindingValue(std::string words) : text_(std::move(words)) {}  // NOLINT: is words
  FindingValue(const char* words) : text_(words) {}             // NOLINT: is words

  /// Shows a number as `text`.
  FindingValue(FindingNumber quantity, std::string text)
      : text_(std::move(text)), numbers_{std::move(quantity)} {}

  FindingValue& operator+=(const FindingValue& more);
  friend FindingValue operator+(FindingValue value, const FindingValue& more) {
    return value += more;
  }
  bool operator==(const FindingValue&) const = default;

  const std::string& text() const { return text_; }
  const std::vector<FindingNumber>& numbers() const { return numbers_; }

 private:
  std::string text_;
  std::vector<FindingNumber> numbers_;
};

/// Shows a number with its unit, bytes in the largest that fits: "300 W", "26.5625 GB/s".
FindingValue quantity(std::string name, Unit unit, double number, int decimals = 0);

/// What one check of `linkgain doctor` found.
struct Finding {
  CheckGroup group = CheckGroup::host;
  std::string id;       ///< stable, kebab-case: "nvlink-links"
  std::string subject;  ///< "GPU0", "GPU0-GPU1", "host"; one finding for each
  CheckVerdict verdict = CheckVerdict::not_checkable;
  /// Measured, and what it was compared with: "300 W of 700 W"; why it is not checkable.
  FindingValue value;
  std::string why;     ///< why it matters; empty where ok
  std::string advice;  ///< what to do; empty where ok
  bool operator==(const Finding&) const = default;
};

struct Diagnosis {
  std::string host;
  std::string checked;  ///< UTC
  LinkAnswer links;
  std::vector<Finding> findings;
  std::optional<DeliveryReport> delivery{};  ///< with --prove
};

/// Does every check of `linkgain doctor` on what was surveyed; pure.
std::vector<Finding> check_machine(const Survey& survey);

/// Gives problem found (1) where a check says so, machine_cannot (3) where nothing could be
/// checked, else success.
ExitCode exit_code_of(const Diagnosis& diagnosis);

/// Writes one JSON document, schema "linkgain.diagnosis/1": the findings with their numbers, how
/// many of each verdict, what was proved of delivery, and the exit status.
std::string to_json(const Diagnosis& diagnosis);

}  // namespace linkgain
