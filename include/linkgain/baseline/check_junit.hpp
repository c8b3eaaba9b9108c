#pragma once

#include <string>

#include "linkgain/baseline/regression.hpp"

namespace linkgain {

/// JUnit XML: one test case for each case and variant of the baseline, failed where it fails,
/// skipped where it is inconclusive, each with the figures as its message; those not in the
/// baseline are skipped too.
std::string check_junit(const CheckResult& result);

}  // namespace linkgain
