#include "linkgain/tables/alike.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace linkgain {

std::string first_few(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 3;
  const std::size_t named = std::min(names.size(), kNamed);
  const auto begin = names.begin();
  const std::vector<std::string> first(begin, begin + static_cast<std::ptrdiff_t>(named));
  const std::string text = fmt::format("{}", fmt::join(first, ", "));
  return named == names.size() ? text : fmt::format("{} and {} more", text, names.size() - named);
}

}  // namespace linkgain
