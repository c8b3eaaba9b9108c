#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/diagnostics/finding.hpp"

namespace linkgain {

/// Findings that differ in nothing but their subject.
struct DiagnosisRow {
  Finding finding;  ///< the first of them
  std::vector<std::string> subjects;
};

/// The rows of one group, the worst first, else in the order of the findings.
std::vector<DiagnosisRow> diagnosis_rows(const Diagnosis& diagnosis, CheckGroup group);

/// "GPU0-GPU3, GPU5", "28 pairs" where there are more than three, "host".
std::string readable_subjects(const std::vector<std::string>& subjects);

}  // namespace linkgain
