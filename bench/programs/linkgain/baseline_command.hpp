#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "linkgain/cases/tolerance.hpp"

namespace linkgain {

struct BaselineOptions {
  std::vector<std::filesystem::path> records;
  std::optional<std::filesystem::path> output;  ///< absent only with `json`
  Tolerance tolerance;                          ///< written for every case
  bool json = false;                            ///< print the document instead of a summary
};

/// `linkgain baseline`: makes a baseline from records, writes it and says what is in it. Returns
/// the exit status; throws UsageError where records cannot be read or do not belong together.
int baseline_command(const BaselineOptions& options);

}  // namespace linkgain
