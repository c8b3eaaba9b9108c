#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace linkgain {

/// The whole text as a number, without blanks or a + before it; absent where it is none, or one
/// that `Number` does not hold.
template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

}  // namespace linkgain
