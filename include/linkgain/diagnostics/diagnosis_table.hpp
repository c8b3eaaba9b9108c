#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/diagnostics/finding.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

/// Findings that differ in nothing but their subject.
struct DiagnosisRow {
  Finding finding;  ///< the first of them
  std::vector<std::string> subjects;
};

/// Gives the rows of one group, the worst first, else in the order of the findings.
std::vector<DiagnosisRow> diagnosis_rows(const Diagnosis& diagnosis, CheckGroup group);

/// Says "GPU0 to GPU3, GPU5", "28 pairs" where there are more than three, "host".
std::string readable_subjects(const std::vector<std::string>& subjects);

/// Shows a diagnosis to people: first whether NVLink joins the GPUs, then by group what is not ok,
/// the worst first, with why it matters and what to do; a table of the checks that are ok and whose
/// ids `shows_ok` names, as those that a user asked for.
/// Findings that differ in nothing but their subject are one ("GPU0-GPU7", "28 pairs"). The end
/// counts them by verdict, names the warnings and repeats the problems. A page, whose picture may
/// be empty, begins with that.
Document diagnosis_report(const Diagnosis& diagnosis,
                          const std::function<bool(const std::string& id)>& shows_ok,
                          const std::optional<std::string>& picture_of_page = {});

}  // namespace linkgain
