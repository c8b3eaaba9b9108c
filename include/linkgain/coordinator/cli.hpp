#pragma once

#include <filesystem>
#include <string>
#include <variant>

#include "linkgain/coordinator/baseline_command.hpp"
#include "linkgain/coordinator/check_command.hpp"
#include "linkgain/coordinator/compare_command.hpp"
#include "linkgain/coordinator/doctor_command.hpp"
#include "linkgain/coordinator/fleet_command.hpp"
#include "linkgain/coordinator/topo_command.hpp"
#include "linkgain/run/run_plan.hpp"

namespace linkgain {

struct ReportOptions {
  enum class Format { markdown, csv, json };
  std::filesystem::path record;
  Format format = Format::markdown;
};

/// Text that was asked for instead of work: help or version.
struct TextRequest {
  std::string text;
};

using Request = std::variant<RunOptions, TopoOptions, DoctorOptions, ReportOptions, BaselineOptions,
                             CheckOptions, CompareCommandOptions, FleetCommandOptions, TextRequest>;

/// Reads `linkgain`'s command line, once. Throws UsageError.
Request parse_command_line(int argc, const char* const* argv);

}  // namespace linkgain
