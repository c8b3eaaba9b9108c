#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/diagnostics/link_verdict.hpp"

namespace linkgain {

enum class CheckVerdict { ok, warning, problem, not_checkable };
inline constexpr std::array kCheckVerdicts{CheckVerdict::ok, CheckVerdict::warning,
                                           CheckVerdict::problem, CheckVerdict::not_checkable};

/// "ok", "warning", "problem", "not checkable".
std::string_view name_of(CheckVerdict verdict);

/// What a check is about; the order of a diagnosis for people.
enum class CheckGroup { gpus, power, cooling, connectivity, host, software };

/// "gpus", "power", "cooling", "connectivity", "host", "software".
std::string_view name_of(CheckGroup group);

/// What one check of `linkgain doctor` found.
struct Finding {
  CheckGroup group = CheckGroup::host;
  std::string id;       ///< stable, kebab-case: "nvlink-links"
  std::string subject;  ///< "GPU0", "GPU0-GPU1", "host"; one finding for each
  CheckVerdict verdict = CheckVerdict::not_checkable;
  /// Measured, with unit and what it was compared with: "300 W of 700 W"; why it is not checkable.
  std::string value;
  std::string why;     ///< why it matters; empty where ok
  std::string advice;  ///< what to do; empty where ok
  bool operator==(const Finding&) const = default;
};

struct Diagnosis {
  std::string host;
  std::string checked;  ///< UTC
  LinkAnswer links;
  std::vector<Finding> findings;
};

/// Problem found (1) where a check says so, machine_cannot (3) where nothing could be checked, else
/// success.
ExitCode exit_code_of(const Diagnosis& diagnosis);

/// One JSON document, schema "linkgain.diagnosis/1": the findings, how many of each verdict, and
/// the exit status.
std::string to_json(const Diagnosis& diagnosis);

}  // namespace linkgain
