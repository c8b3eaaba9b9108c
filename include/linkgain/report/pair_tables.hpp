#pragma once

#include <string>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// For all cases that differ in the ranks of their pair only, two or more: a Markdown matrix for
/// each variant, from × to, with what joins each pair; the weakest pair by name, and those that are
/// weak for their kind, or that none differs by more than the run's precision; and a table with a
/// row for each pair as size_tables() has for each size.
/// Empty where the record has no such cases.
std::string pair_tables(const Record& record);

}  // namespace linkgain
