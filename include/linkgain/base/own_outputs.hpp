#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace linkgain {

/// A file of a command's and how the command line names it: "--junit".
struct NamedFile {
  std::string_view name;
  std::optional<std::filesystem::path> path;  ///< absent: not asked for
};

/// Throws UsageError where an output is the same file as an input or another output, or would be
/// once it is made: it would replace what was there.
void require_own_outputs(const std::vector<NamedFile>& inputs,
                         const std::vector<NamedFile>& outputs);

}  // namespace linkgain
