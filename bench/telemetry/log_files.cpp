#include "log_files.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>

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
    std::ifstream stream(file, std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return contents;
}

}  // namespace linkgain
