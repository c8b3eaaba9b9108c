#pragma once

#include <string>

#include "comparison.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// What the links' counters say of a case's variants, as a paragraph with a blank line before it:
/// "Wires: with P2P NVLink 100.4 % of expected, without 0 %." Empty where nothing was counted.
std::string wires_sentence(Contrast contrast, const CaseResult& result);

/// The report's section with a row for every case and variant, or empty where nothing was counted.
std::string wires_section(const Record& record);

}  // namespace linkgain
