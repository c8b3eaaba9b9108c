#include "log_files.hpp"

#include <algorithm>
#include <system_error>

#include "linkgain/base/whole_file.hpp"

namespace linkgain {

std::vector<std::string> read_log_files(const std::filesystem::path& directory,
                                        std::string_view prefix) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    if (entry->path().filename().string().starts_with(prefix) && entry->is_regular_file(unknown)) {
      files.push_back(entry->path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> contents;
  for (const std::filesystem::path& file : files) {
    contents.push_back(whole_file(file).value_or(""));
  }
  return contents;
}

}  // namespace linkgain
