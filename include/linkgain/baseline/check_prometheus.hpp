#pragma once

#include <string>

#include "linkgain/baseline/regression.hpp"

namespace linkgain {

/// Prometheus' text format, for node_exporter's textfile collector: counts by verdict, exit status,
/// and for each case and variant times, shift with its interval, and whether it failed or stays
/// open. What is not known has no series.
std::string check_prometheus(const CheckResult& result);

}  // namespace linkgain
