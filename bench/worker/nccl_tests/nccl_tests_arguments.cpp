#include "nccl_tests_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

char lower(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

/// How often a size is multiplied by 2 for the unit that `rest` begins with; absent where it is
/// none.
std::optional<int> exponent_of_unit(std::string_view rest) {
  const std::size_t first = rest.find_first_not_of(" \t\n\v\f\r");
  if (first == std::string_view::npos) return 0;
  const std::size_t unit = std::string_view("kmg").find(lower(rest[first]));
  if (unit == std::string_view::npos) return std::nullopt;
  return 10 * (static_cast<int>(unit) + 1);
}

}  // namespace

Bytes parse_nccl_tests_size(std::string_view flag, const std::string& text, Bytes least) {
  constexpr double kTooMuch = 0x1p60;
  char* rest = nullptr;
  const double number = std::strtod(text.c_str(), &rest);
  const std::optional<int> exponent = exponent_of_unit(rest);
  const double bytes = std::ldexp(number, exponent.value_or(0));
  const bool is_size = rest != text.c_str() && exponent && bytes >= 0.0 && bytes < kTooMuch;
  if (is_size && static_cast<std::int64_t>(bytes) >= least.value) {
    return Bytes{static_cast<std::int64_t>(bytes)};
  }
  throw UsageError(
      fmt::format("{} '{}' is no size: write a number from {} and at most one of K, M, G (8, 64K, "
                  "1.5G; K is 1024)",
                  flag, text, least.value));
}

std::vector<std::string> flags_meant_by(std::string_view argument,
                                        const std::vector<std::string>& flags) {
  const std::string_view name = argument.substr(0, argument.find('='));
  std::vector<std::string> meant;
  if (name.size() < std::string_view("--x").size()) return meant;
  for (const std::string& flag : flags) {
    if (flag == name) return {flag};
    if (flag.starts_with(name)) meant.push_back(flag);
  }
  return meant;
}

std::vector<std::string> with_flags_in_full(const std::vector<std::string>& arguments,
                                            const std::vector<std::string>& flags) {
  std::vector<std::string> full;
  for (const std::string& argument : arguments) {
    const std::vector<std::string> meant = flags_meant_by(argument, flags);
    const std::string name = argument.substr(0, argument.find('='));
    if (meant.size() > 1) {
      throw UsageError(fmt::format("{} stands for any of {}", name, fmt::join(meant, ", ")),
                       "write more of it");
    }
    full.push_back(meant.empty() ? argument : meant.front() + argument.substr(name.size()));
  }
  return full;
}

bool has_json_extension(std::string_view file) {
  constexpr std::string_view kExtension = ".json";
  if (file.size() < kExtension.size()) return false;
  return std::ranges::equal(file.substr(file.size() - kExtension.size()), kExtension, {}, lower);
}

}  // namespace linkgain
