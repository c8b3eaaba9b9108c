#pragma once

#include <string>

#include "linkgain/baseline/regression.hpp"

namespace linkgain {

/// A check as Markdown, for a pull request or a job's summary: the verdict as heading, then a table
/// of the cases that fail, are open or too good to be true.
std::string check_markdown(const CheckResult& result);

}  // namespace linkgain
