#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace linkgain {

/// The bytes of a file, as far as they can be read; absent where it cannot be opened.
std::optional<std::string> whole_file(const std::filesystem::path& path);

}  // namespace linkgain
