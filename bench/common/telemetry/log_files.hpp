#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace linkgain {

/// The content of every regular file in `directory` whose name starts with `prefix`, in the order
/// of their names; empty where there is no such directory. A file that cannot be read counts as
/// empty.
std::vector<std::string> read_log_files(const std::filesystem::path& directory,
                                        std::string_view prefix);

/// Takes the prefix off the text where it begins so; else leaves the text as it is.
inline bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace linkgain
