#include "linkgain/cases/option_errors.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

namespace linkgain {

std::string describe_conversion_error(const std::string& error) {
  static constexpr std::string_view kBefore = "Could not convert: ";
  const std::size_t equals = error.find(" = ");
  if (!error.starts_with(kBefore) || equals == std::string::npos) return error;
  const std::string option = error.substr(kBefore.size(), equals - kBefore.size());
  const std::string value = error.substr(equals + 3);
  double number = 0.0;
  const char* const last = value.data() + value.size();
  const auto [end, failure] = std::from_chars(value.data(), last, number);
  if (end != last || failure == std::errc::invalid_argument) {
    return fmt::format("{} {} is no number", option, value);
  }
  const bool whole = failure == std::errc{} && number == std::floor(number);
  return fmt::format("{} {} is {}", option, value, whole ? "out of range" : "no whole number");
}

}  // namespace linkgain
