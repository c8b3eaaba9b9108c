#pragma once

#include <string>

#include "linkgain/diagnostics/finding.hpp"

/// A diagnosis for other programs.
namespace linkgain {

/// Writes JUnit XML: one test case for each finding, failed where it is a problem, skipped where it
/// is not checkable; why and advice stand in its message, of warnings too, which pass.
std::string diagnosis_junit(const Diagnosis& diagnosis);

/// Writes Prometheus' text format, for node_exporter's textfile collector: exit status, when it was
/// checked, GPUs that respond, findings by verdict, and a severity for each that could be checked.
std::string diagnosis_prometheus(const Diagnosis& diagnosis);

}  // namespace linkgain
