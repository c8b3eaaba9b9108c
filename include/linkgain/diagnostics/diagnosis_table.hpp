#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "linkgain/diagnostics/finding.hpp"
#include "linkgain/tables/text_lines.hpp"

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

struct DiagnosisStyle {
  bool color = false;    ///< of the verdicts
  bool verbose = false;  ///< what is ok, too
  std::size_t width = kAnyColumns;
};

/// A diagnosis for people: first whether NVLink joins the GPUs, then a section for each group, in
/// it a line for each check with its verdict as a word, the worst first; below what is not ok why
/// it matters and what to do. Findings that differ in nothing but their subject share a line
/// ("GPU0-GPU7", "28 pairs"). The last lines count lines by verdict and repeat the problems, and a
/// warning that a bridge may be missing.
std::string diagnosis_table(const Diagnosis& diagnosis, const DiagnosisStyle& style);

}  // namespace linkgain
