#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/errors.hpp"

namespace linkgain {

/// Returns the candidate with the smallest edit distance to `name`, of those with at most two edits
/// that change at most half of its characters; empty when there is none. Case and what parts words
/// count for nothing, and fp16 is float16.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// Returns ": did you mean all_reduce?" of the nearest_name(), or nothing.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

/// Returns "unknown operation 'all_reduc': did you mean all_reduce? (all_reduce, send_recv)"
std::string unknown_name(std::string_view what, std::string_view name,
                         std::span<const std::string_view> candidates);

/// Writes it in capital letters of ASCII.
std::string upper(std::string_view text);

/// What fits on a line of most terminals.
inline constexpr std::size_t kTerminalColumns = 120;

/// Counts the characters that the UTF-8 text takes on a terminal; colours take none.
std::size_t display_width(std::string_view text);

/// Returns whether what runs jobs of CI takes the UTF-8 line for a command: it begins with "::" and
/// perhaps white space before.
bool is_command(std::string_view line);

/// Breaks text into lines of at most `width` characters, broken at blanks; a longer word has a line
/// of its own. None is broken before a command.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// Writes `lead` and text in lines of at most `width`; all lines but the first begin with as many
/// blanks as `lead` is wide. Ended by a newline.
std::string hanging(std::string_view lead, std::string_view text,
                    std::size_t width = kTerminalColumns);

/// Splits at a separator; an empty text gives no parts, empty parts are kept.
std::vector<std::string> split(std::string_view text, char separator);

/// Returns "A", "A and B", "A, B and C".
std::string listed(std::span<const std::string_view> names, std::string_view last = "and");

/// Returns "A, B, C and 2 more": the first `most` names.
std::string first_named(std::span<const std::string> names, std::size_t most = 3,
                        std::string_view separator = ", ");

/// Returns "--steps goes with", "--steps and --tokens go with".
std::string go_with(std::span<const std::string_view> options);

/// Returns the name_of() each value.
template <typename Values>
std::vector<std::string_view> names_of(const Values& values) {
  std::vector<std::string_view> names;
  for (const auto& value : values) names.push_back(name_of(value));
  return names;
}

/// Returns the value whose name_of() is `name`; throws UsageError with the names there are where
/// there is none. `what` is what the values are called in its text.
template <typename Enum, std::size_t count>
Enum parse_name(std::string_view what, std::string_view name,
                const std::array<Enum, count>& values) {
  for (const Enum value : values) {
    if (name_of(value) == name) return value;
  }
  throw UsageError(unknown_name(what, name, names_of(values)));
}

/// Returns whether a whole text fits a pattern, in which `*` stands for any characters, slashes
/// too, and `?` for one.
bool matches_glob(std::string_view pattern, std::string_view text);

// Text of others, as a file or a program gave it, in which nothing acts on a terminal.

/// Counts the bytes of the UTF-8 character that begins at `place`; 0 where none does. By table 3-7
/// of the Unicode Standard, which leaves out overlong forms, surrogates and what lies beyond
/// U+10FFFF.
std::size_t length_of_character(std::string_view text, std::size_t place);

/// Shows control characters (C0, C1, DEL), line breaks included, those that change the direction of
/// text or separate its lines, and bytes that are no UTF-8 as "\x1b" and "\u202e". All else stays
/// as it is.
std::string visible(std::string_view text);

/// Shows the same but for line breaks and tabs, which stay.
std::string visible_lines(std::string_view text);

/// Reads the whole text as a number, without blanks or a + before it; absent where it is none, or
/// one that `Number` does not hold.
template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

}  // namespace linkgain
