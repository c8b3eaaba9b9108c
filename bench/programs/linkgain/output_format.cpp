#include "output_format.hpp"

#include <array>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {

OutputFormat parse_output_format(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames{"table", "md", "csv", "json"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<OutputFormat>(i);
  }
  throw UsageError(unknown_name("format", name, kNames));
}

}  // namespace linkgain
