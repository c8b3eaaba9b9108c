#pragma once

#include <string>
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

/// A diagnosis for people: a section for each group, in it a line for each check with its verdict
/// as a word, the worst first; below what is not ok why it matters and what to do. Findings that
/// differ in nothing but their subject share a line ("GPU0-GPU7", "28 pairs"). The last line counts
/// lines by verdict. `color` adds colour to the verdicts.
std::string diagnosis_table(const Diagnosis& diagnosis, bool color);

}  // namespace linkgain
