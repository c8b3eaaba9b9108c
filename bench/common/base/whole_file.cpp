#include "linkgain/base/whole_file.hpp"

#include <fstream>
#include <iterator>

namespace linkgain {

std::optional<std::string> whole_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

}  // namespace linkgain
