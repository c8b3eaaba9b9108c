#pragma once

#include <string>

#include "comparison.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// For a curve of our own kernel a sentence and a table: how many times longer NCCL's operation, or
/// the copy engine, took at each size, with the interval of ratio_of_cases(), for each variant that
/// has right data of both. Empty for other curves, and where there is no such size.
std::string kernel_table(const Record& record, const Curve& curve);

}  // namespace linkgain
