#pragma once

#include <string>

#include "comparison.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// One item for each step of a curve, by variant and size: "- Step from 1 MiB to 2 MiB with p2p: 2x
/// the size takes 1.92x the time, …". Empty where there is none.
std::string step_lines(const Record& record, const Curve& curve);

}  // namespace linkgain
