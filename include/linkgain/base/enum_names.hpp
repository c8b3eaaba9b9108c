#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {

/// The value whose name_of() is `name`; throws UsageError with the nearest name where there is
/// none. `what` is what the values are called in its text.
template <typename Enum, std::size_t count>
Enum parse_name(std::string_view what, std::string_view name,
                const std::array<Enum, count>& values) {
  std::array<std::string_view, count> names;
  for (std::size_t i = 0; i < count; ++i) {
    names[i] = name_of(values[i]);
    if (names[i] == name) return values[i];
  }
  throw UsageError(unknown_name(what, name, names));
}

}  // namespace linkgain
