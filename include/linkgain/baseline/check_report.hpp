#pragma once

#include <string>

#include "linkgain/baseline/regression.hpp"
#include "linkgain/tables/document.hpp"

/// What `linkgain check` prints and writes, each form from the same result.
namespace linkgain {

/// Shows a check on a terminal: what fails first, a line for each case that fails, is open or
/// suspiciously fast, warnings, and a last line that sums up.
Document check_table(const CheckResult& result);

/// Shows a check in a pull request or a job's summary: the verdict as heading, then a table of the
/// cases that fail, are open or suspiciously fast. `pictures` are a page's.
Document check_report(const CheckResult& result, const std::string& pictures = {});

/// Makes check_report() a page that stands alone, with a picture of what lies furthest from the
/// baseline and a table of every case.
std::string check_page(const CheckResult& result);

/// Writes one row per case and variant below one header row. Shifts are shares of the reference;
/// what is not known is empty.
std::string check_csv(const CheckResult& result);

/// Writes JUnit XML: one test case for each case and variant of the baseline, failed where it
/// fails, skipped where it is inconclusive, each with the figures as its message; those not in the
/// baseline are skipped too.
std::string check_junit(const CheckResult& result);

/// Writes the JUnit XML of a check that could not be done: an error with the reason.
std::string unchecked_junit(const std::string& reason);

/// Writes the gauge of a check that could not be done: exit status 2 alone.
std::string unchecked_prometheus();

/// Writes Prometheus' text format, for node_exporter's textfile collector: exit status, when the
/// latest run began, counts by verdict, and for each case and variant times, shift with its
/// interval, and whether it failed or stays open. What is not known has no series.
std::string check_prometheus(const CheckResult& result);

}  // namespace linkgain
