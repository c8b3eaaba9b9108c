#pragma once

#include <filesystem>
#include <string>
#include <variant>

#include "baseline_command.hpp"
#include "check_command.hpp"
#include "compare_command.hpp"
#include "doctor_command.hpp"
#include "fleet_command.hpp"
#include "linkgain/run/run_plan.hpp"
#include "topo_command.hpp"

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
