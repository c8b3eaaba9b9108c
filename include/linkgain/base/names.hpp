#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "linkgain/base/text.hpp"

/// Says once, beside an enum, what its values are called in commands, files and messages.
namespace linkgain {

template <typename Enum>
struct Named {
  Enum value;
  std::string_view name;
};

template <typename Enum, std::size_t count>
struct NameTable {
  std::string_view what;  ///< what a value is called where there is none of a name
  std::array<Named<Enum>, count> rows;
};

/// Makes the table that an enum has as kNames: a row for each value, in their order.
template <typename Enum, std::size_t count>
constexpr NameTable<Enum, count> names(std::string_view what, const Named<Enum> (&rows)[count]) {
  return {what, std::to_array(rows)};
}

template <typename Enum>
inline constexpr auto kNames = nullptr;

template <typename Enum>
concept HasNames =
    std::is_enum_v<Enum> && !std::same_as<std::remove_cv_t<decltype(kNames<Enum>)>, std::nullptr_t>;

/// Every value of an enum, in order.
template <typename Enum>
inline constexpr auto kValues = [] {
  std::array<Enum, kNames<Enum>.rows.size()> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = kNames<Enum>.rows[i].value;
  return values;
}();

template <HasNames Enum>
constexpr std::string_view name_of(Enum value) {
  for (const Named<Enum>& row : kNames<Enum>.rows) {
    if (row.value == value) return row.name;
  }
  throw std::invalid_argument("a value without a name");
}

/// Gives the value of that name. Throws UsageError with the names there are, or the nearest.
template <HasNames Enum>
Enum from_name(std::string_view name) {
  return parse_name(kNames<Enum>.what, name, kValues<Enum>);
}

}  // namespace linkgain
