#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "linkgain/cases/tolerance.hpp"
#include "output_format.hpp"

namespace linkgain {

struct CheckOptions {
  std::vector<std::filesystem::path> records;
  std::filesystem::path baseline;
  std::optional<Tolerance> tolerance;  ///< instead of the baseline's
  OutputFormat format = OutputFormat::table;
  std::optional<std::filesystem::path> junit;
  std::optional<std::filesystem::path> prometheus;
};

/// `linkgain check`: holds records against a baseline, prints the result and writes the files asked
/// for, each by way of a temporary file beside it. Returns the exit status of the check; throws
/// UsageError where something cannot be read or written, or the records are of another kind of
/// machine.
int check_command(const CheckOptions& options);

}  // namespace linkgain
