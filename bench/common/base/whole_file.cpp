#include "linkgain/base/whole_file.hpp"

#include <fstream>
#include <sstream>
#include <utility>

namespace linkgain {

std::optional<std::string> whole_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace linkgain
