#include "linkgain/tables/csv_fields.hpp"

#include <fmt/format.h>

#include "linkgain/tables/escaping.hpp"

namespace linkgain {

std::string csv_field(std::string_view text) {
  const std::string valid = valid_utf8(text);
  if (valid.find_first_of(",\"\r\n") == std::string::npos) {
    return valid;
  }
  std::string quoted = "\"";
  for (const char c : valid) {
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  return quoted + "\"";
}

std::string csv_field(std::optional<double> value) {
  return value.has_value() ? fmt::format("{}", *value) : std::string{};
}

}  // namespace linkgain
