#pragma once

#include <string>

#include "linkgain/diagnostics/finding.hpp"

namespace linkgain {

/// A diagnosis for people: a section for each group, in it a line for each check with its verdict
/// as a word, the worst first; below what is not ok why it matters and what to do. Findings that
/// differ in nothing but their subject share a line ("GPU0-GPU7", "28 pairs"). The last line counts
/// lines by verdict. `color` adds colour to the verdicts.
std::string diagnosis_table(const Diagnosis& diagnosis, bool color);

}  // namespace linkgain
