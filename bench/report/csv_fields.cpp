#include "csv_fields.hpp"

#include <fmt/format.h>

namespace linkgain {

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  return quoted + "\"";
}

std::string csv_field(std::optional<double> value) {
  return value.has_value() ? fmt::format("{}", *value) : std::string{};
}

}  // namespace linkgain
